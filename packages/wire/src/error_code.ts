/**
 * The numeric error codes that cross the wire.
 *
 * | name | code | when |
 * | --- | --- | --- |
 * | `parseError` | -32700 | a line that is not JSON, not UTF-8 or nested too deep (FRAME-6) |
 * | `invalidRequest` | -32600 | not a request (FRAME-7), a frame over the limit (FRAME-4), or a call that is impossible in the present state |
 * | `methodNotFound` | -32601 | an unknown method |
 * | `invalidParams` | -32602 | params of the wrong type, an unknown task, args that do not validate |
 * | `internalError` | -32603 | a result that cannot be encoded (FRAME-5) |
 * | `serverError` | -32000 | an exception in a task or hook, an unknown capability, a refused dial, no capacity |
 * | `unauthorized` | -32001 | a missing or wrong token |
 *
 * The source is the section "Errors" of the control-channel contract.
 */
export const ErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  serverError: -32000,
  unauthorized: -32001,
} as const;
