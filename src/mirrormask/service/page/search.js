// The search itself: hits as one types, facets beside them, and more like one of them.
import { ask, latest } from "./api.js";
import { facetRail } from "./facets.js";
import { button, counted, facts, number, parted, stateOf, valueText, why } from "./hits.js";
import { make } from "./map.js";
import { condition } from "./state.js";

const TOP = 10,
  STEP = 20,
  MOST = 100;

export const searchView = (page) => {
  const { served } = page;
  const facets = facetRail(page),
    head = make("div", { class: "found" });
  const list = make("ol", { class: "hits", role: "list", "aria-label": "Hits" });
  const main = make("div", { class: "results" }, head, list);
  const root = make(
    "section",
    { class: `columns${facets.empty ? " no-facets" : ""}`, "aria-label": "Search" },
    facets.root,
    main,
  );
  const only = latest();
  let hits = [],
    top = TOP,
    asked = "",
    opened = new Set();

  // ---- hits ----
  const hitOf = (hit, n) => {
    const isOpen = opened.has(hit.id),
      { heading, passage, named, isCut } = parted(hit, isOpen ? Infinity : undefined);
    const title = make("button", { type: "button", class: "title", "aria-expanded": isOpen }, heading);
    title.addEventListener("click", () => {
      if (!opened.delete(hit.id)) opened.add(hit.id);
      const next = hitOf(hit, n);
      item.replaceWith(next);
      next.querySelector(".title").focus();
    });
    const deeds = [
      button("More like this", () => page.go({ view: "search", like: hit.id, q: page.state.q }, true), { class: "link" }),
    ];
    if (page.can("map")) deeds.push(button("On the map", () => page.go({ view: "map", at: hit.id }, true), { class: "link" }));
    const shares = Object.entries(hit.shares ?? {})
      .map(([name, share]) => `${(100 * share).toFixed(1)}% ${name}`)
      .join(", ");
    const details = isOpen
      ? [
          facts([
            ["id", hit.id],
            ["score", hit.score.toFixed(3)],
            ["found by", shares || "little in common"],
            ["place", hit.place ? `characters ${number(hit.place[0])} to ${number(hit.place[1])}` : "whole"],
            ...Object.entries(hit.metadata ?? {})
              .filter(([, value]) => value !== null)
              .map(([name, value]) => [name, valueText(value)]),
          ]),
        ]
      : [];
    const item = make(
      "li",
      { class: "hit", "data-id": hit.id },
      make("header", {}, make("span", { class: "rank", "aria-hidden": "true" }, String(n + 1)), make("h3", {}, title), why(hit)),
      passage,
      ...details,
      make(
        "footer",
        {},
        make("span", { class: "chips" }, ...(named ? [make("bdi", { class: "id" }, hit.id)] : []), ...facets.chips(hit)),
        make(
          "span",
          { class: "deeds" },
          ...(isCut ? [button("Whole passage", () => title.click(), { class: "link" })] : []),
          ...deeds,
        ),
      ),
    );
    return item;
  };
  const legend = () =>
    make(
      "span",
      { class: "legend", "aria-hidden": "true" },
      make("i", { class: "words" }),
      "words",
      make("i", { class: "vectors" }),
      "vectors",
    );
  const draw = (took) => {
    const { q, like, where } = page.state,
      filtered = condition(where) !== null;
    const banner = like
      ? [
          make(
            "p",
            { class: "banner" },
            "More like ",
            make("b", {}, make("bdi", {}, like)),
            " ",
            button(q ? "Back to the search" : "Back", () => page.go({ like: "" }, true), { class: "link" }),
          ),
        ]
      : [];
    const count = `${hits.length < top ? counted(hits.length, "document") : `The best ${number(hits.length)}`} of ${number(served.documents)}${filtered ? ", filtered" : ""}`;
    head.replaceChildren(
      ...banner,
      make(
        "p",
        { class: "count" },
        make("span", {}, hits.length ? `${count}${took === null ? "" : `, in ${took} ms`}` : ""),
        ...(hits.length ? [legend()] : []),
      ),
    );
    list.replaceChildren(...hits.map(hitOf));
    main.querySelector(".state")?.remove();
    main.querySelector(".more")?.remove();
    if (!hits.length)
      main.append(
        stateOf(
          "Nothing was found",
          filtered
            ? "No document meets the filters and the query. Take out a filter, or try other words."
            : "Try other words, or search by vectors, which find what is said in other words.",
        ),
      );
    else if (hits.length === top && top < MOST)
      main.append(
        button(
          `Show ${STEP} more`,
          () => {
            top = Math.min(MOST, top + STEP);
            run(true);
          },
          { class: "more" },
        ),
      );
    page.say(hits.length ? `${counted(hits.length, "hit")}${like ? ` like ${like}` : ` for ${q}`}` : "Nothing was found");
  };
  const welcome = () => {
    hits = [];
    head.replaceChildren();
    list.replaceChildren();
    main.querySelector(".more")?.remove();
    main.querySelector(".state")?.remove();
    main.append(
      stateOf(
        `Search ${counted(served.documents, "document")}`,
        "Type a question or some words. What is found is ordered by the words it shares with them and by its meaning, and every hit says how much each gave.",
        make(
          "p",
          { class: "keys" },
          ...[
            ["/", "search"],
            ["↓ ↑", "go through hits"],
            ["Enter", "open one"],
            ["Esc", "back"],
          ].flatMap(([key, told]) => [make("span", {}, ...key.split(" ").map((each) => make("kbd", {}, each)), told)]),
        ),
      ),
    );
  };

  // ---- asking: one question at a time, nothing drawn from an old one ----
  const run = async (again = false) => {
    const { q, like, mode, where } = page.state,
      question = JSON.stringify([q.trim(), like, mode, where]);
    if (question === asked && !again) return;
    if (question !== asked) {
      top = TOP;
      opened = new Set();
    }
    asked = question;
    if (!q.trim() && !like) {
      await only(async () => null);
      root.classList.remove("asking");
      welcome();
      return;
    }
    root.classList.add("asking");
    const begun = performance.now();
    try {
      const body = { top, mode: mode || "both", where: condition(where), index: served.name };
      const found = await only((signal) =>
        like ? ask("similar", { id: like, ...body }, signal) : ask("search", { query: q.trim(), ...body }, signal),
      );
      if (!found) return;
      hits = like ? found.hits.map((hit) => ({ ...hit, matches: [] })) : found.hits; // of a whole document, nearly every word matches
      root.classList.remove("asking");
      draw(Math.round(performance.now() - begun));
    } catch (error) {
      root.classList.remove("asking");
      asked = "";
      hits = [];
      list.replaceChildren();
      head.replaceChildren();
      main.querySelector(".more")?.remove();
      main.querySelector(".state")?.remove();
      const out = like
        ? ["Back to the search", { like: "" }]
        : condition(where) === null
          ? null
          : ["Clear the filters", { where: {} }];
      main.append(
        stateOf(
          "That did not work",
          error.message,
          make(
            "p",
            { class: "ways" },
            button("Try again", () => run(true), { class: "main" }),
            ...(out ? [button(out[0], () => page.go(out[1]), { class: "link" })] : []),
          ),
        ),
      );
      page.say(error.message);
    }
  };

  // ---- keys: arrows go through the hits, escape goes back ----
  list.addEventListener("keydown", (event) => {
    const titles = [...list.querySelectorAll(".title")],
      item = event.target.closest(".hit"),
      place = [...list.children].indexOf(item);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: titles.length - 1 }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (to < 0) page.box.focus();
    else titles[Math.min(to, titles.length - 1)].focus();
  });

  return {
    root,
    show: () => {
      facets.draw();
      return run();
    },
    enter: () => list.querySelector(".title")?.focus(),
  };
};
