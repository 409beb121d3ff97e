// The two trees read from masks, as lines over the sentence: arcs from heads to their words, and phrases.
import { make } from "./map.js";

const SVG = "http://www.w3.org/2000/svg",
  LEVEL = 30,
  FOOT = 34,
  GAP = 20;
const part = (tag, given, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

// The words side by side: the middle of each, and how wide they are in all.
const places = (words) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = '15px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
  let at = GAP;
  const middles = words.map((word) => {
    const wide = Math.max(18, pen.measureText(word).width);
    at += wide + GAP;
    return at - wide / 2 - GAP;
  });
  return [middles, at];
};

const drawing = (words, middles, width, height, label, lines) => {
  const made = part("svg", {
    viewBox: `0 0 ${width} ${height + FOOT}`,
    width,
    height: height + FOOT,
    role: "img",
    "aria-label": label,
  });
  made.append(
    ...lines,
    ...words.map((word, n) => part("text", { x: middles[n], y: height + 24, "text-anchor": "middle", direction: "ltr" }, word)),
  );
  return make("div", { class: "scroll tree", tabindex: 0, role: "group", "aria-label": label }, made);
};

// How high each arc must be to stand over those inside it; 1 is the lowest.
const levelsOf = (heads) => {
  const spans = heads.map((head, word) => (head < 0 ? null : [Math.min(word, head), Math.max(word, head)])),
    levels = heads.map(() => 1);
  const order = heads
    .map((_, word) => word)
    .filter((word) => spans[word])
    .sort((a, b) => spans[a][1] - spans[a][0] - (spans[b][1] - spans[b][0]));
  for (const word of order) {
    const [left, right] = spans[word];
    const inside = order.filter(
      (other) => left <= spans[other][0] && spans[other][1] <= right && spans[other][1] - spans[other][0] < right - left,
    );
    levels[word] = 1 + Math.max(0, ...inside.map((other) => levels[other]));
  }
  return levels;
};

// How far beside its head each arc begins, long ones nearer, so that arcs of one head do not cross.
const startsOf = (heads) => {
  const starts = heads.map(() => 0);
  for (const head of new Set(heads.filter((each) => each >= 0)))
    for (const side of [-1, 1])
      heads
        .map((own, word) => [own, word])
        .filter(([own, word]) => own === head && word > head === side > 0)
        .map(([, word]) => word)
        .sort((a, b) => Math.abs(b - head) - Math.abs(a - head))
        .forEach((word, rank) => {
          starts[word] = side * (4 + Math.min(3 * rank, 12));
        });
  return starts;
};

export const arcs = (words, heads) => {
  const [x, width] = places(words),
    levels = levelsOf(heads),
    starts = startsOf(heads),
    height = LEVEL * (Math.max(...levels) + 1) + 14;
  const tip = (at, kind) => part("path", { d: `M${at - 4} ${height - 9}h8l-4 7z`, class: `${kind} filled` });
  const lines = heads.flatMap((head, word) => {
    if (head < 0) {
      const top = height - LEVEL * (Math.max(...levels) + 0.7);
      return [
        part("path", { d: `M${x[word]} ${top}V${height - 8}`, class: "root" }),
        tip(x[word], "root"),
        part("text", { x: x[word], y: top - 6, "text-anchor": "middle", class: "root" }, "root"),
      ];
    }
    const from = x[head] + starts[word],
      up = height - 1.33 * LEVEL * levels[word];
    return [
      part("path", { d: `M${from} ${height - 2}C${from} ${up} ${x[word]} ${up} ${x[word]} ${height - 8}`, class: "arc" }),
      tip(x[word], "arc"),
    ];
  });
  const told = heads
    .map((head, word) => (head < 0 ? `${words[word]} is the root` : `${words[word]} under ${words[head]}`))
    .join(", ");
  return drawing(words, x, width, height, `Dependency tree: ${told}`, lines);
};

export const phrases = (words, spans, brackets) => {
  const [x, width] = places(words),
    nodes = new Map(words.map((_, n) => [`${n} ${n + 1}`, { span: [n, n + 1], at: x[n], up: 0 }])),
    joins = [];
  for (const span of [...spans].sort((a, b) => a[1] - a[0] - (b[1] - b[0]))) {
    const below = [...nodes.values()].filter((node) => span[0] <= node.span[0] && node.span[1] <= span[1]);
    const up = 1 + Math.max(...below.map((node) => node.up)),
      at = below.reduce((sum, node) => sum + node.at, 0) / below.length;
    for (const node of below) {
      joins.push([at, up, node]);
      nodes.delete(node.span.join(" "));
    }
    nodes.set(span.join(" "), { span, at, up });
  }
  const height = LEVEL * Math.max(1, ...joins.map(([, up]) => up)) + 14,
    y = (up) => height - LEVEL * up - (up ? 0 : 4);
  const lines = joins.flatMap(([at, up, node]) => [
    part("path", { d: `M${at} ${y(up)}L${node.at} ${y(node.up)}`, class: "phrase" }),
    part("circle", { cx: at, cy: y(up), r: 3, class: "phrase filled" }),
  ]);
  return drawing(words, x, width, height, `Phrases: ${brackets}`, lines);
};
