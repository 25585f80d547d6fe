import type { OptionSpec } from "./_command.ts";
import type { Capability } from "@envport/wire";
import { parseCapabilityUrl, protocolFamily } from "@envport/wire";

export const SECRETS_OPTION: OptionSpec = {
  name: "secrets",
  summary: "Show keys and tokens in what is printed",
};

const SECRET_REGEXP = /(?:(?<!pub|public_)key|token|secret|password)$/i;

/** A binding as it is printed: keys and tokens only if they are asked for. */
export function toPrintable({ name, protocol, url, params }: Capability, withSecrets: boolean): Capability {
  const shown = Object.entries(params).map(([key, value]) => [
    key,
    !withSecrets && SECRET_REGEXP.test(key) ? "(hidden: --secrets shows it)" : value,
  ]);
  return { name, protocol, url, params: Object.fromEntries(shown) as Capability["params"] };
}

/** What to do with a routed binding, in one line; undefined where there is nothing to say. */
export function hintFor({ protocol, url }: Capability): string | undefined {
  const { host, port = 0 } = parseCapabilityUrl(url);
  switch (protocolFamily(protocol)) {
    case "rfb":
      return `vncviewer ${host}::${String(port)}`;
    case "cdp":
      return `chrome://inspect in a browser, Configure…, ${host}:${String(port)}`;
    default:
      return undefined;
  }
}
