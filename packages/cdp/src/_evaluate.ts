import { CdpError } from "./cdp_error.ts";
import type { CdpPage } from "./cdp_page.ts";
import type { EvaluateOptions } from "./cdp_page_options.ts";

/** See `CdpPage.evaluate`. */
export async function evaluate(
  page: CdpPage,
  script: string | ((...args: never[]) => unknown),
  { args = [], ...options }: EvaluateOptions,
): Promise<unknown> {
  const words = args.map((arg) => (arg === undefined ? "undefined" : JSON.stringify(arg)));
  const expression = typeof script === "string" ? script : `(${script.toString()})(${words.join(", ")})`;
  const request = { expression, returnByValue: true, awaitPromise: true, userGesture: true };
  const { result, exceptionDetails } = await page.send("Runtime.evaluate", request, options);
  if (exceptionDetails) {
    const { exception, text } = exceptionDetails;
    const told = exception?.description ?? (exception ? JSON.stringify(exception.value) : text);
    throw new CdpError("evaluation-failed", `Cannot evaluate as the script threw: ${told}`);
  }
  return result.unserializableValue === undefined ? result.value : special(result.unserializableValue);
}

/** What JSON has no word for. */
function special(text: string): number | bigint {
  return text.endsWith("n") ? BigInt(text.slice(0, -1)) : Number(text);
}
