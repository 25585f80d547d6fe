import type { JsonObject } from "@envport/wire";
import { parentPort, workerData } from "node:worker_threads";
import { Listener } from "./_listener.ts";
import type { ListenTarget } from "./_listener.ts";
import { certain, Tracker } from "./_tracker.ts";
import type { Delivery } from "./_tracker.ts";
import { toPages } from "./_worker_messages.ts";
import type { Page, WorkerData, WorkerMethod, WorkerReply, WorkerRequest } from "./_worker_messages.ts";

/** A result on its way to the program's own thread. */
interface Sending {
  readonly pages: Generator<Page>;
  readonly settle: (arrived: boolean) => void;
}

const port = parentPort!;
const { root, options } = workerData as WorkerData;
const tracker = new Tracker(root, options);
const listener = new Listener(tracker, (log, error) => {
  post({ log, error: error instanceof Error ? (error.stack ?? String(error)) : String(error) });
});
const sending = new Map<number, Sending>();

port.on("message", (request: WorkerRequest) => {
  if ("method" in request) void answer(request.id, request.method, request.params);
  else if ("next" in request) sendPage(request.id);
  else finish(request.id, request.arrived);
});

async function answer(id: number, method: WorkerMethod, params: JsonObject): Promise<void> {
  try {
    const { report, settle } = await perform(method, params);
    sending.set(id, { pages: toPages(report), settle });
    sendPage(id);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    post({ id, error: { message, code } });
  }
}

async function perform(method: WorkerMethod, params: JsonObject): Promise<Delivery<JsonObject>> {
  switch (method) {
    case "start":
      tracker.start();
      return certain({});
    case "listen":
      return certain({ port: await listener.listen(params as unknown as ListenTarget) });
    case "close":
      await listener.close();
      return certain({});
    default:
      return tracker.perform(method);
  }
}

/** Each page is asked for, so that the other thread is never busy with more than one. */
function sendPage(id: number): void {
  const result = sending.get(id);
  const next = result?.pages.next();
  if (!next) return;
  if (next.done) post({ id, page: { at: [], items: [] }, more: false });
  else post({ id, page: next.value, more: true });
}

function finish(id: number, arrived: boolean): void {
  sending.get(id)?.settle(arrived);
  sending.delete(id);
}

function post(reply: WorkerReply): void {
  port.postMessage(reply);
}
