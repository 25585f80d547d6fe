// The thread of a tracker when it runs from its TypeScript source; the build has no use for it.
import { register } from "tsx/esm/api";

register();
await import("./_worker.ts");
