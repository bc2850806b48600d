// Logical partitions: where each one is, what waits for it, and how often, when, where and of what it has failed.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty, past, toggle } from "../parts.js";
import { table } from "../table.js";
import { failure } from "./failures.js";

const open = new Set();
let onlyFailed = false;

export const partitions = {
  async load(base) {
    const [list, failures] = await Promise.all([get(`${base}/partitions`), get(`${base}/exceptions`)]);
    return { list, failures };
  },
  view,
};

const keyOf = (each) => `${each.component} ${each.lp}`;

function view({ list, failures }, job, context) {
  if (!list.length) return empty("No logical partition is placed.", "They are listed when the job runs.");
  const failed = list.filter((each) => each.failures);
  const change = (on) => {
    onlyFailed = on;
    context.redraw();
  };
  return [
    h("div", { class: "filters" }, toggle("only with failures", onlyFailed, change, failed.length), h("span", { class: "foot" }, `${format.plural(list.length, "logical partition")}, ${failed.length} of them failed at least once`)),
    maps(list, context),
    table(columns(context), onlyFailed ? failed : list, {
      label: "Logical partitions", key: keyOf, order: "-failures", redraw: context.redraw, mark: (each) => (each.failures ? "marked" : ""),
      expanded: (each) => open.has(keyOf(each)) && history(each, failures), empty: empty("None has failed."),
    }),
  ];
}

/** One square for each, so that a pattern is seen at once: the number of failures stands in those that have any. */
function maps(list, context) {
  const components = [...new Set(list.map((each) => each.component))];
  return h("div", { class: "maps" }, components.map((component) => map(component, list.filter((each) => each.component === component), context)));
}

function map(component, list, context) {
  const most = Math.max(1, ...list.map((each) => each.lag ?? 0));
  return h("section", { key: component, class: "map", "aria-label": `Partitions of ${component}` }, h("h3", {}, component), h("div", { class: "cells" }, list.map((each) => cell(each, most, context))));
}

function cell(each, most, context) {
  const told = `partition ${each.lp}: ${format.plural(each.failures, "failure")}, lag ${format.short(each.lag)}${each.task === null ? "" : `, task ${each.task}`}`;
  const level = Math.round(((each.lag ?? 0) / most) * 4);
  return h("button", { type: "button", key: each.lp, class: `cell lag-${level} ${each.failures ? "failed" : ""}`, title: told, "aria-label": told, onclick: () => flip(each, context) }, each.failures ? `${each.failures}!` : "");
}

function flip(each, context) {
  open.has(keyOf(each)) ? open.delete(keyOf(each)) : open.add(keyOf(each));
  context.redraw();
}

const columns = (context) => [
  { name: "component", label: "Component", of: (each) => each.component, show: (each) => each.component },
  { name: "lp", label: "Partition", number: true, of: (each) => each.lp, show: (each) => each.lp },
  { name: "task", label: "Task", number: true, of: (each) => each.task, show: (each) => each.task ?? format.NONE },
  { name: "host", label: "Where", of: (each) => each.host, show: (each) => (each.host ? `${each.host}${each.pid ? ` · pid ${each.pid}` : ""}` : format.NONE) },
  { name: "lag", label: "Lag", number: true, of: (each) => each.lag, show: (each) => format.count(each.lag) },
  { name: "failures", label: "Failures", number: true, of: (each) => each.failures, show: (each) => (each.failures ? h("strong", { class: "bad-text" }, format.count(each.failures)) : "0") },
  { name: "when", label: "Last failure", of: (each) => each.last_failure?.at, show: (each) => (each.last_failure ? past(each.last_failure.at) : format.NONE) },
  { name: "error", label: "Error", wide: true, show: (each) => each.last_failure && error(each, context) },
];

function error(each, context) {
  const last = each.last_failure;
  return h("button", { type: "button", class: "linkish", "aria-expanded": String(open.has(keyOf(each))), onclick: () => flip(each, context) }, last.where && h("code", {}, last.where), " ", last.error);
}

/** All failures that name the partition; the newest one, where the server no longer has them. */
function history(each, failures) {
  const own = failures.filter((one) => one.component === each.component && one.lps.includes(each.lp)).sort((one, other) => other.at - one.at);
  const told = own.length ? own : [each.last_failure].filter(Boolean);
  if (!told.length) return h("p", {}, "It has not failed.");
  return [h("p", { class: "foot" }, `Partition ${each.lp} of ${each.component}: failed ${each.failures} times; ${told.length} of them known in full`), told.map((one) => failure(one))];
}
