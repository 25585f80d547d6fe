import http from "node:http";
import type { DialTarget } from "@envport/wire";

/** Asks a browser that was just started for its socket's path. */
export function devtoolsPath(dial: DialTarget, timeout: number): Promise<string> {
  const where = "path" in dial ? { socketPath: dial.path } : { host: dial.host, port: dial.port };
  return new Promise((resolve, reject) => {
    const options = {
      ...where,
      path: "/json/version",
      headers: { host: "localhost" },
      agent: false,
      timeout,
    };
    const request = http.get(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.once("end", () => {
        const [, path] = /"webSocketDebuggerUrl": "ws:\/\/[^/"]*(\/[^"]+)"/.exec(text) ?? [];
        if (path === undefined) reject(new Error(`it answers ${JSON.stringify(text.slice(0, 100))}`));
        else resolve(path);
      });
    });
    request.once("error", reject).once("timeout", () => request.destroy(new Error("it does not answer")));
  });
}
