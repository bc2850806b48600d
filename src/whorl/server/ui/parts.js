// What several pages are made of: states with a sign and a word, bars, boxes for what is empty, wrong, gone or on its way.

import { h } from "./dom.js";
import * as format from "./format.js";
import { icon } from "./icons.js";

/** Kind of colour, and sign, of each state of a job, component, health, task manager or operation. */
const LOOKS = {
  RUNNING: ["good", "run"], FINISHED: ["calm", "end"], CREATED: ["calm", "wait"], RESTARTING: ["warn", "turn"],
  SUSPENDED: ["calm", "pause"], FAILED: ["bad", "alert"], CANCELED: ["calm", "cross"],
  WAITING: ["calm", "wait"], STARTING: ["warn", "turn"], STOPPED: ["calm", "pause"], LOST: ["bad", "lost"], DONE: ["good", "ok"],
  ok: ["good", "ok"], starting: ["warn", "turn"], degraded: ["warn", "alert"], failed: ["bad", "alert"], none: ["calm", "pause"],
  idle: ["calm", "wait"], busy: ["good", "run"], lost: ["bad", "lost"], leaving: ["warn", "end"],
};
const WORDS = { none: "not running" };

export const look = (state) => LOOKS[state] ?? ["calm", "help"];

export function badge(state, title) {
  const [kind, sign] = look(state);
  return h("span", { class: `badge ${kind}`, title }, icon(sign), h("span", {}, WORDS[state] ?? state));
}

/** A share of 0 to 1 as a bar with its number. */
export function meter(value, label) {
  if (value === null || value === undefined) return format.NONE;
  const kind = value > 0.9 ? "warn" : "good";
  const bar = h("span", { class: `bar ${kind}`, style: { "--share": `${Math.min(100, Math.max(0, value * 100))}%` } });
  return h("span", { class: "meter", title: label }, bar, h("span", { class: "num" }, format.share(value)));
}

/** A moment in the past: how long ago, with the exact time at hand. */
export function past(at) {
  if (at === null || at === undefined) return h("span", { class: "none" }, format.NONE);
  return h("time", { datetime: new Date(at * 1000).toISOString(), title: new Date(at * 1000).toString() }, format.ago(at));
}

export function box(kind, title, ...content) {
  const sign = { bad: "alert", warn: "alert", calm: "help", good: "ok" }[kind];
  const role = kind === "bad" ? "alert" : undefined;
  return h("div", { class: `box ${kind}`, role }, icon(sign), h("div", {}, h("strong", {}, title), ...content));
}

export const empty = (title, ...content) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), content.length > 0 && h("p", {}, ...content));

export function loading(what) {
  const lines = [90, 70, 80, 55].map((width) => h("span", { class: "skeleton", style: { width: `${width}%` } }));
  return h("div", { class: "loading", role: "status", "aria-busy": "true" }, h("span", { class: "visually-hidden" }, `Loading ${what} …`), lines);
}

/** What the server says is wrong: sentence, code, hint. */
export function problem(error) {
  return box("bad", error.message, problemDetail(error));
}

export function problemDetail(error) {
  return [
    error.hint && h("p", { class: "hint" }, error.hint),
    error.code && h("p", {}, h("code", { class: "code" }, error.code), error.status ? ` · HTTP ${error.status}` : ""),
  ];
}

export function stat(label, value, note) {
  return h("div", { class: "stat" }, h("dt", {}, label), h("dd", {}, value, note && h("small", {}, note)));
}

export function button(label, onclick, { kind = "", sign, title, disabled } = {}) {
  return h("button", { type: "button", class: `button ${kind}`, onclick, title, disabled }, sign && icon(sign), h("span", {}, label));
}

export function section(title, aside, ...content) {
  return h("section", { class: "panel" }, h("header", { class: "panel-head" }, h("h2", {}, title), aside), ...content);
}

/** A button that is on or off. */
export function toggle(label, on, change, note) {
  return h(
    "button",
    { type: "button", class: "chip", "aria-pressed": String(on), onclick: () => change(!on) },
    h("span", {}, label),
    note !== undefined && h("span", { class: "num" }, note),
  );
}

export function search(label, value, change, id = "filter") {
  return h(
    "span",
    { class: "search" },
    icon("search"),
    h("input", { id, type: "search", placeholder: label, "aria-label": label, value, oninput: (event) => change(event.target.value), autocomplete: "off", spellcheck: "false" }),
  );
}
