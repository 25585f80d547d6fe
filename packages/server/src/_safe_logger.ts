import type { Logger } from "./logger.ts";

/**
 * A logger that never throws: what an author's logger cannot take must not end a connection.
 *
 * @param logger The author's.
 */
export function safeLogger(logger: Logger): Logger {
  return {
    log(level, message, fields) {
      try {
        logger.log(level, message, fields);
      } catch (error) {
        process.stderr.write(`envport error: the logger failed on "${message}": ${String(error)}\n`);
      }
    },
  };
}
