// The conformance suite imports `globSync` of Node 22 for a command that is not used here; Node 20 does not know it.
import { register } from "node:module";

const hooks = `
  export async function resolve(specifier, context, next) {
    const asked = /^(node:)?fs$/.test(specifier) && context.parentURL?.includes("@modelcontextprotocol/conformance");
    return asked ? { url: "conformance:fs", format: "module", shortCircuit: true } : next(specifier, context);
  }
  export async function load(url, context, next) {
    if (url !== "conformance:fs") return next(url, context);
    const source = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;";
    return { format: "module", shortCircuit: true, source };
  }`;
if (!process.getBuiltinModule?.("fs").globSync) register(`data:text/javascript,${encodeURIComponent(hooks)}`);
