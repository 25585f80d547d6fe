/** One node of a page's accessibility tree. */
export interface AccessibilityNode {
  /** `button`, `heading`, `textbox`, `StaticText`, … */
  readonly role: string;
  /** What it is called. */
  readonly name: string;
  /** What a field holds. */
  readonly value?: string | number | undefined;
  readonly description?: string | undefined;
  /** States that differ from the ordinary: `focused`, `disabled`, `checked`, `expanded`, `level`, … */
  readonly states: Readonly<Record<string, string | number | boolean>>;
  /** The element's id, for commands of the protocol that take one, such as `DOM.resolveNode`. */
  readonly backendNodeId: number | undefined;
  readonly children: readonly AccessibilityNode[];
}
