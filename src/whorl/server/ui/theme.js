// Light, dark, or as the system has it; remembered in this browser.

const ORDER = ["system", "light", "dark"];
const KEY = "whorl-theme";

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function theme() {
  return ORDER.includes(stored()) ? stored() : "system";
}

export function applyTheme(wanted = theme()) {
  if (wanted === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
}

export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing still changes its colours until it is closed.
  }
  applyTheme(next);
  return next;
}
