import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { findBrowser } from "./find_browser.ts";

test("a browser is found in PATH", async () => {
  const { path, source } = await findBrowser({ env: { PATH: process.env["PATH"] } });
  expect(path).toMatch(/chrom/);
  assert.equal(source, "PATH");
});

test("a variable comes before PATH, and one that names nothing is passed over", async () => {
  const { PATH } = process.env;
  assert.deepEqual(await findBrowser({ env: { PATH, CHROME_PATH: "/bin/true" } }), {
    path: "/bin/true",
    source: "CHROME_PATH",
  });
  const env = {
    PATH,
    CHROME_PATH: "/none",
    PUPPETEER_EXECUTABLE_PATH: "/bin/false",
    CHROME_BIN: "/bin/true",
  };
  assert.equal((await findBrowser({ env })).path, "/bin/false");
});

test.each([
  ["/no/such/browser", "does not exist"],
  ["browser", "is not absolute"],
  ["/usr", "is no file"],
  ["/etc/passwd", "is not executable"],
])("an executablePath of %s is refused", async (executablePath, why) => {
  await expect(findBrowser({ executablePath })).rejects.toMatchObject({
    code: "service-failed",
    message: `Cannot use browser as 'executablePath' ${why}: current value is "${executablePath}"`,
  });
});

test("without a browser the error says where it was looked for and how to install one", async () => {
  // The usual places of this machine have one.
  const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
  Object.defineProperty(process, "platform", { value: "darwin" });
  try {
    await expect(findBrowser({ env: { PATH: "", CHROME_PATH: "/none" } })).rejects.toThrow(
      /^Cannot find a browser as neither CHROME_PATH.* Install one: brew install.*or name it by 'executablePath'.*Passed over: \/none \(CHROME_PATH, does not exist\)$/,
    );
  } finally {
    Object.defineProperty(process, "platform", platform);
  }
});
