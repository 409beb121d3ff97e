// Two encoders on one query, side by side, the same document joined by a line: how the order changed, to look at.
import { ask, latest } from "./api.js";
import { button, parted, stateOf } from "./hits.js";
import { make } from "./map.js";
import { condition } from "./state.js";

const TOP = 10,
  SHOWN = 180,
  SVG = "http://www.w3.org/2000/svg";
const ordinal = (n) => `${n}${n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th")}`;

export const compareView = (page) => {
  const lines = document.createElementNS(SVG, "svg"),
    sides = make("div", { class: "sides" }),
    head = make("div", { class: "found" });
  const root = make("section", { class: "compare", "aria-label": "Two encoders side by side" }, head, sides);
  const only = latest();
  let asked = "",
    joined = [],
    chosen = [0, 1],
    answers = [];
  lines.setAttribute("aria-hidden", "true");
  lines.classList.add("lines");

  const rowOf = (hit, n, other, name) => {
    const there = other.findIndex((each) => each.id === hit.id),
      moved = n - there;
    const told =
      there < 0
        ? `not among the ${other.length} of ${name}`
        : there === n
          ? `same place in ${name}`
          : `${ordinal(there + 1)} in ${name}`;
    const sign = there < 0 ? "only here" : moved === 0 ? "=" : moved < 0 ? `↑ ${-moved}` : `↓ ${moved}`;
    const { heading, passage } = parted(hit, SHOWN);
    const row = make(
      "li",
      { class: "row", "data-id": hit.id },
      make("span", { class: "rank", "aria-hidden": "true" }, String(n + 1)),
      make("div", {}, make("h3", {}, heading), passage),
      make(
        "span",
        {
          class: `moved ${there < 0 ? "alone" : moved < 0 ? "up" : moved > 0 ? "down" : ""}`,
          role: "img",
          title: told,
          "aria-label": told,
        },
        sign,
      ),
    );
    row.addEventListener("pointerenter", () => light(hit.id));
    row.addEventListener("pointerleave", () => light(null));
    return row;
  };
  const light = (id) => {
    for (const row of sides.querySelectorAll(".row")) row.classList.toggle("lit", row.dataset.id === id);
    for (const { line, id: own } of joined) line.classList.toggle("lit", own === id);
  };
  const join = () => {
    const box = sides.getBoundingClientRect(),
      [left, right] = sides.querySelectorAll("ol");
    if (!left || !right) return;
    lines.replaceChildren();
    joined = [];
    const wide = getComputedStyle(sides).gridTemplateColumns.split(" ").length > 1;
    if (!wide) return;
    const from = left.getBoundingClientRect().right - box.left + 4,
      to = right.getBoundingClientRect().left - box.left - 4,
      middle = (from + to) / 2;
    for (const row of left.children) {
      const other = [...right.children].find((each) => each.dataset.id === row.dataset.id);
      if (!other) continue;
      const [a, b] = [row, other].map((each) => {
        const own = each.getBoundingClientRect();
        return own.top + own.height / 2 - box.top;
      });
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("d", `M${from} ${a}C${middle} ${a} ${middle} ${b} ${to} ${b}`);
      lines.append(line);
      joined.push({ line, id: row.dataset.id });
    }
  };
  new ResizeObserver(join).observe(sides);

  // Which answer stands on a side: a name, or a choice where there are more than two.
  const nameOf = (answer) => (answers.filter((each) => each.model === answer.model).length > 1 ? answer.index : answer.model);
  const chooser = (side) => {
    if (answers.length < 3) return make("bdi", {}, nameOf(answers[chosen[side]]));
    const select = make(
      "select",
      { "aria-label": side ? "Right" : "Left" },
      ...answers.map((answer, n) => make("option", { value: n }, nameOf(answer))),
    );
    select.value = chosen[side];
    select.addEventListener("change", () => {
      chosen[side] = Number(select.value);
      draw();
    });
    return select;
  };
  const draw = () => {
    const [one, two] = chosen.map((n) => answers[n]),
      both = one.hits.filter((hit) => two.hits.some((each) => each.id === hit.id)).length;
    head.replaceChildren(
      make(
        "p",
        { class: "count" },
        make(
          "span",
          {},
          `${both} of ${Math.max(one.hits.length, two.hits.length)} are found by both. `,
          make("span", { class: "wide" }, "Lines join the same document."),
        ),
      ),
    );
    sides.replaceChildren(
      ...[
        [one, two],
        [two, one],
      ].map(([side, other], n) =>
        make(
          "section",
          {},
          make("h2", {}, chooser(n)),
          make(
            "ol",
            { "aria-label": `Hits of ${nameOf(side)}` },
            ...side.hits.map((hit, rank) => rowOf(hit, rank, other.hits, nameOf(other))),
          ),
        ),
      ),
      lines,
    );
    join();
    page.say(`${both} documents are found by both`);
  };
  const tell = (...told) => {
    head.replaceChildren();
    joined = [];
    sides.replaceChildren(stateOf(...told));
  };
  const run = async () => {
    const { q, mode, where } = page.state,
      question = JSON.stringify([q.trim(), mode, where]);
    if (question === asked) return;
    asked = question;
    if (!q.trim()) {
      await only(async () => null);
      root.classList.remove("asking");
      tell("Two encoders, one query", "Type a query above. Both encoders answer it, and lines show where each document went.");
      return;
    }
    root.classList.add("asking");
    try {
      const found = await only((signal) =>
        ask("compare", { query: q.trim(), mode: mode || "both", top: TOP, where: condition(where) }, signal),
      );
      if (!found) return;
      root.classList.remove("asking");
      answers = found.answers;
      draw();
    } catch (error) {
      root.classList.remove("asking");
      asked = "";
      tell("That did not work", error.message, button("Try again", run, { class: "main" }));
      page.say(error.message);
    }
  };
  return { root, show: run };
};
