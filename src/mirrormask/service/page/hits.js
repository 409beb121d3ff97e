// How one hit is shown, wherever it is: its best passage with the words of the query marked, and why it was found.
import { make } from "./map.js";

const SHOWN = 420; // characters of a passage before it is opened

export const number = (value) => value.toLocaleString("en");
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const percent = (share) => `${Math.round(100 * share)}%`;

// Places come in whole characters, and a string here counts halves of the rarer ones: cut as the server counts.
const cut = (text) => {
  const signs = Array.from(text);
  return { length: signs.length, slice: (from, to) => signs.slice(from, to).join("") };
};

// Which part of a long passage to show: around its first match, from a word's beginning to a word's end.
const shownPart = (text, begin, matches, most) => {
  if (text.length - begin <= most) return [begin, text.length];
  const first = matches.find(([at]) => at >= begin)?.[0] ?? begin;
  let from = first - begin < 0.7 * most ? begin : Math.min(first - Math.round(most / 4), text.length - most);
  if (from > begin) {
    const space = text.slice(from, from + 40).search(/\s/);
    from += space < 0 ? 0 : space + 1;
  }
  const to = Math.min(text.length, from + most),
    last = text.slice(to - 40, to + 1).match(/^(.*)\s/s);
  return [from, to < text.length && last ? to - 40 + Array.from(last[1]).length : to];
};

// A part of a text, with what matches as marks.
const marked = (text, matches, from, to) => {
  const parts = [];
  let at = from;
  for (const [begin, end] of matches) {
    if (begin < at || end > to) continue;
    if (begin > at) parts.push(text.slice(at, begin));
    parts.push(make("mark", {}, text.slice(begin, end)));
    at = end;
  }
  return [...parts, text.slice(at, to)];
};

// A hit as its heading, its title or else its id, and its passage, both with the words of the query marked. A title that the
// passage begins with is not shown twice, nor are empty lines before the text.
export const parted = (hit, most = SHOWN) => {
  const text = cut(hit.passage),
    matches = hit.matches ?? [],
    given = hit.metadata?.title,
    title = typeof given === "string" ? given.trim() : "";
  const long = Array.from(title).length,
    twice = title !== "" && text.length > long && hit.passage.startsWith(`${title}\n`);
  const before = twice ? long : 0,
    whole = before + text.slice(before).match(/^\s*/)[0].length;
  const [from, to] = shownPart(text, whole, matches, most);
  const heading = make("bdi", {}, ...(twice ? marked(text, matches, 0, long) : [title || hit.id]));
  const passage = make(
    "p",
    { class: "passage", dir: "auto" },
    from > whole ? "… " : "",
    ...marked(text, matches, from, to),
    to < text.length ? " …" : "",
  );
  return { heading, passage, named: title !== "", isCut: from > whole || to < text.length };
};

// Why: how much words and vectors gave, as a bar that a screen reader reads as a sentence.
export const why = (hit) => {
  const parts = Object.entries(hit.shares ?? {}).filter(([, share]) => share >= 0.005);
  const told = parts.length ? parts.map(([name, share]) => `${percent(share)} ${name}`).join(", ") : "little in common";
  const bar = make("span", { class: "bar" });
  for (const [name, share] of parts) {
    const piece = make("i", { class: name });
    piece.style.flexGrow = share;
    bar.append(piece);
  }
  return make("span", { class: "why", role: "img", "aria-label": `Found by ${told}`, title: `Found by ${told}` }, bar);
};

export const valueText = (value) =>
  value === null
    ? "none"
    : Array.isArray(value)
      ? value.map(valueText).join(", ")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);

// A list of facts, each a name with what it is.
export const facts = (pairs) =>
  make(
    "dl",
    { class: "facts" },
    ...pairs.flatMap(([name, value]) => [make("dt", {}, make("bdi", {}, name)), make("dd", { dir: "auto" }, value)]),
  );

export const button = (label, run, given = {}) => {
  const made = make("button", { type: "button", ...given }, label);
  made.addEventListener("click", run);
  return made;
};

// What a view says when there is nothing to show, or something is wrong.
export const stateOf = (title, told, ...more) =>
  make("div", { class: "state" }, make("h2", {}, title), ...(told ? [make("p", {}, told)] : []), ...more);
export const failed = (error, again) =>
  stateOf("That did not work", error.message, button("Try again", again, { class: "main" }));
export const working = (told) =>
  make("div", { class: "state working" }, make("span", { class: "turning", "aria-hidden": "true" }), make("p", {}, told));
