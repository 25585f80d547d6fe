/**
 * The control-channel contract as data: frames, JSON-RPC messages and errors, capabilities, the byte splice, and the
 * seams that every other package meets at. It opens no sockets of its own.
 *
 * @module
 */
export type { AbortOptions } from "./abort_options.ts";
export { SOCKET_OPTIONS, resetStream, wasReset } from "./byte_stream.ts";
export type { ByteStream } from "./byte_stream.ts";
export { fromManifest, protocolFamily, toManifest } from "./capability.ts";
export type { Capability } from "./capability.ts";
export { formatCapabilityUrl, normalizeUrl, parseCapabilityUrl, routeUrl } from "./capability_url.ts";
export type { CapabilityUrlParts, UrlDefaults } from "./capability_url.ts";
export { EnvportError } from "./envport_error.ts";
export type { EnvportErrorCode } from "./envport_error.ts";
export { ErrorCode } from "./error_code.ts";
export { FrameReader, MAX_FRAME_BYTES } from "./frame_reader.ts";
export type { FrameReaderOptions } from "./frame_reader.ts";
export { FramedStream } from "./framed_stream.ts";
export type { ReleasedStream } from "./framed_stream.ts";
export { isJsonObject, own } from "./json.ts";
export type { JsonObject } from "./json.ts";
export { MAX_NESTING, RequestError, encodeFrame, parseFrame, readReply, readRequest } from "./message.ts";
export type { MessageId, OutgoingMessage, ReplyMessage, RequestMessage } from "./message.ts";
export type { CapabilityClient, Protocol, ProtocolConnectOptions } from "./protocol.ts";
export { ProtocolError } from "./protocol_error.ts";
export type { ErrorObject, ProtocolErrorData } from "./protocol_error.ts";
export { RpcClient } from "./rpc_client.ts";
export type { RpcClientOptions } from "./rpc_client.ts";
export { RpcServer, isBlank, linger, refuse } from "./rpc_server.ts";
export type { RpcContext, RpcEnd, RpcServerOptions } from "./rpc_server.ts";
export type { DialTarget, PublishedCapability, Service } from "./service.ts";
export { splice } from "./splice.ts";
export type { Splice, SpliceOptions } from "./splice.ts";
