import type { Protocol } from "devtools-protocol";

/** A dialog that a page has opened: while it is open, the page does nothing else. */
export interface CdpDialog {
  /** `alert`, `confirm`, `prompt`, or `beforeunload`. */
  readonly type: Protocol.Page.DialogType;
  /** What it says. */
  readonly message: string;
  /** What stands in the field of a prompt. */
  readonly defaultPrompt: string | undefined;
  /**
   * Says yes.
   *
   * @param text The answer to a prompt.
   */
  accept(text?: string): Promise<void>;
  /** Says no. */
  dismiss(): Promise<void>;
}
