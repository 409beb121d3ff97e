// The map of the whole collection; what the query found is lit.
import { ask, latest } from "./api.js";
import { button, counted, number, stateOf, working } from "./hits.js";
import { make, textMap } from "./map.js";
import { condition } from "./state.js";

const lighted = (documents) => Math.max(10, Math.min(50, Math.round(documents / 20))); // how many hits are lit

export const mapView = (page) => {
  const place = make("div", { class: "whole" }),
    note = make("p", { class: "note" });
  const root = make("section", { class: "mapping", "aria-label": "Map of the documents" }, place, note);
  const only = latest();
  let map = null,
    asked = "",
    sampled = "",
    pinned = "";
  const isDark = () => document.documentElement.dataset.theme === "dark";
  document.addEventListener("theme", () => map?.shade(isDark()));

  const open = async () => {
    if (map) return true;
    place.replaceChildren(
      working("Drawing the map. The first time takes a while: every document is laid beside those most like it."),
    );
    try {
      const { points, groups, left_out } = await ask(`map?index=${encodeURIComponent(page.served.name)}`);
      const all = (name) => points.map((point) => point[name]);
      const data = {
        x: Float32Array.from(all("x")),
        y: Float32Array.from(all("y")),
        groups: all("group"),
        ids: all("id"),
        texts: all("text"),
        names: groups.map((group) => group.name),
        at: groups.map((group) => [group.x, group.y]),
      };
      place.replaceChildren();
      sampled = left_out ? `A sample: ${number(left_out)} more documents are not shown` : "";
      map = textMap(place, data, {
        dark: isDark(),
        actions: [["More like this", (id) => page.go({ view: "search", like: id }, true)]],
      });
      return true;
    } catch (error) {
      place.replaceChildren(
        stateOf(
          "There is no map",
          error.message,
          button(
            "Try again",
            () => {
              asked = "";
              run();
            },
            { class: "main" },
          ),
        ),
      );
      return false;
    }
  };
  const run = async () => {
    const { q, like, mode, where, at } = page.state,
      question = JSON.stringify([q.trim(), like, mode, where]);
    if (!(await open())) return;
    if (at && at !== pinned) map.pin(at);
    pinned = at;
    if (question === asked) return;
    asked = question;
    if (!q.trim() && !like) {
      await only(async () => null);
      map.light(null);
      note.textContent = sampled;
      return;
    }
    const body = { top: lighted(page.served.documents), mode: mode || "both", where: condition(where), index: page.served.name };
    try {
      const found = await only((signal) =>
        like ? ask("similar", { id: like, ...body }, signal) : ask("search", { query: q.trim(), ...body }, signal),
      );
      if (!found) return;
      const lit = map.light(found.hits.map((hit) => hit.id));
      note.textContent = `The best ${counted(lit, "hit")} for ${like || q.trim()}`;
      page.say(`${counted(lit, "hit")} lit on the map`);
    } catch (error) {
      asked = "";
      note.textContent = error.message;
      page.say(error.message);
    }
  };
  return { root, show: run, enter: () => root.querySelector(".map-points")?.focus() };
};
