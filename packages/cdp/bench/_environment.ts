// An environment with a browser, in a process of its own: prints where it is served, and where the browser itself is.
import { chromium } from "@envport/cdp";
import { Environment, serve } from "@envport/server";

const service = chromium();
const env = new Environment({ name: "browser" });
env.use(service);
const server = await serve(env);
const [capability] = await service.start();
console.log(JSON.stringify({ url: server.url, direct: capability!.url }));
process.on("SIGTERM", () => void server.close().then(() => process.exit()));
