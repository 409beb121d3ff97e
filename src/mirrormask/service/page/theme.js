// Light or dark: as the system has it, until the switch says otherwise. Run before the page is drawn, so that it never flashes.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)"),
    kept = "mirrormask-theme";
  const remembered = () => {
    try {
      return localStorage.getItem(kept);
    } catch {
      return null;
    }
  };
  const put = (theme) => {
    document.documentElement.dataset.theme = theme;
    document.getElementById("theme")?.setAttribute("aria-pressed", theme === "dark");
    document.dispatchEvent(new CustomEvent("theme"));
  };
  const now = () => remembered() ?? (system.matches ? "dark" : "light");
  put(now());
  system.addEventListener("change", () => put(now()));
  document.addEventListener("DOMContentLoaded", () => {
    put(now());
    document.getElementById("theme").addEventListener("click", () => {
      const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(kept, theme);
      } catch {
        /* a browser that keeps nothing still switches */
      }
      put(theme);
    });
  });
})();
