// What is looked at stands in the address, after the #, so that it can be sent to someone: #search?q=refund&mode=words&where.lang=["en"]
const NAMES = ["q", "mode", "like", "text", "index", "at"];

const blank = () => ({ view: "search", q: "", mode: "", like: "", text: "", index: "", at: "", where: {} });

export const read = (hash) => {
  const [view, rest = ""] = hash.replace(/^#/, "").split(/\?(.*)/s),
    state = { ...blank(), view: view || "search" };
  for (const [name, value] of new URLSearchParams(rest)) {
    if (name.startsWith("where.")) {
      try {
        const given = JSON.parse(value),
          { from, to } = given ?? {};
        const values = [given].flat().filter((each) => each === null || typeof each !== "object");
        if (values.length) state.where[name.slice(6)] = values;
        else if (Number.isFinite(from ?? to))
          state.where[name.slice(6)] = { ...(Number.isFinite(from) && { from }), ...(Number.isFinite(to) && { to }) };
      } catch {
        /* an address that was cut is read as far as it goes */
      }
    } else if (NAMES.includes(name)) state[name] = value;
  }
  return state;
};

export const write = (state) => {
  const said = new URLSearchParams();
  for (const name of NAMES) if (state[name]) said.set(name, state[name]);
  for (const [column, values] of Object.entries(state.where)) said.set(`where.${column}`, JSON.stringify(values));
  const rest = said.toString();
  return `#${state.view}${rest ? `?${rest}` : ""}`;
};

// The chosen values of metadata as a condition of a search: columns in backquotes, values quoted so that none can end its quotes.
export const condition = (where) => {
  const literal = (value) => (typeof value === "string" ? `"${value.replace(/[\\"]/g, "\\$&")}"` : String(value));
  const parts = Object.entries(where).flatMap(([column, chosen]) => {
    const name = `\`${column}\``;
    if (Array.isArray(chosen)) return chosen.length ? [`${name} in (${chosen.map(literal).join(", ")})`] : [];
    return [
      ["from", ">="],
      ["to", "<="],
    ].flatMap(([side, sign]) => (Number.isFinite(chosen[side]) ? [`${name} ${sign} ${chosen[side]}`] : []));
  });
  return parts.length ? parts.join(" and ") : null;
};
