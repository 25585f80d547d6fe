// A browser's service in a process of its own: prints what it publishes, and runs until it is killed.
import { chromium } from "@envport/cdp";
import type { ChromiumOptions } from "@envport/cdp";

const service = chromium(JSON.parse(process.argv[2] ?? "{}") as ChromiumOptions);
const [capability] = await service.start();
console.log(JSON.stringify({ capability, home: service.home }));
