import type { Protocol } from "devtools-protocol";
import { Connection } from "./_connection.ts";
import { devtoolsPath } from "./_devtools_path.ts";
import type { RunningBrowser } from "./_running_browser.ts";

/** Waits for a real answer, and gives the window the size at which pages have the size that was asked for. */
export async function greetBrowser(
  { dial }: RunningBrowser,
  {
    headless,
    viewport,
    timeout,
  }: { headless: boolean; viewport: { width: number; height: number }; timeout: number },
): Promise<void> {
  const path = await devtoolsPath(dial, timeout);
  const url =
    "path" in dial ? `ws+unix:${dial.path}:${path}` : `ws://${dial.host}:${String(dial.port)}${path}`;
  const deaf = { event: () => undefined, lost: () => undefined, hint: () => "" };
  const connection = await Connection.open(url, deaf, { timeout, headers: { host: "localhost" } });
  try {
    const ask = (method: string, params: object = {}): Promise<unknown> =>
      connection.send(method, params, undefined, timeout);
    await ask("Browser.getVersion");
    if (!headless) return;
    const { targetInfos } = (await ask("Target.getTargets")) as Protocol.Target.GetTargetsResponse;
    const page = targetInfos.find(({ type }) => type === "page");
    if (!page) return;
    const { windowId } = (await ask("Browser.getWindowForTarget", {
      targetId: page.targetId,
    })) as Protocol.Browser.GetWindowForTargetResponse;
    await ask("Browser.setContentsSize", { windowId, ...viewport });
  } finally {
    await connection.close();
  }
}
