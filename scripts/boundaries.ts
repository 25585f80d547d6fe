// Which package may import which: only from rows below its own. Data; boundaries_test.ts holds every package to it.
export const ROWS: readonly (readonly string[])[] = [
  ["wire", "sandbox"],
  ["server", "client", "ssh", "mcp", "cdp", "rfb", "robot", "filetracking"],
  ["workspace"],
  ["cli", "conformance", "reference-env"],
];
