/**
 * The control-channel contract as data: frames, JSON-RPC messages and errors, capabilities, the byte splice, and the
 * seams that every other package meets at. It opens no sockets of its own.
 *
 * @module
 */
export type { AbortOptions } from "./abort_options.ts";
export { SOCKET_OPTIONS, resetStream, wasReset } from "./byte_stream.ts";
export type { ByteStream, ResetStreamOptions } from "./byte_stream.ts";
export { fromManifest, protocolFamily, toManifest } from "./capability.ts";
export type { Capability } from "./capability.ts";
export { formatCapabilityUrl, normalizeUrl, parseCapabilityUrl, routeUrl } from "./capability_url.ts";
export type { CapabilityUrlParts, UrlDefaults } from "./capability_url.ts";
export { encodeFrame } from "./encode_frame.ts";
export type { OutgoingMessage } from "./encode_frame.ts";
export { formatEndpointUrl, parseEndpointUrl } from "./endpoint_url.ts";
export type { EndpointUrl } from "./endpoint_url.ts";
export { EnvportError } from "./envport_error.ts";
export type { EnvportErrorCode } from "./envport_error.ts";
export { ErrorCode } from "./error_code.ts";
export { FrameReader, MAX_FRAME_BYTES } from "./frame_reader.ts";
export type { FrameReaderOptions } from "./frame_reader.ts";
export { FramedStream } from "./framed_stream.ts";
export type { ReleasedStream } from "./framed_stream.ts";
export { isBlank } from "./is_blank.ts";
export { isJsonObject, own } from "./json.ts";
export type { JsonObject } from "./json.ts";
export { Lifecycle } from "./lifecycle.ts";
export type { LifecycleSteps } from "./lifecycle.ts";
export { consoleLogger } from "./logger.ts";
export type { ConsoleLoggerOptions, LogLevel, Logger } from "./logger.ts";
export { RequestError, readReply, readRequest } from "./message.ts";
export type { MessageId, ReplyMessage, RequestMessage } from "./message.ts";
export { MAX_NESTING, parseFrame } from "./parse_frame.ts";
export { makePrivateFolder, removePrivateFolder } from "./private_folder.ts";
export type { CapabilityClient, Protocol, ProtocolConnectOptions } from "./protocol.ts";
export { ProtocolError } from "./protocol_error.ts";
export type { ErrorObject, ProtocolErrorData } from "./protocol_error.ts";
export { linger, refuse } from "./refuse.ts";
export { RpcClient } from "./rpc_client.ts";
export type { RpcClientOptions } from "./rpc_client.ts";
export { RpcServer } from "./rpc_server.ts";
export type { RpcContext, RpcEnd, RpcServerOptions } from "./rpc_server.ts";
export type { DialTarget, PublishedCapability, Service } from "./service.ts";
export { splice } from "./splice.ts";
export type { Splice, SpliceOptions } from "./splice.ts";
export { readToken } from "./token_source.ts";
export type { TokenSource } from "./token_source.ts";
export { unlessAborted } from "./unless_aborted.ts";
export { WebSocketStream } from "./web_socket_stream.ts";
export type { WebSocketLike, WebSocketStreamOptions } from "./web_socket_stream.ts";
