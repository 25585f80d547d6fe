import type { Template } from "./template.ts";

/** A browser, and a site for it. */
export const cdp: Template = {
  name: "cdp",
  summary: "a browser, in a sandbox",
  needs: [],
  packages: ["cdp"],
  programs: ["bubblewrap", "chromium"],
  environment: {
    imports: [
      `import { once } from "node:events";`,
      `import { createServer } from "node:http";`,
      `import type { AddressInfo } from "node:net";`,
      `import { text } from "node:stream/consumers";`,
      `import { chromium } from "@envport/cdp";`,
    ],
    code: `// The agent uses this site in a browser that reaches nothing else.
let wish: string | null = null;
const site = createServer(async (request, response) => {
  if (request.method === "POST") wish = new URLSearchParams(await text(request)).get("tea");
  response.setHeader("content-type", "text/html");
  response.end(\`<form method="post">Tea: <input name="tea"> <button>Order</button></form>
    <p>\${wish === null ? "Nothing is ordered yet." : "Thank you!"}</p>\`);
});
await once(site.listen(0, "127.0.0.1"), "listening");
env.shutdown(() => void site.close());
const { port } = site.address() as AddressInfo;
env.use(chromium({ peers: [{ name: "shop.example", port: 80, target: { port } }] }));

env.template("order-tea", { description: "Order on a web site" }).run(async function* () {
  wish = null;
  yield "Order oolong at http://shop.example/."; // the prompt
  yield wish === "oolong" ? 1 : 0; // the score
});`,
  },
  agent: {
    task: "order-tea",
    imports: [`import { cdp } from "@envport/cdp";`],
    code: `      const { page } = await client.open(cdp);
      await page.goto("http://shop.example/");
      await page.type("oolong", { into: "input[name=tea]" });
      await page.click("button");
      await page.waitForIdle();
      return "done";`,
  },
};
