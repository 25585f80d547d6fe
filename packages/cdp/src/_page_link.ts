import type { Protocol } from "devtools-protocol";
import type { CdpDialog } from "./cdp_dialog.ts";
import type { CdpSendOptions } from "./cdp_messages.ts";

/** What a client knows of a page; it outlives connections, its session does not. */
export interface PageLink {
  info: Protocol.Target.TargetInfo;
  /** The session of the present connection. */
  sessionId: string | undefined;
  /** The same as the target's id at first, and not for ever. */
  mainFrameId: string;
  closed: boolean;
  crashed: boolean;
  dialog: CdpDialog | undefined;
  /** The question whether it hangs, while it is not answered. */
  probe?: Promise<boolean> | undefined;
  /** Called when there is a session, first or new; `waits` is a page that has not begun to load. */
  attached?: (waits: boolean) => void;
  /** Asks the browser to close it. */
  readonly close: (options: CdpSendOptions) => Promise<unknown>;
  readonly send: (method: string, params?: object, options?: CdpSendOptions) => Promise<unknown>;
}
