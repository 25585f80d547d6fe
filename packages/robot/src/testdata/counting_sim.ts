import { Counting } from "../_testing_counting.ts";
import { serveBridge } from "../serve_bridge.ts";

// What a simulator prints before and after is passed on.
console.log("loading the world");
const end = Number(process.env["COUNT_TO"] ?? 3);
await serveBridge(new Counting({ end, numEnvs: Number(process.env["SLOTS"] ?? 1) }));
console.log("ready");
