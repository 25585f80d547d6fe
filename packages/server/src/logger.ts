export { consoleLogger } from "@envport/wire";
export type { ConsoleLoggerOptions, LogLevel, Logger } from "@envport/wire";
