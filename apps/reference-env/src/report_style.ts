/** The looks of the report: no files beside it, light and dark, from a telephone's width on. */
export const REPORT_STYLE: string = `
:root {
  --ground: #fbfaf8; --sheet: #ffffff; --ink: #1d1c1a; --soft: #66625c; --line: #e3dfd8; --code: #f4f2ee;
  --good: #1c7a4a; --bad: #b3362b; --accent: #3b5bdb;
  --plus: #e3f5ea; --plus-ink: #14633a; --minus: #fce8e6; --minus-ink: #98281e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #161513; --sheet: #1f1e1b; --ink: #ece8e1; --soft: #a39d93; --line: #37342f; --code: #282621;
    --good: #6bd19a; --bad: #ff9a8f; --accent: #9db2ff;
    --plus: #16352400; --plus-ink: #7fe0ab; --minus: #4a1f1b00; --minus-ink: #ffab9f;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
header, main { max-width: 72rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem); }
header { padding-top: clamp(1.5rem, 5vw, 3.5rem); }
.eyebrow { margin: 0; color: var(--soft); font-size: .875rem; }
h1 { margin: .25rem 0 1.5rem; font-size: clamp(1.75rem, 5vw, 2.75rem); line-height: 1.1; letter-spacing: -.02em; }
h2 { margin: 0 0 1rem; font-size: 1.5rem; letter-spacing: -.01em; }
h3 { margin: 1.75rem 0 .5rem; font-size: .8125rem; font-weight: 600; color: var(--soft); }
.cards { list-style: none; display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); margin: 0; padding: 0; }
.card {
  display: grid; grid-template-columns: 1fr auto; gap: .125rem .75rem; padding: .875rem 1rem; color: inherit;
  text-decoration: none; background: var(--sheet); border: 1px solid var(--line); border-radius: .625rem;
}
.card:hover, .card:focus-visible { border-color: var(--accent); }
.card .facts { grid-column: 1 / -1; color: var(--soft); font-size: .8125rem; }
.mark { font-size: .8125rem; font-weight: 600; }
h2 .mark { margin-left: .5rem; vertical-align: middle; }
.passed > .mark, .passed h2 .mark { color: var(--good); }
.failed > .mark, .failed h2 .mark, .error { color: var(--bad); }
section {
  margin: 2rem 0; padding: clamp(1rem, 3vw, 2rem); background: var(--sheet); border: 1px solid var(--line);
  border-radius: .75rem; scroll-margin-top: 1rem;
}
blockquote { margin: 0; padding: .125rem 0 .125rem 1rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
pre, code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: 0; padding: .75rem 1rem; overflow: auto; background: var(--code); border-radius: .5rem; max-height: 24rem; }
.diff span { display: inline-block; min-width: 100%; }
.diff .plus { background: var(--plus); color: var(--plus-ink); }
.diff .minus { background: var(--minus); color: var(--minus-ink); }
.diff .hunk { color: var(--accent); }
.diff .head { font-weight: 600; }
.pictures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
figure { margin: 0; }
img { display: block; width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }
figcaption { margin-top: .375rem; color: var(--soft); font-size: .8125rem; }
figcaption time::before { content: "· "; }
.timeline { list-style: none; margin: 0; padding: 0; }
.timeline li { border-top: 1px solid var(--line); padding: .25rem 0 .375rem; }
summary { display: grid; grid-template-columns: 4rem 1fr auto; gap: .5rem; align-items: baseline; cursor: pointer; }
summary code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
details[open] summary code { white-space: normal; overflow-wrap: anywhere; }
summary time, .took { color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums; }
details pre { margin: .375rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.bar { display: block; height: 2px; background: var(--accent); border-radius: 1px; opacity: .65; }
li.failed .bar { background: var(--bad); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;
