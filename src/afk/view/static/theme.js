// Light or dark: what the system says, until somebody chooses.

const NAME = "afk-theme";

export function changeTheme() {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // A page from the disk may not be allowed to keep anything.
  }
}

// What was chosen before; `show` is called when the system's choice changes.
export function setUpTheme(show) {
  try {
    const kept = localStorage.getItem(NAME);
    if (kept) document.documentElement.dataset.theme = kept;
  } catch {
    // The same.
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
}
