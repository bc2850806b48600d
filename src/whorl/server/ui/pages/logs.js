// The tail of a job's log. It follows the end while the reader is at the end.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty, search, toggle } from "../parts.js";

const MOST = 2000;
const LEVELS = ["debug", "info", "warning", "error"];
const tails = new Map();
const shown = { level: "debug", words: "", follow: true };

export const logs = {
  async load(base) {
    const before = tails.get(base) ?? [];
    const lines = await get(`${base}/logs?after=${before.at(-1)?.number ?? 0}&limit=${MOST}`);
    const tail = [...before, ...lines].slice(-MOST);
    tails.set(base, tail);
    return tail;
  },
  view(tail, job, context) {
    const change = (name, value) => {
      shown[name] = value;
      context.redraw();
    };
    const lines = tail.filter((line) => rank(line.level) >= rank(shown.level) && matches(line));
    return [
      h("div", { class: "filters" },
        search("Filter the log  ( / )", shown.words, (words) => change("words", words)),
        h("div", { class: "chips", role: "group", "aria-label": "Least level" }, LEVELS.map((level) => toggle(level, shown.level === level, () => change("level", level)))),
        toggle("follow", shown.follow, (on) => change("follow", on))),
      lines.length ? list(lines) : empty(tail.length ? "No line matches." : "The log is empty so far."),
    ];
  },
};

const rank = (level) => Math.max(0, LEVELS.indexOf({ warn: "warning", critical: "error", fatal: "error" }[level.toLowerCase()] ?? level.toLowerCase()));
const matches = (line) => `${line.message} ${line.component} ${line.task_manager}`.toLowerCase().includes(shown.words.toLowerCase());

function list(lines) {
  const follow = (element) => requestAnimationFrame(() => shown.follow && (element.scrollTop = element.scrollHeight));
  const last = lines.at(-1).number;
  return h(
    "div",
    { class: "log", role: "log", tabindex: "0", "aria-label": "Log", "data-last": last, oncreate: (element) => (follow(element), new MutationObserver(() => follow(element)).observe(element, { attributes: true, attributeFilter: ["data-last"] })), onscroll: (event) => (shown.follow = atEnd(event.target)) },
    lines.map(line),
  );
}

const atEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 40;

function line(each) {
  return h(
    "div",
    { key: each.number, class: `log-line level-${LEVELS[rank(each.level)]}` },
    h("time", { title: format.moment(each.at) }, format.clock(each.at, true)),
    h("span", { class: "level" }, each.level.toUpperCase()),
    h("span", { class: "who" }, [each.component, each.batch !== null && `#${each.batch}`].filter(Boolean).join(" ")),
    h("span", { class: "message" }, each.message),
  );
}
