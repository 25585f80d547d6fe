import type { JournalEntry, JournalPicture, JournalStep } from "./journal.ts";
import { REPORT_STYLE } from "./report_style.ts";
import type { EpisodeResult } from "./run_episode.ts";

/** What the report says of the run as a whole. */
export interface ReportInfo {
  /** The environment's name and version. */
  environment: string;
  /** When it was run. */
  date: Date;
}

/**
 * Renders a run as one HTML page that needs nothing else: pictures are in it, and there is no script.
 *
 * @param results The episodes, in the order in which they were run.
 * @param info What was run, and when.
 */
export function renderReport(results: readonly EpisodeResult[], { environment, date }: ReportInfo): string {
  const passed = results.filter(({ ok }) => ok).length;
  const verdict = `${String(passed)} of ${String(results.length)} tasks solved`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(environment)}: ${verdict}</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
<header>
<p class="eyebrow">${escape(environment)} · ${escape(date.toISOString().slice(0, 16).replace("T", " "))} UTC</p>
<h1>${verdict}</h1>
<nav aria-label="Tasks"><ul class="cards">${results.map(renderCard).join("")}</ul></nav>
</header>
<main>${results.map(renderEpisode).join("\n")}</main>
</body>
</html>
`;
}

function renderCard({ task, capabilities, ok, score, ms }: EpisodeResult): string {
  return `<li><a class="card ${ok ? "passed" : "failed"}" href="#${escape(task)}"><strong>${escape(task)}</strong>
<span class="mark">${ok ? "solved" : "not solved"}</span>
<span class="facts">${capabilities.map(escape).join(" + ")} · score ${String(score)} · ${duration(ms)}</span></a></li>`;
}

function renderEpisode(result: EpisodeResult): string {
  const { task, prompt, answer, error, patch, journal } = result;
  const pictures = journal.filter((entry): entry is JournalPicture => entry.kind === "picture");
  const steps = journal.filter((entry): entry is JournalStep => entry.kind === "step");
  const parts = [
    prompt && `<h3>Prompt</h3><blockquote>${escape(prompt)}</blockquote>`,
    error && `<h3>Error</h3><p class="error">${escape(error)}</p>`,
    pictures.length > 0 &&
      `<h3>What was seen</h3><div class="pictures">${pictures.map(renderPicture).join("")}</div>`,
    patch && `<h3>What was changed</h3><pre class="diff" tabindex="0">${renderPatch(patch)}</pre>`,
    steps.length > 0 && `<h3>What was done</h3>${renderTimeline(steps, result.ms)}`,
    answer !== undefined && `<h3>Answer</h3><blockquote>${escape(text(answer))}</blockquote>`,
  ];
  return `<section id="${escape(task)}" class="${result.ok ? "passed" : "failed"}">
<h2>${escape(task)} <span class="mark">score ${String(result.score)}</span></h2>
${parts.filter(Boolean).join("\n")}
</section>`;
}

function renderTimeline(steps: readonly JournalStep[], total: number): string {
  const share = (ms: number): string => `${((100 * ms) / Math.max(total, 1)).toFixed(2)}%`;
  const items = steps.map(
    ({ at, ms, what, outcome, failed }) => `<li${failed ? ' class="failed"' : ""}>
<details><summary><time>${duration(at)}</time><code>${escape(what)}</code><span class="took">${duration(ms)}</span></summary>
<pre tabindex="0">${escape(outcome)}</pre></details>
<span class="bar" style="margin-left:${share(at)};width:max(2px,${share(ms)})"></span></li>`,
  );
  return `<ol class="timeline">${items.join("\n")}</ol>`;
}

function renderPicture({ at, caption, mediaType, data }: JournalPicture): string {
  const source = `data:${mediaType};base64,${data.toString("base64")}`;
  return `<figure><img src="${source}" alt="${escape(caption)}"><figcaption>${escape(caption)} <time>${duration(at)}</time></figcaption></figure>`;
}

/** Lines of a diff by what they begin with. */
function renderPatch(patch: string): string {
  return patch
    .trimEnd()
    .split("\n")
    .map((line) => {
      const kind = /^(?:diff|index|---|\+\+\+|new|deleted|old)\b|^(?:---|\+\+\+) /.test(line)
        ? "head"
        : ({ "+": "plus", "-": "minus", "@": "hunk" } as Record<string, string>)[line[0] ?? ""];
      return kind ? `<span class="${kind}">${escape(line)}</span>` : escape(line);
    })
    .join("\n");
}

function duration(ms: number): string {
  return ms < 1_000 ? `${String(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function escape(raw: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return raw.replaceAll(/[&<>"']/g, (character) => entities[character]!);
}

/** The entries without the bytes of pictures, for a line of JSON. */
export function withoutPictures(journal: readonly JournalEntry[]): object[] {
  return journal.map((entry) => {
    if (entry.kind === "step") return entry;
    const { data, ...rest } = entry;
    return { ...rest, bytes: data.length };
  });
}
