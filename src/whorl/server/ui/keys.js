// What the keyboard does, and the page of help that says so.

import { announce, dialogOpen, show } from "./dialog.js";
import { h } from "./dom.js";
import { go, route } from "./router.js";
import { nextTheme } from "./theme.js";
import { TABS } from "./pages/tabs.js";

const SHORTCUTS = [
  ["g j", "Jobs"], ["g b", "Tables"], ["g t", "Task managers"], ["g s", "Submit a pipeline"], ["/", "Filter what is shown"],
  ["[ and ]", "The tab before and after, on a job's page"], ["c", "Colours: as the system, light, dark"],
  ["Tab, Shift Tab", "From one control to the next"], ["Enter, Space", "Press what has the focus"],
  ["Esc", "Close a dialog, or leave a field"], ["?", "This help"],
];
const PLACES = { j: "jobs", b: "tables", t: "taskmanagers", s: "submit" };
let waiting = 0;

export function listenToKeys(redraw) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialogOpen()) return;
    if (event.target.matches("input, textarea, select")) return event.key === "Escape" && event.target.type !== "search" && event.target.blur();
    if (act(event.key, redraw)) event.preventDefault();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
}

function act(key, redraw) {
  const second = Date.now() - waiting < 1200;
  waiting = key === "g" ? Date.now() : 0;
  if (second && PLACES[key]) return go(PLACES[key]) ?? true;
  if (key === "?") return showHelp() ?? true;
  if (key === "/") return focusFilter();
  if (key === "[" || key === "]") return turnTab(key === "]" ? 1 : -1);
  if (key === "c") {
    announce(`Colours: ${nextTheme()}`);
    return redraw() ?? true;
  }
  return false;
}

function focusFilter() {
  const filter = document.getElementById("filter");
  filter?.focus();
  filter?.select();
  return Boolean(filter);
}

function turnTab(step) {
  const { page, parts } = route();
  if (page !== "jobs" || !parts.length) return false;
  const names = TABS.map(([name]) => name);
  const at = Math.max(0, names.indexOf(parts[1] ?? names[0]));
  go("jobs", parts[0], names[(at + step + names.length) % names.length]);
  return true;
}

export function showHelp() {
  const lines = SHORTCUTS.map(([keys, does]) => [
    h("dt", {}, keys.split(" ").map((key) => (key.match(/^(and|,)$/) ? ` ${key} ` : h("kbd", {}, key.replace(",", ""))))),
    h("dd", {}, does),
  ]);
  show({ title: "Keyboard", view: () => h("dl", { class: "shortcuts" }, lines) });
}
