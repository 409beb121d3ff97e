// Documents that say the same, in groups; what differs from the first of a group is underlined.
import { ask } from "./api.js";
import { button, counted, failed, number, percent, stateOf, working } from "./hits.js";
import { make } from "./map.js";

const SHOWN = 50,
  LONGEST = 400; // groups at first; words of a text that are compared
const MEMBERS = 4; // of a group, at first
const KIND = { exact: "the same but for case and punctuation", words: "nearly the same words", meaning: "near in meaning" };

// Which words of b are also in a, in order (a longest common subsequence).
const common = (a, b) => {
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const same = new Set();
  for (let i = 0, j = 0; i < a.length && j < b.length;)
    if (a[i] === b[j]) {
      same.add(j);
      i++;
      j++;
    } else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  return same;
};
const split = (text) =>
  text
    .trim()
    .split(/(\s+)/)
    .slice(0, 2 * LONGEST);
const differing = (first, text) => {
  const words = split(text),
    same = common(split(first), words),
    parts = [];
  let run = "",
    gap = "";
  const close = () => {
    if (run) parts.push(make("ins", {}, run));
    parts.push(gap);
    run = gap = "";
  };
  words.forEach((word, n) => {
    if (!word.trim()) gap += word;
    else if (same.has(n)) {
      close();
      parts.push(word);
    } else {
      if (!run) {
        parts.push(gap);
        run = word;
      } else run += gap + word;
      gap = "";
    }
  });
  close();
  return parts;
};

export const duplicatesView = (page) => {
  const root = make("section", { class: "duplicates", "aria-label": "Near-duplicates" });
  const unfolded = new Set();
  let groups = null,
    shown = SHOWN;
  const groupOf = (group) =>
    make(
      "li",
      { class: "group" },
      make(
        "h3",
        {},
        `${counted(group.members.length, "document")}, ${KIND[group.kind] ?? group.kind}`,
        make("small", {}, group.similarity === undefined || group.similarity >= 1 ? "" : ` ${percent(group.similarity)} alike`),
      ),
      make(
        "ol",
        {},
        ...group.members.slice(0, unfolded.has(group) ? undefined : MEMBERS).map((member, n) =>
          make(
            "li",
            {},
            make("bdi", { class: "id" }, member.id),
            make("p", { class: "passage", dir: "auto" }, ...(n ? differing(group.members[0].text, member.text) : [member.text])),
            button("More like this", () => page.go({ view: "search", like: member.id }, true), {
              class: "link",
              "aria-label": `More like ${member.id}`,
            }),
          ),
        ),
      ),
      ...(group.members.length > MEMBERS && !unfolded.has(group)
        ? [
            button(
              `${group.members.length - MEMBERS} more`,
              (event) => {
                unfolded.add(group);
                const next = groupOf(group);
                event.target.closest(".group").replaceWith(next);
                next.querySelectorAll(".link")[MEMBERS].focus();
              },
              { class: "quiet" },
            ),
          ]
        : []),
    );
  const draw = (found) => {
    const told = found.groups.length
      ? `${counted(found.groups.length, "group")}: ${counted(found.repeated, "document")} of ${number(found.texts)} repeat another.${found.left_out ? ` These are a sample: ${number(found.left_out)} more were not looked at.` : ""}`
      : "";
    if (!told) {
      root.replaceChildren(stateOf("No near-duplicates", `All ${counted(found.texts, "document")} say something of their own.`));
      return;
    }
    const rest = found.groups.length - shown;
    root.replaceChildren(
      make("p", { class: "count" }, make("span", {}, told)),
      make("ol", { class: "groups" }, ...found.groups.slice(0, shown).map(groupOf)),
      ...(rest > 0
        ? [
            button(
              `Show ${Math.min(rest, SHOWN)} more`,
              () => {
                shown += SHOWN;
                draw(found);
              },
              { class: "more" },
            ),
          ]
        : []),
    );
    page.say(told);
  };
  const run = async () => {
    if (groups) return;
    root.replaceChildren(working("Looking for documents that say the same. The first time takes a while."));
    try {
      groups = await ask(`duplicates?index=${encodeURIComponent(page.served.name)}`);
      draw(groups);
    } catch (error) {
      root.replaceChildren(failed(error, run));
      page.say(error.message);
    }
  };
  return { root, show: run };
};
