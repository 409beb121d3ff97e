"""The style sheet of reports."""

from __future__ import annotations

STYLE = """
:root {
  --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --quiet: #59636e; --line: #d8dee4; --accent: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --panel: #1d2127; --ink: #e6e9ed; --quiet: #9aa4af; --line: #363c44; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.01em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 0.5rem; }
p { margin: 0 0 0.9rem; max-width: 46rem; overflow-wrap: anywhere; }
.subtitle { color: var(--quiet); margin: 0.4rem 0 0; }
.verdict {
  margin: 1.75rem 0 0; padding: 1rem 1.25rem; background: var(--panel);
  border-left: 4px solid var(--accent); border-radius: 0 6px 6px 0; font-size: 1.1rem;
}
.verdict p { margin: 0 0 0.5rem; max-width: none; }
.verdict p:last-child { margin: 0; }
section { margin-top: 2.75rem; }
.table { overflow-x: auto; margin: 0 0 0.4rem; }
table { border-collapse: collapse; font-size: 0.94rem; font-variant-numeric: tabular-nums; min-width: 50%; }
.caption { font-weight: 600; font-size: 0.94rem; margin: 1.4rem 0 0.3rem; }
th, td { padding: 0.38rem 1.1rem 0.38rem 0; text-align: left; font-weight: 400; white-space: nowrap; }
th.number, td.number { text-align: right; padding: 0.38rem 0 0.38rem 1.6rem; }
thead th { color: var(--quiet); font-size: 0.86rem; border-bottom: 1px solid var(--line); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--line) 55%, transparent); }
tr.strong > * { font-weight: 650; }
.note { color: var(--quiet); font-size: 0.9rem; }
del { color: #b3261e; } ins { color: #00695c; font-weight: 650; text-decoration: none; }
ins.added { color: var(--accent); }
@media (prefers-color-scheme: dark) { del { color: #f2857d; } ins { color: #5fd3bd; } }
figure { margin: 1.25rem 0 0; }
figure svg { display: block; height: auto; color: var(--ink); }
footer { margin-top: 3.5rem; color: var(--quiet); font-size: 0.85rem; }
@media print {
  :root { --ground: #ffffff; --panel: #f6f8fa; --ink: #000000; --quiet: #444444; --line: #bbbbbb; --accent: #0072b2; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; }
  h2, .caption, section > p { break-after: avoid; } figure, .table, .verdict { break-inside: avoid; }
  .table { overflow: visible; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
"""Readable on a phone, on a wide screen, in the dark and on paper; no script, no font from elsewhere."""
