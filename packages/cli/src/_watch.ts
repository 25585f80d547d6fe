import path from "node:path";
import type { ModuleRef } from "./_module_ref.ts";
import type { Output } from "./_output.ts";
import { ServeChild } from "./_serve_child.ts";
import { Signals } from "./_signals.ts";
import { SourceWatcher } from "./_source_watcher.ts";
import type { Listening } from "./_supervised.ts";
import { ExitCode } from "./exit_code.ts";

/** What is served, and how. */
export interface WatchOptions {
  readonly ref: ModuleRef;
  /** The port that was asked for; the one that was bound first is kept. Undefined where `words` say the address. */
  readonly port: number | undefined;
  /** Further words of `envport serve`. */
  readonly words: readonly string[];
}

/**
 * Serves an environment in a process of its own, and starts that again when one of its files changes, until a signal
 * comes. One that fails is started again on the next change.
 *
 * @returns The exit code.
 */
export async function serveWatched({ ref, port, words }: WatchOptions, output: Output): Promise<number> {
  const target = ref.exportName === undefined ? ref.file : `${ref.file}:${ref.exportName}`;
  const files = new SourceWatcher();
  files.add(ref.file);
  const signals = new Signals();
  signals.listen();
  const stopped = new Promise<undefined>((resolve) => {
    signals.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  let bound: number | undefined;
  for (;;) {
    const changed = files.next();
    files.isBroad = false;
    const child = new ServeChild({
      words: [target, ...(port === undefined ? [] : ["--port", String(bound ?? port)]), ...words],
      onFile: (file) => files.add(file),
    });
    const announce = (listening: Listening): void => {
      output.note(listening.summary);
      if (bound !== undefined) return;
      bound = listening.port;
      output.line(`HUD_SERVE_PORT=${String(bound)}`);
    };
    child.ready.then(announce, () => {
      files.isBroad = true;
      if (!signals.signal.aborted) output.note("Waiting for a change");
    });
    const file = await Promise.race([changed, stopped]);
    await child.stop();
    if (file === undefined) break;
    output.note(`${path.relative(process.cwd(), file)} has changed: starting again`);
  }
  files.close();
  signals.stop();
  return ExitCode.ok;
}
