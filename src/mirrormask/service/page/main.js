// The page: one query, looked at as hits, between two encoders, or on a map; and what masks say about a sentence.
import { ask, askForKey, hasKey } from "./api.js";
import { compareView } from "./compare.js";
import { duplicatesView } from "./duplicates.js";
import { button, counted, stateOf, working } from "./hits.js";
import { make } from "./map.js";
import { mapView } from "./mapping.js";
import { probeView } from "./probe.js";
import { searchView } from "./search.js";
import { similarityView } from "./similarity.js";
import { read, write } from "./state.js";

const VIEWS = {
  search: ["Search", searchView, true],
  compare: ["Compare", compareView, true],
  map: ["Map", mapView, true],
  duplicates: ["Duplicates", duplicatesView, false],
  similarity: ["Similarity", similarityView, false],
  probe: ["Probe", probeView, false],
};
const PAUSE = 130; // ms without a key before it is asked
const $ = (id) => document.getElementById(id);
const box = $("query"),
  main = $("view"),
  bar = $("ask");

let speaking = 0;
const page = {
  about: null,
  served: null,
  state: read(location.hash),
  box,
  can: (view) =>
    ({ search: page.served.kind === "index", similarity: true, compare: page.about.compare, probe: page.about.probe })[view] ??
    page.served[view] === true,
  // Say how many were found, once typing has stopped: a screen reader would otherwise read every letter's answer.
  say: (told) => {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      $("said").textContent = told;
    }, 350);
  },
  // Go somewhere: what changes, and whether the way back leads here.
  go: (changes, step = false) => {
    page.state = { ...page.state, ...changes };
    const address = write(page.state);
    if (address !== location.hash) history[step ? "pushState" : "replaceState"](null, "", address);
    return show();
  },
};
const views = {};

const show = async () => {
  choose();
  const names = Object.keys(VIEWS).filter(page.can);
  if (!names.includes(page.state.view)) page.state.view = names[0];
  if (!page.served.modes?.includes(page.state.mode)) page.state.mode = "";
  const { view, q, mode } = page.state,
    [label, build, asks] = VIEWS[view];
  views[view] ??= build(page);
  if (box.value !== q && document.activeElement !== box) box.value = q;
  bar.hidden = !asks;
  for (const input of $("modes").querySelectorAll("input")) input.checked = input.value === (mode || "both");
  for (const link of $("views").children) {
    const own = link.dataset.view === view;
    if (own) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.setAttribute("href", write({ ...page.state, view: link.dataset.view }));
  }
  if (views[view].root.parentNode !== main) {
    main.replaceChildren(views[view].root);
    main.className = `view-${view}`;
    const bar = $("views"),
      link = bar.querySelector("[aria-current]");
    bar.scrollLeft = link.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2; // on a phone not all of them are seen
  }
  document.title = `${asks && q.trim() ? `${q.trim()} · ` : ""}${label} · ${page.served.name}`;
  await views[view].show();
};

// ---- the box: hits come as one types ----
let typing = 0;
const typed = (now) => {
  clearTimeout(typing);
  const run = () => page.go({ q: box.value, like: "", at: "" }, now && box.value !== page.state.q);
  if (now) run();
  else typing = setTimeout(run, PAUSE);
};
box.addEventListener("input", () => typed(false));
bar.addEventListener("submit", (event) => {
  event.preventDefault();
  typed(true);
});
box.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") {
    event.preventDefault();
    views[page.state.view].enter?.();
  }
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    if (box.value || page.state.like) {
      box.value = "";
      typed(true);
    } else box.blur();
  }
});
document.addEventListener("keydown", (event) => {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !$("key").open,
    on = event.target;
  const writes =
    on.isContentEditable ||
    (["INPUT", "TEXTAREA", "SELECT"].includes(on.tagName) && on.type !== "checkbox" && on.type !== "radio");
  if (!plain || writes || bar.hidden) return;
  if (event.key === "/" || (event.key === "Escape" && main.contains(on) && !on.closest(".text-map"))) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});
$("skip").addEventListener("click", () => {
  if (!views[page.state.view]?.enter) main.focus();
  else views[page.state.view].enter();
});
const moved = () => {
  const next = read(location.hash);
  if (write(next) === write(page.state)) return;
  page.state = next;
  box.value = next.q;
  show();
};
window.addEventListener("hashchange", moved);
window.addEventListener("popstate", moved);
$("key-button").addEventListener("click", () => askForKey(begin));

// ---- what is looked at: one of those served; another one has views of its own ----
const choose = () => {
  const { served } = page.about,
    found = served.find((each) => each.name === page.state.index) ?? served.find((each) => each.kind === "index") ?? served[0];
  if (page.served === found) return;
  page.served = found;
  for (const name of Object.keys(views)) delete views[name];
  const named =
    served.length < 2
      ? make("bdi", {}, found.name)
      : make("select", { "aria-label": "What is searched" }, ...served.map((each) => make("option", {}, each.name)));
  if (served.length > 1) {
    named.value = found.name;
    named.addEventListener("change", () => page.go({ index: named.value, like: "", where: {} }, true));
  }
  $("what").replaceChildren(
    named,
    make(
      "small",
      {},
      [found.kind === "index" ? counted(found.documents, "document") : "", found.model === found.name ? "" : found.model]
        .filter(Boolean)
        .join(" · "),
    ),
  );
  $("modes").replaceChildren(
    $("modes").firstElementChild,
    ...(found.modes ?? []).map((mode) => {
      const input = make("input", { type: "radio", name: "mode", value: mode });
      input.addEventListener("change", () => page.go({ mode: mode === "both" ? "" : mode }));
      return make("label", {}, input, make("span", {}, mode));
    }),
  );
  $("views").replaceChildren(
    ...Object.keys(VIEWS)
      .filter(page.can)
      .map((name) => make("a", { href: `#${name}`, "data-view": name }, VIEWS[name][0])),
  );
};

// ---- an index may be replaced while it is served: whoever comes back sees the new one ----
document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !page.served) return;
  const next = await ask("about").catch(() => null);
  if (next && JSON.stringify(next) !== JSON.stringify(page.about)) {
    page.about = next;
    show();
  }
});

// ---- the beginning: what is served decides what is shown ----
const begin = async () => {
  main.replaceChildren(working("Opening…"));
  try {
    page.about = await ask("about");
  } catch (error) {
    main.replaceChildren(stateOf("This page cannot be opened", error.message, button("Try again", begin, { class: "main" })));
    return;
  }
  $("key-button").hidden = !hasKey();
  page.served = null;
  main.replaceChildren();
  box.value = page.state.q;
  await show();
  if (!bar.hidden && matchMedia("(hover: hover)").matches && [document.body, $("key-button")].includes(document.activeElement))
    box.focus();
};
begin();
