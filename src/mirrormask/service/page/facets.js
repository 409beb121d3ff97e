// Filters from the columns of the documents: values to tick, or a range of numbers.
import { button, number, valueText } from "./hits.js";
import { make } from "./map.js";
import { condition } from "./state.js";

const SHOWN = 8; // values of a column before "more"

// Columns worth a filter: not what names each document, nor what is different in all of them.
const isFacet = ({ name, different, numeric, values }) =>
  !name.includes("`") &&
  name.toLowerCase() !== "title" &&
  different > 1 &&
  ((numeric && different > SHOWN) || values.some(({ count }) => count > 1));

export const facetRail = (page) => {
  const columns = page.served.columns.filter(isFacet),
    ranged = (column) => column.numeric && column.different > SHOWN;
  const root = make("aside", { class: "facets", "aria-label": "Filters" }),
    opened = new Set();
  const put = (name, chosen) => {
    const where = { ...page.state.where, [name]: chosen };
    if (!chosen || chosen.length === 0) delete where[name];
    return page.go({ where });
  };
  const chosenOf = (column) => {
    const chosen = page.state.where[column.name];
    return Array.isArray(chosen) ? chosen : [];
  };

  // A value goes into the filter, or out of it where it is in.
  const toggle = (column, value) => {
    if (ranged(column)) {
      const now = page.state.where[column.name];
      return put(
        column.name,
        now?.from === Number(value) && now.to === Number(value) ? null : { from: Number(value), to: Number(value) },
      );
    }
    const chosen = chosenOf(column);
    return put(column.name, chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value]);
  };
  const ticks = (column) => {
    const chosen = chosenOf(column),
      known = column.numeric ? [...column.values].sort((a, b) => b.value - a.value) : column.values;
    const all = [
      ...chosen.filter((value) => !known.some((each) => each.value === value)).map((value) => ({ value, count: null })),
      ...known,
    ];
    const shown = opened.has(column.name) ? all : all.filter((each, n) => n < SHOWN || chosen.includes(each.value));
    const rows = shown.map(({ value, count }) => {
      const box = make("input", { type: "checkbox" });
      box.checked = chosen.includes(value);
      box.addEventListener("change", () => toggle(column, value));
      return make(
        "li",
        {},
        make(
          "label",
          {},
          box,
          make("bdi", { title: valueText(value) }, valueText(value)),
          make("span", {}, count === null ? "" : number(count)),
        ),
      );
    });
    const rest = all.length - shown.length;
    return [
      make("ul", {}, ...rows),
      ...(rest
        ? [
            button(
              `${number(rest)} more`,
              () => {
                opened.add(column.name);
                draw();
              },
              { class: "quiet" },
            ),
          ]
        : []),
    ];
  };
  const range = (column) => {
    const now = page.state.where[column.name] ?? {};
    const field = (side, told, hint) => {
      const input = make("input", { type: "number", step: "any", "aria-label": `${column.name} ${told}`, placeholder: hint });
      if (Number.isFinite(now[side])) input.value = now[side];
      input.addEventListener("change", () => {
        const next = { ...(Array.isArray(now) ? {} : now) };
        if (input.value === "" || !Number.isFinite(input.valueAsNumber)) delete next[side];
        else next[side] = input.valueAsNumber;
        put(column.name, Object.keys(next).length ? next : null);
      });
      return input;
    };
    return [make("div", { class: "range" }, field("from", "from", column.low), "–", field("to", "to", column.high))];
  };
  const draw = () => {
    const fields = () => [...root.querySelectorAll("input, button")],
      place = fields().indexOf(document.activeElement),
      any = condition(page.state.where) !== null;
    const folded = make(
      "details",
      {},
      make("summary", {}, "Filters", any ? make("b", {}, " on") : ""),
      ...columns.map((column) =>
        make(
          "fieldset",
          {},
          make("legend", {}, make("bdi", {}, column.name)),
          ...(ranged(column) ? range(column) : ticks(column)),
        ),
      ),
      ...(any ? [button("Clear all filters", () => page.go({ where: {} }), { class: "quiet" })] : []),
    );
    folded.open = root.querySelector("details")?.open ?? !matchMedia("(max-width: 860px)").matches;
    root.replaceChildren(...(columns.length ? [folded] : []));
    fields()[place]?.focus();
  };
  // What a hit has of these columns; a click filters by it.
  const chips = (hit) =>
    columns.flatMap((column) =>
      [hit.metadata?.[column.name]]
        .flat()
        .filter(
          (value) =>
            value !== null && value !== undefined && value !== "" && typeof value !== "object" && String(value).length <= 40,
        )
        .map((value) => {
          const now = page.state.where[column.name],
            on = Array.isArray(now) ? now.includes(value) : now?.from === value && now?.to === value;
          return button(make("bdi", {}, valueText(value)), () => toggle(column, value), {
            class: "chip",
            title: `Only ${column.name}: ${valueText(value)}`,
            "aria-pressed": on,
          });
        }),
    );
  return { root, draw, chips, empty: !columns.length };
};
