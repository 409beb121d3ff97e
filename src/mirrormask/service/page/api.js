// Questions to the server this page came from; an answer that came too late is dropped, a key is asked for when it is needed.

const kept = "mirrormask-key";
let key = "";
try {
  key = sessionStorage.getItem(kept) ?? "";
} catch {
  /* kept in this page alone */
}
export const hasKey = () => key !== "";
const keep = (value) => {
  key = value;
  try {
    if (value) sessionStorage.setItem(kept, value);
    else sessionStorage.removeItem(kept);
  } catch {
    /* as above */
  }
};

export class Refused extends Error {}

const pause = (seconds, signal) =>
  new Promise((go, stop) => {
    const timer = setTimeout(go, 1000 * seconds);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        stop(signal.reason);
      },
      { once: true },
    );
  });

const sentence = async (answer) => {
  try {
    const { error, detail } = await answer.json();
    const told = error?.message ?? error ?? detail;
    if (typeof told === "string" && told) return told;
  } catch {
    /* not JSON */
  }
  return `The server answered ${answer.status}. Try again, or look at what it printed.`;
};

// Ask once; when the server is full, wait as long as it says and ask again, twice at most.
export const ask = async (path, body, signal, tries = 3) => {
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`api/${path}`, {
      method: body ? "POST" : "GET",
      headers,
      body: body && JSON.stringify(body),
      signal,
      credentials: "omit",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused("The server does not answer. See whether it is still running, then try again.");
  }
  if (answer.status === 202) {
    // it is being made
    await pause(Math.min(10, Number(answer.headers.get("Retry-After")) || 1), signal);
    return ask(path, body, signal, tries);
  }
  if (answer.ok) return answer.json();
  if (answer.status === 401) {
    await wanted(await sentence(answer));
    return ask(path, body, signal, tries);
  }
  if (answer.status === 429 && tries > 1) {
    await pause(Math.min(10, Number(answer.headers.get("Retry-After")) || 1), signal);
    return ask(path, body, signal, tries - 1);
  }
  throw new Refused(await sentence(answer));
};

// Return a function that runs one question at a time: the one before is cancelled, and its answer, should it still come, is null.
export const latest = () => {
  let last = null;
  return async (run) => {
    last?.abort();
    const own = (last = new AbortController());
    try {
      const found = await run(own.signal);
      return own === last ? found : null;
    } catch (error) {
      if (own !== last || own.signal.aborted) return null;
      throw error;
    }
  };
};

// ---- the key ----
const dialog = document.getElementById("key"),
  field = document.getElementById("key-field");
let waiting = null;

const wanted = (told) => {
  const tried = key !== "";
  document.getElementById("key-button").hidden = false;
  document.getElementById("key-told").textContent = tried
    ? told
    : "Whoever runs it gave you one. It is kept until this tab is closed.";
  document.getElementById("key-forget").textContent = tried ? "Forget it" : "Cancel";
  waiting ??= new Promise((go, stop) => {
    dialog.returnValue = field.value = "";
    dialog.showModal();
    field.focus();
    dialog.addEventListener(
      "close",
      () => {
        waiting = null;
        const typed = dialog.returnValue === "use" ? field.value.trim() : "";
        field.value = "";
        if (typed) {
          keep(typed);
          go();
        } else stop(new Refused("This server asks for a key. Press the key at the top right to give it."));
      },
      { once: true },
    );
  });
  return waiting;
};

export const askForKey = (done) => wanted("Give the key to use from now on.").then(done, () => {});

document.getElementById("key-forget").addEventListener("click", () => {
  keep("");
  dialog.close("forgotten");
});
