import { NonFiniteNumberError } from "./_non_finite.ts";
import { EnvportError } from "./envport_error.ts";
import { ErrorCode } from "./error_code.ts";
import { ProtocolError } from "./protocol_error.ts";

/**
 * What a caller is told whose reply could not be encoded (FRAME-5, FRAME-10).
 *
 * @param error What `encodeFrame` threw.
 * @param limit The limit of a frame in bytes.
 */
export function unencodable(error: unknown, limit: number): ProtocolError {
  if (error instanceof EnvportError) {
    return new ProtocolError(ErrorCode.internalError, error.message, { type: "frame-too-large", limit });
  }
  if (error instanceof NonFiniteNumberError) {
    return new ProtocolError(ErrorCode.serverError, error.message, { type: "not-finite", path: error.path });
  }
  const why =
    error instanceof RangeError ? "it is nested too deep or too long" : "it holds what JSON cannot say";
  return new ProtocolError(ErrorCode.internalError, `Cannot send the result as ${why}`, {
    type: "not-encodable",
  });
}
