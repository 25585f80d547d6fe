import type { Protocol } from "devtools-protocol";
import type { AccessibilityNode } from "./accessibility_node.ts";
import type { CdpSendOptions } from "./cdp_messages.ts";
import type { CdpPage } from "./cdp_page.ts";

type AXNode = Protocol.Accessibility.AXNode;

/** Nodes that say once more what their parent says. */
const ECHOES: ReadonlySet<string> = new Set(["InlineTextBox", "none", "generic"]);

/** See `CdpPage.accessibilityTree`. */
export async function accessibilityTree(page: CdpPage, options: CdpSendOptions): Promise<AccessibilityNode> {
  const { nodes } = await page.send("Accessibility.getFullAXTree", {}, options);
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const roots = nodes.filter(({ parentId }) => parentId === undefined || !byId.has(parentId));
  const [first, ...others] = roots.flatMap((node) => read(node, byId));
  const root = first ?? { role: "RootWebArea", name: "", states: {}, backendNodeId: undefined, children: [] };
  return { ...root, children: [...root.children, ...others] };
}

/** A node, or its children in its place where it has nothing to say itself. */
function read(node: AXNode, byId: ReadonlyMap<string, AXNode>): AccessibilityNode[] {
  const role = text(node.role);
  const children = (node.childIds ?? []).flatMap((id) => {
    const child = byId.get(id);
    return child ? read(child, byId) : [];
  });
  const name = text(node.name);
  const isEcho = ECHOES.has(role) && (name === "" || role === "InlineTextBox");
  if (node.ignored || isEcho) return role === "InlineTextBox" ? [] : children;
  const value = node.value?.value as string | number | undefined;
  const description = text(node.description);
  return [
    {
      role,
      name,
      ...(value === undefined ? {} : { value }),
      ...(description === "" ? {} : { description }),
      states: statesOf(node),
      backendNodeId: node.backendDOMNodeId,
      // A text whose only part is itself.
      children: role === "StaticText" ? [] : children,
    },
  ];
}

function statesOf({ properties = [] }: AXNode): Record<string, string | number | boolean> {
  const told = properties.flatMap(({ name, value: { value } }) => {
    const isOrdinary = value === false || value === "false" || value === undefined || value === "";
    if (name === "expanded" ? value === undefined : isOrdinary) return [];
    if (!["string", "number", "boolean"].includes(typeof value)) return [];
    return [[name, value as string | number | boolean] as const];
  });
  return Object.fromEntries(told.filter(([name]) => name !== "focusable"));
}

function text(value: Protocol.Accessibility.AXValue | undefined): string {
  return typeof value?.value === "string" ? value.value : "";
}
