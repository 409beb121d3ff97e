// A matrix as a table of shades: a screen reader reads it as a table, a pointer gets each number.
import { make } from "./map.js";

const short = (text, most = 24) => {
  const signs = Array.from(text);
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : text;
};

// Args: labels of rows and columns, values (n, n), what the table is, what to tell of a cell, which cells have a dot, between
// which numbers the shades go, and whether the numbers are written into the cells, the columns then being numbered.
export const heatTable = (labels, values, { caption, tell, marked = () => false, least = 0, most = 1, written = false }) => {
  const readout = make("p", { class: "readout", "aria-hidden": "true" });
  const head = make(
    "tr",
    {},
    make("td"),
    ...labels.map((label, n) =>
      make(
        "th",
        { scope: "col" },
        ...(written
          ? [make("span", { class: "unseen" }, label), make("b", { "aria-hidden": "true" }, String(n + 1))]
          : [make("span", { class: "up" }, make("bdi", {}, short(label)))]),
      ),
    ),
  );
  const rows = labels.map((label, row) =>
    make(
      "tr",
      {},
      make(
        "th",
        { scope: "row" },
        ...(written ? [make("b", { "aria-hidden": "true" }, String(row + 1))] : []),
        make("bdi", {}, short(label, written ? 60 : 24)),
      ),
      ...values[row].map((value, column) => {
        if (row === column) return make("td", { class: "own", "aria-label": "itself" });
        const share = Math.max(0, Math.min(1, (value - least) / (most - least || 1)));
        const cell = make(
          "td",
          { "aria-label": value.toFixed(2), class: `${marked(row, column) ? "marked" : ""}${share > 0.6 ? " deep" : ""}` },
          written ? value.toFixed(2) : "",
        );
        cell.style.setProperty("--share", share.toFixed(3));
        cell.dataset.row = row;
        cell.dataset.column = column;
        return cell;
      }),
    ),
  );
  const body = make("tbody", {}, ...rows),
    table = make(
      "table",
      { class: `heat${written ? " written" : ""}` },
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, head),
      body,
    );
  const light = (row, column) => {
    [...body.rows].forEach((each, n) => each.cells[0].classList.toggle("lit", n === row));
    [...head.cells].forEach((each, n) => each.classList.toggle("lit", n === column + 1));
  };
  body.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td[data-row]");
    if (!cell) return;
    const row = Number(cell.dataset.row),
      column = Number(cell.dataset.column);
    readout.textContent = tell(row, column, values[row][column]);
    light(row, column);
  });
  body.addEventListener("pointerleave", () => {
    readout.textContent = "";
    light(-1, -2);
  });
  return make(
    "figure",
    { class: "heat-map" },
    make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, table),
    readout,
  );
};
