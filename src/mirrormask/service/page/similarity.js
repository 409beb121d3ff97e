// How alike some texts are to the encoder, each with each.
import { ask, latest } from "./api.js";
import { heatTable } from "./heat.js";
import { failed, stateOf, working } from "./hits.js";
import { make } from "./map.js";

const MOST = 20;
const EXAMPLE =
  "How do I get my money back?\nRefunds are paid within a week.\nThe museum is closed on Mondays.\nOn Mondays nobody can visit the exhibition.";

export const similarityView = (page) => {
  const field = make("textarea", { id: "texts", rows: 5, spellcheck: "false", maxlength: 8000, placeholder: EXAMPLE });
  const form = make(
    "form",
    { class: "own-form" },
    make("label", { for: "texts" }, "Texts, one a line"),
    field,
    make("button", { type: "submit", class: "main" }, "Compare them"),
  );
  const out = make("div", { class: "pictures" }),
    root = make("section", { class: "similarity", "aria-label": "Similarity" }, form, out);
  const only = latest();
  let asked = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    page.go({ text: field.value.trim() || EXAMPLE }, true);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  const run = async () => {
    if (page.state.text === asked) return;
    asked = page.state.text;
    if (asked) field.value = asked;
    const texts = asked
      .split("\n")
      .map((each) => each.trim())
      .filter(Boolean)
      .slice(0, MOST);
    if (texts.length < 2) {
      await only(async () => null);
      out.replaceChildren(
        stateOf("Which of these say the same?", "Give two texts or more, one a line: the encoder compares each with each."),
      );
      return;
    }
    out.replaceChildren(working("Encoding…"));
    try {
      const found = await only((signal) => ask("encode", { texts, normalize: true, model: page.served.name }, signal));
      if (!found) return;
      const { vectors } = found,
        values = vectors.map((a) => vectors.map((b) => a.reduce((sum, value, n) => sum + value * b[n], 0))),
        apart = values.flatMap((row, i) => row.filter((_, j) => j !== i));
      out.replaceChildren(
        make(
          "section",
          { class: "picture" },
          make("h2", {}, "Cosine of each with each"),
          make("p", { class: "reading" }, "1 is the same direction, 0 nothing in common."),
          heatTable(texts, values, {
            written: true,
            least: Math.min(0, ...apart),
            most: Math.max(...apart),
            caption: "Cosine of the vectors of the texts",
            tell: (row, column, value) => `${value.toFixed(3)}: “${texts[row]}” and “${texts[column]}”`,
          }),
        ),
      );
      page.say("The texts were compared");
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
