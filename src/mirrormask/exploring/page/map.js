// An element with attributes and what stands in it; texts are only ever text.
export const make = (tag, given = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};

// What a page of its own holds: places and groups packed as numbers.
export const unpacked = (data) => {
  const numbers = (packed) => new Uint16Array(Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)).buffer), places = numbers(data.places);
  return { ...data, groups: numbers(data.groups), x: Float32Array.from(places.filter((_, i) => i % 2 === 0), (v) => v / 65535), y: Float32Array.from(places.filter((_, i) => i % 2), (v) => v / 65535) };
};

// Draw a map of texts into an element and return what can be done with it. A page of its own (`alone`) has a title, a
// search box, and a switch for the dark; elsewhere, `actions` are [label, function of an id] for a chosen text.
// `data` holds x and y in the unit square, groups, ids and texts, and of every group its name and where its label stands.
export const textMap = (root, data, { alone = null, dark = matchMedia("(prefers-color-scheme: dark)").matches, actions = [] } = {}) => {
  // ---- the parts of the page ----
  const part = {}, named = (name, tag, given = {}, ...inside) => (part[name] = make(tag, { class: `map-${name}`, ...given }, ...inside));
  const tool = (name, sign, told, key) => named(name, "button", { type: "button", title: `${told} (${key})`, "aria-label": told }, sign);
  const canvas = named("points", "canvas", { tabindex: 0, role: "application", "aria-label": "Map of the texts. Arrow keys move, plus and minus zoom, Tab goes to the groups." });
  const over = named("labels", "canvas", { "aria-hidden": "true" });
  const tip = named("tip", "div", { class: "map-tip card", role: "status" }, make("p", { dir: "auto" }), make("footer", {}, make("i"), make("bdi")), make("menu"));
  root.classList.add("text-map");
  root.append(canvas, over);
  if (alone) {
    named("query", "input", { type: "search", placeholder: "Find words in the texts", "aria-label": "Find words in the texts", autocomplete: "off", spellcheck: "false" });
    root.append(named("head", "header", { class: "map-head card" }, make("h1", { dir: "auto" }, alone.title), make("p", { class: "map-facts" }, alone.facts),
      make("div", { class: "map-search" }, part.query, make("kbd", {}, "/")), named("found", "p", { "aria-live": "polite" })));
  }
  root.append(named("groups", "nav", { class: "map-groups card", "aria-label": "Groups" }, make("h2", {}, "Groups, by their telling words"), named("list", "ul")), tip);
  const help = [["/", "find"], ["+ −", "zoom"], ["←↑↓→", "move"], ["0", "whole"], ["Esc", "clear"]].slice(alone ? 0 : 1);
  root.append(named("help", "div", { "aria-hidden": "true" }, ...help.flatMap(([key, told], n) => [n ? " · " : "", ...key.split(" ").flatMap((each) => [make("kbd", {}, each), " "]), told])));
  root.append(named("tools", "div", { class: "map-tools card" }, tool("closer", "+", "Zoom in", "+"), tool("further", "−", "Zoom out", "−"), tool("whole", "⤢", "Show all", "0"), ...(alone ? [tool("theme", "◐", "Light or dark", "d")] : [])));

  // ---- what is shown ----
  const group = data.groups, count = group.length, x = data.x, y = data.y.map((v) => 1 - v);
  const pen = over.getContext("2d");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // ---- colors: as many hues as groups, neighbors in the list far apart ----
  const rgb = (g) => { // OKLCH, in which hues look equally bright, to sRGB
    const light = (dark ? 0.74 : 0.64) + 0.055 * ((g % 3) - 1), chroma = dark ? 0.125 : 0.145;
    const turn = ((g * 137.508 + 250) % 360) * Math.PI / 180, a = chroma * Math.cos(turn), b = chroma * Math.sin(turn);
    const [l, m, n] = [light + 0.3963 * a + 0.2158 * b, light - 0.1056 * a - 0.0639 * b, light - 0.0895 * a - 1.2915 * b].map((v) => v ** 3);
    return [4.0767 * l - 3.3077 * m + 0.231 * n, -1.2684 * l + 2.6098 * m - 0.3413 * n, -0.0042 * l - 0.7034 * m + 1.7076 * n]
      .map((v) => Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
  };
  const css = (g) => `rgb(${rgb(g).map((v) => Math.round(255 * v)).join(" ")})`;

  // ---- the view: screen = (place - center) * scale + middle ----
  let width = 0, height = 0, ratio = 1, fit = 1;
  const view = { x: 0.5, y: 0.5, zoom: 1 };
  const aim = { x: 0.5, y: 0.5, zoom: 1 };
  const scale = () => fit * view.zoom;
  const screenX = (v) => (v - view.x) * scale() + width / 2;
  const screenY = (v) => (v - view.y) * scale() + height / 2;
  const radius = () => Math.max(1.4, Math.min(9, Math.sqrt(26000 / count) * 0.95 * Math.pow(view.zoom, 0.42) * Math.min(1, fit / 640)));

  // ---- a grid over the places, so that what lies under the pointer is found at once ----
  const side = Math.max(1, Math.min(512, Math.round(Math.sqrt(count / 3))));
  const cell = (v) => Math.min(side - 1, Math.max(0, Math.floor(v * side)));
  const begin = new Uint32Array(side * side + 1), inside = new Uint32Array(count);
  for (let i = 0; i < count; i++) begin[cell(y[i]) * side + cell(x[i]) + 1]++;
  for (let c = 0; c < side * side; c++) begin[c + 1] += begin[c];
  { const next = begin.slice(); for (let i = 0; i < count; i++) inside[next[cell(y[i]) * side + cell(x[i])]++] = i; }
  const nearest = (px, py) => {
    const reach = (radius() + 7) / scale();
    const wx = (px - width / 2) / scale() + view.x, wy = (py - height / 2) / scale() + view.y;
    let best = -1, least = reach * reach;
    for (let cy = cell(wy - reach); cy <= cell(wy + reach); cy++)
      for (let cx = cell(wx - reach); cx <= cell(wx + reach); cx++)
        for (let k = begin[cy * side + cx]; k < begin[cy * side + cx + 1]; k++) {
          const i = inside[k], d = (x[i] - wx) ** 2 + (y[i] - wy) ** 2;
          if (d < least && (!lit || lit[i])) { least = d; best = i; }
        }
    return best;
  };

  // ---- drawing: all points in one call, or with the plain canvas where there is no WebGL ----
  let lit = null, litCount = 0, only = -1, query = "";
  const state = new Uint8Array(count); // 0 plain, 1 faded, 2 lit
  const gl = canvas.getContext("webgl", { antialias: false, alpha: true, premultipliedAlpha: true });
  const plain = gl ? null : canvas.getContext("2d");
  let program, at = {}, buffers = {};
  const setUp = () => {
    const shader = (kind, source) => { const made = gl.createShader(kind); gl.shaderSource(made, source); gl.compileShader(made); return made; };
    program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, `
      attribute vec2 place; attribute vec3 color; attribute float state;
      uniform vec2 center, size; uniform float scale, radius, first;
      varying vec4 shade; varying float edge;
      void main() {
        vec2 p = (place - center) * scale * 2.0 / size;
        gl_Position = vec4(p.x, -p.y, 0.0, abs(state - first) < 0.5 ? 1.0 : 0.0);
        float r = state > 1.5 ? radius * 1.25 + 0.6 : radius;
        gl_PointSize = 2.0 * r + 2.0; edge = r / (r + 1.0);
        float a = state > 1.5 ? 0.98 : state > 0.5 ? 0.10 : 0.80;
        shade = vec4(color, a);
      }`));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, `
      precision mediump float; varying vec4 shade; varying float edge;
      void main() {
        float d = length(gl_PointCoord - 0.5) * 2.0;
        float a = shade.a * (1.0 - smoothstep(edge - 0.12, edge + 0.12, d));
        if (a < 0.01) discard;
        gl_FragColor = vec4(shade.rgb * a, a);
      }`));
    gl.linkProgram(program); gl.useProgram(program);
    for (const name of ["place", "color", "state"]) { at[name] = gl.getAttribLocation(program, name); buffers[name] = gl.createBuffer(); gl.enableVertexAttribArray(at[name]); }
    for (const name of ["center", "size", "scale", "radius", "first"]) at[name] = gl.getUniformLocation(program, name);
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const both = new Float32Array(2 * count);
    for (let i = 0; i < count; i++) { both[2 * i] = x[i]; both[2 * i + 1] = y[i]; }
    fill("place", both, 2, gl.FLOAT); paint(); mark();
  };
  const fill = (name, values, parts, kind, scaled = false) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.vertexAttribPointer(at[name], parts, kind, scaled, 0, 0);
  };
  const paint = () => {
    if (!gl) return;
    const shades = new Uint8Array(3 * count), known = data.names.map((_, g) => rgb(g).map((v) => Math.round(255 * v)));
    for (let i = 0; i < count; i++) shades.set(known[group[i]], 3 * i);
    fill("color", shades, 3, gl.UNSIGNED_BYTE, true);
  };
  const mark = () => {
    for (let i = 0; i < count; i++) state[i] = lit ? (lit[i] ? 2 : 1) : 0;
    if (gl) fill("state", state, 1, gl.UNSIGNED_BYTE);
    draw();
  };
  const drawPoints = () => {
    if (gl) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(at.center, view.x, view.y); gl.uniform2f(at.size, width, height);
      gl.uniform1f(at.scale, scale()); gl.uniform1f(at.radius, radius() * ratio);
      for (const first of lit ? [1, 2] : [0]) { gl.uniform1f(at.first, first); gl.drawArrays(gl.POINTS, 0, count); }
      return;
    }
    plain.setTransform(ratio, 0, 0, ratio, 0, 0); plain.clearRect(0, 0, width, height);
    const r = radius();
    for (const first of lit ? [1, 2] : [0])
      for (let g = 0; g < data.names.length; g++) {
        plain.fillStyle = css(g); plain.globalAlpha = first === 1 ? 0.10 : first ? 0.98 : 0.8;
        for (let i = 0; i < count; i++) if (group[i] === g && state[i] === first) plain.fillRect(screenX(x[i]) - r, screenY(y[i]) - r, 2 * r, 2 * r);
      }
  };
  const drawLabels = () => {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, width, height);
    const taken = [], ink = getComputedStyle(document.documentElement);
    const size = Math.min(18, 13.5 + 1.5 * Math.log2(Math.max(1, view.zoom))), small = size * 0.82;
    const family = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif', fonts = [`650 ${size}px ${family}`, `450 ${small}px ${family}`];
    const inks = [ink.getPropertyValue("--ink"), ink.getPropertyValue("--ink"), ink.getPropertyValue("--halo")];
    pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineJoin = "round"; pen.lineWidth = 4;
    const own = root.getBoundingClientRect();
    for (const name of ["head", "groups", "tools"]) {
      const box = part[name]?.getBoundingClientRect();
      if (box?.width) taken.push([box.left - own.left, box.top - own.top, box.right - own.left, box.bottom - own.top]);
    }
    data.names.forEach((name, g) => {
      if (only >= 0 && g !== only) return;
      const px = screenX(data.at[g][0]), py = screenY(1 - data.at[g][1]);
      if (px < 0 || py < 0 || px > width || py > height) return;
      const cut = name.indexOf(", "), lines = cut < 0 ? [name] : [name.slice(0, cut), name.slice(cut + 2)];
      const wide = Math.max(...lines.map((line, n) => { pen.font = fonts[n]; return pen.measureText(line).width; })) / 2 + 6;
      const high = lines.length * size * 0.62 + 4, box = [px - wide, py - high, px + wide, py + high];
      if (taken.some((b) => box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1])) return;
      taken.push(box);
      lines.forEach((line, n) => {
        const ly = py + (n - (lines.length - 1) / 2) * size * 1.12, faint = lit && only < 0 ? 0.35 : 1;
        pen.font = fonts[n]; pen.strokeStyle = inks[2]; pen.globalAlpha = faint; pen.strokeText(line, px, ly);
        pen.fillStyle = inks[n]; pen.globalAlpha = faint * (n ? 0.78 : 1); pen.fillText(line, px, ly);
      });
    });
    pen.globalAlpha = 1;
    const shown = pinned >= 0 ? pinned : hovered;
    if (shown >= 0) {
      pen.beginPath(); pen.arc(screenX(x[shown]), screenY(y[shown]), radius() + 4, 0, 7);
      pen.lineWidth = 2; pen.strokeStyle = ink.getPropertyValue("--ink"); pen.stroke();
    }
  };
  let asked = false;
  const draw = () => { if (!asked) { asked = true; requestAnimationFrame(frame); } };
  const frame = () => {
    asked = false;
    let moving = false;
    for (const part of ["x", "y", "zoom"]) {
      const gap = aim[part] - view[part], enough = part === "zoom" ? 1e-3 * view.zoom : 0.2 / scale();
      if (Math.abs(gap) > enough && !still) { view[part] += 0.24 * gap; moving = true; } else view[part] = aim[part];
    }
    drawPoints(); drawLabels(); placeTip();
    if (moving) draw();
  };
  const resize = () => {
    ratio = Math.min(window.devicePixelRatio || 1, 2.5);
    width = root.clientWidth; height = root.clientHeight;
    for (const each of [canvas, over]) { each.width = Math.round(width * ratio); each.height = Math.round(height * ratio); }
    fit = 0.88 * Math.min(height, Math.max(320, width - (width > 760 ? 240 : 0)));
    draw();
  };

  // ---- moving about ----
  const home = () => { aim.x = 0.5 + (width > 1100 ? 20 / fit : 0); aim.y = 0.5; aim.zoom = 1; draw(); };
  const zoomAt = (factor, px = width / 2, py = height / 2, now = false) => {
    const zoom = Math.min(400, Math.max(0.6, aim.zoom * factor)), change = 1 / (fit * aim.zoom) - 1 / (fit * zoom);
    aim.x += (px - width / 2) * change; aim.y += (py - height / 2) * change; aim.zoom = zoom;
    if (now) Object.assign(view, aim);
    draw();
  };
  const spot = (event) => { const own = canvas.getBoundingClientRect(); return [event.clientX - own.left, event.clientY - own.top]; };
  const fingers = new Map();
  let moved = 0, spread = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, spot(event)); moved = 0; spread = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId), now = spot(event);
    if (!before) { hover(nearest(...now)); return; }
    const dx = now[0] - before[0], dy = now[1] - before[1];
    fingers.set(event.pointerId, now); moved += Math.abs(dx) + Math.abs(dy);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) zoomAt(wide / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, true);
      spread = wide;
    }
    if (moved > 4) { canvas.classList.add("moving"); hover(-1); }
    aim.x -= dx / (fit * aim.zoom) / fingers.size; aim.y -= dy / (fit * aim.zoom) / fingers.size;
    Object.assign(view, aim); draw();
  });
  const release = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    canvas.classList.remove("moving"); spread = 0;
    if (moved <= 4 && event.type === "pointerup") { pinned = nearest(...spot(event)); hover(pinned, true); }
  };
  canvas.addEventListener("pointerup", release); canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("dblclick", (event) => zoomAt(2, ...spot(event)));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...spot(event));
  }, { passive: false });

  // ---- the text under the pointer ----
  let hovered = -1, pinned = -1;
  const hover = (i, force = false) => {
    if (i === hovered && !force) return;
    hovered = i; canvas.classList.toggle("over", i >= 0);
    const shown = pinned >= 0 ? pinned : hovered;
    tip.classList.toggle("shown", shown >= 0); tip.classList.toggle("pinned", pinned >= 0);
    if (shown >= 0) {
      const [body, foot, menu] = tip.children;
      body.replaceChildren(...marked(data.texts[shown]));
      foot.children[0].style.background = css(group[shown]);
      foot.children[1].textContent = `${data.ids[shown]} · ${data.names[group[shown]]}`;
      menu.replaceChildren(...(pinned < 0 ? [] : actions.map(([label, run]) => {
        const button = make("button", { type: "button" }, label);
        button.addEventListener("click", () => run(data.ids[shown])); return button;
      })));
    }
    draw();
  };
  const placeTip = () => {
    const shown = pinned >= 0 ? pinned : hovered;
    if (shown < 0) return;
    const px = screenX(x[shown]), py = screenY(y[shown]), w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = `${Math.max(12, Math.min(width - w - 12, px + 18 + w > width - 12 ? px - w - 18 : px + 18))}px`;
    tip.style.top = `${Math.max(12, Math.min(height - h - 12, py - h / 2))}px`;
  };
  const marked = (text) => {
    const words = query ? query.split(/\s+/) : [], parts = [];
    const low = text.toLowerCase();
    let from = 0;
    while (from < text.length && low.length === text.length) {
      let next = -1, long = 0;
      for (const word of words) { const k = low.indexOf(word, from); if (k >= 0 && (next < 0 || k < next)) { next = k; long = word.length; } }
      if (next < 0) break;
      parts.push(text.slice(from, next), make("mark", {}, text.slice(next, next + long))); from = next + long;
    }
    return [...parts, text.slice(from)];
  };

  // ---- finding ----
  let lowered = null, turn = -1;
  const light = (chosen) => { lit = chosen; litCount = 0; if (lit) for (let i = 0; i < count; i++) litCount += lit[i]; turn = -1; mark(); };
  let given = null; // ids that were lit from outside
  const find = () => {
    query = part.query ? part.query.value.trim().toLowerCase() : "";
    if (given) { light(Uint8Array.from(data.ids, (id, i) => ((only < 0 || group[i] === only) && given.has(id) ? 1 : 0))); return; }
    if (!query) { light(only >= 0 ? group.map((g) => (g === only ? 1 : 0)) : null); say(); return; }
    lowered = lowered || data.texts.map((text) => text.toLowerCase());
    const words = query.split(/\s+/), chosen = new Uint8Array(count);
    for (let i = 0; i < count; i++) if ((only < 0 || group[i] === only) && words.every((word) => lowered[i].includes(word))) chosen[i] = 1;
    light(chosen); say();
  };
  const say = () => {
    const line = part.found;
    line?.replaceChildren();
    if (!query) return;
    line.append(`${litCount.toLocaleString("en")} of ${count.toLocaleString("en")} texts`);
    if (litCount) {
      const next = make("button", { type: "button" }, "next ⏎");
      next.addEventListener("click", step); line.append(next);
    }
  };
  const step = () => {
    if (!lit || !litCount) return;
    do { turn = (turn + 1) % count; } while (!lit[turn]);
    pinned = turn; aim.x = x[turn]; aim.y = y[turn]; aim.zoom = Math.max(aim.zoom, 4); hover(turn, true);
  };
  part.query?.addEventListener("input", find);
  part.query?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") step();
    if (event.key === "Escape") { part.query.value = ""; find(); canvas.focus(); event.stopPropagation(); }
  });

  // ---- groups ----
  const middle = (values) => values.sort()[values.length >> 1];
  const wideOf = (g) => { // four times the median distance from the middle
    const own = [x, y].map((all) => all.filter((_, i) => group[i] === g)), [cx, cy] = own.map(middle);
    return 4 * middle(Float32Array.of(...own[0].map((v) => Math.abs(v - cx)), ...own[1].map((v) => Math.abs(v - cy))));
  };
  const choose = (g) => {
    only = only === g ? -1 : g;
    [...part.list.querySelectorAll("button")].forEach((button, n) => button.setAttribute("aria-pressed", n === only));
    if (only >= 0) {
      aim.x = data.at[g][0]; aim.y = 1 - data.at[g][1]; aim.zoom = Math.max(1.6, Math.min(6, 0.32 / Math.max(0.02, wideOf(g))));
    } else home();
    find();
  };
  const sizes = new Uint32Array(data.names.length);
  for (let i = 0; i < count; i++) sizes[group[i]]++;
  data.names.forEach((name, g) => {
    const size = sizes[g].toLocaleString("en");
    const button = make("button", { type: "button", "aria-pressed": "false" }, make("i"), make("b", { dir: "auto" }, name), make("span", {}, size));
    button.addEventListener("click", () => choose(g)); part.list.append(make("li", {}, button));
  });
  const dye = () => {
    if (alone) document.documentElement.dataset.theme = dark ? "dark" : "light";
    part.list.querySelectorAll("i").forEach((dot, g) => { dot.style.background = css(g); });
    paint(); draw();
  };

  // ---- buttons and keys ----
  part.closer.addEventListener("click", () => zoomAt(1.6));
  part.further.addEventListener("click", () => zoomAt(1 / 1.6));
  part.whole.addEventListener("click", home);
  part.theme?.addEventListener("click", () => { dark = !dark; dye(); });
  const keys = {
    "+": () => zoomAt(1.5), "=": () => zoomAt(1.5), "-": () => zoomAt(1 / 1.5), "−": () => zoomAt(1 / 1.5), 0: home,
    d: () => part.theme?.click(), n: step,
    ArrowLeft: () => push(-1, 0), ArrowRight: () => push(1, 0), ArrowUp: () => push(0, -1), ArrowDown: () => push(0, 1),
    Escape: () => { pinned = -1; hover(-1, true); if (only >= 0) choose(only); if (part.query) part.query.value = ""; find(); },
    "/": () => part.query.focus(),
  };
  const push = (dx, dy) => { aim.x += dx * 90 / scale(); aim.y += dy * 90 / scale(); draw(); };
  root.addEventListener("keydown", (event) => {
    if (event.key === "/" && !alone) return;
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    if (event.target.tagName === "BUTTON" && event.key.startsWith("Arrow")) return;
    event.preventDefault(); keys[event.key]();
  });
  if (alone) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => { dark = event.matches; dye(); });
  new ResizeObserver(resize).observe(root);
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => { setUp(); draw(); });
  resize(); home(); Object.assign(view, aim);
  if (gl) setUp(); else mark();
  dye();
  return {
    light: (ids) => { given = ids && new Set(ids); find(); return litCount; },
    pin: (id) => { const i = data.ids.indexOf(id); if (i >= 0) { pinned = i; aim.x = x[i]; aim.y = y[i]; aim.zoom = Math.max(aim.zoom, 2.5); hover(i, true); } return i >= 0; },
    shade: (isDark) => { dark = isDark; dye(); },
  };
};
