// What a model's masks say about one sentence: how much each word matters to each other one, and the trees in that.
import { ask, latest } from "./api.js";
import { heatTable } from "./heat.js";
import { button, failed, stateOf, working } from "./hits.js";
import { make } from "./map.js";
import { arcs, phrases } from "./trees.js";

const EXAMPLES = [
  "The keys to the old cabinet are on the kitchen table.",
  "She said that the man with the telescope had seen her.",
  "Nobody who knows the river swims in it after a storm.",
];

export const probeView = (page) => {
  const field = make("input", {
    type: "text",
    id: "sentence",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 1000,
    placeholder: EXAMPLES[0],
  });
  const form = make(
    "form",
    { class: "own-form" },
    make("label", { for: "sentence" }, "A sentence"),
    make("div", { class: "line" }, field, make("button", { type: "submit", class: "main" }, "Probe")),
  );
  const out = make("div", { class: "pictures" }),
    root = make("section", { class: "probe", "aria-label": "Probe" }, form, out);
  const only = latest();
  let asked = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    page.go({ text: field.value.trim() || EXAMPLES[0] }, true);
  });

  const picture = (title, told, drawn) =>
    make("section", { class: "picture" }, make("h2", {}, title), make("p", { class: "reading" }, told), drawn);
  const draw = (found) => {
    const { words, impact, heads, spans, brackets } = found,
      most = Math.max(0, ...impact.flatMap((row, i) => row.filter((_, j) => j !== i)));
    const heat = heatTable(words, impact, {
      most,
      caption: "Impact of masking the word of the column on the word of the row",
      marked: (row, column) => heads[row] === column,
      tell: (row, column, value) => `Masking “${words[column]}” as well moves “${words[row]}” by ${value.toFixed(2)}`,
    });
    out.replaceChildren(
      make(
        "p",
        { class: "verdict" },
        make("span", { dir: "auto" }, brackets),
        make("small", {}, `${found.model}, ${found.layer === -1 ? "last layer" : `layer ${found.layer}`}, ${found.measure}`),
      ),
      picture(
        "Impact",
        "Each row is a word, masked; each column shows how far its state moves when that word is masked too. Strong shades are words that matter to each other. A dot marks the head that was induced for the word of the row.",
        heat,
      ),
      picture(
        "Dependency tree",
        "The tree whose arcs have the most impact together. An arrow points from a head to the word it governs.",
        arcs(words, heads),
      ),
      picture(
        "Phrases",
        "The sentence is cut again and again where the impact between the two parts is least.",
        phrases(words, spans, brackets),
      ),
    );
    page.say(`Phrases: ${brackets}`);
  };
  const welcome = () =>
    out.replaceChildren(
      stateOf(
        "What do the masks say?",
        "Two words of a sentence are masked at a time; where masking the one changes what the model expects of the other, they belong together. From that alone, a tree is read: no grammar was taught.",
        make(
          "p",
          { class: "examples" },
          ...EXAMPLES.map((each) => button(each, () => page.go({ text: each }, true), { class: "link" })),
        ),
      ),
    );
  const run = async () => {
    const text = page.state.text.trim();
    if (text === asked) return;
    asked = text;
    if (document.activeElement !== field || text) field.value = text;
    if (!text) {
      await only(async () => null);
      welcome();
      return;
    }
    out.replaceChildren(working("Masking two words at a time…"));
    try {
      const found = await only((signal) => ask("probe", { sentence: text }, signal));
      if (found) draw(found);
    } catch (error) {
      const again = () => {
        asked = null;
        run();
      };
      out.replaceChildren(failed(error, again));
      page.say(error.message);
    }
  };
  return { root, show: run };
};
