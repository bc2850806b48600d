// One job: how it is, what can be done to it, and eleven views of it.

import { get, path } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { badge, box, button, empty, meter, past, stat } from "../parts.js";
import { can } from "../acts.js";
import * as orders from "../orders.js";
import { link } from "../router.js";
import { charts } from "./charts.js";
import { checkpoints } from "./checkpoints.js";
import { components } from "./components.js";
import { config } from "./config.js";
import { exceptions } from "./exceptions.js";
import { feedback } from "./feedback.js";
import { graph } from "./graph.js";
import { logs } from "./logs.js";
import { offsets } from "./offsets.js";
import { partitions } from "./partitions.js";
import { state } from "./state.js";
import { TABS } from "./tabs.js";

/** Each: load(path) -> data, view(data, job, context). */
const VIEWS = { graph, components, partitions, offsets, checkpoints, charts, feedback, exceptions, logs, state, config };

const tabOf = (route) => (VIEWS[route.parts[1]] ? route.parts[1] : TABS[0][0]);

export const job = {
  title: (route, data) => `${data?.job.name ?? route.parts[0]} · ${TABS.find(([name]) => name === tabOf(route))[1]}`,
  async load(route) {
    const [tab, base] = [tabOf(route), path("jobs", route.parts[0])];
    const [said, own] = await Promise.all([get(base), VIEWS[tab].load(base, route)]);
    return { job: said, tab, own };
  },
  view,
  gone,
  keeps: (before, after) => tabOf(before) !== tabOf(after),
};

function view(data, context) {
  const tab = tabOf(context.route);
  return [
    head(data.job, context),
    figures(data.job),
    notes(data.job),
    tabs(data.job, tab),
    h("div", { class: "tab", key: tab }, data.tab === tab ? VIEWS[tab].view(data.own, data.job, context) : h("div", { class: "loading", "aria-busy": "true" }, h("span", { class: "skeleton" }))),
  ];
}

function head(job, context) {
  const act = (name) => () => orders[name](job, context.refresh);
  const offer = [
    ["resume", "Resume", "run", "primary"], ["savepoint", "Savepoint", "save", ""], ["rescale", "Rescale", "scale", ""], ["stop", "Stop", "pause", ""], ["cancel", "Cancel", "stop", "danger-quiet"], ["remove", "Delete", "trash", "danger-quiet"],
  ];
  return h(
    "div",
    { class: "page-head" },
    h("div", { class: "job-head" },
      h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: link("jobs") }, "Jobs"), " / ", h("code", {}, job.id)),
      h("h1", {}, job.name, badge(job.status), job.health !== "none" && badge(job.health, "health: as well as its worst component"))),
    h("div", { class: "acts", role: "group", "aria-label": "Acts" }, offer.filter(([name]) => can[name](job)).map(([name, label, sign, kind]) => h("span", { key: name }, button(label, act(name), { sign, kind })))),
  );
}

function figures(job) {
  return h(
    "dl",
    { class: "stats" },
    stat("In", format.rate(job.rate_in)),
    stat("Out", format.rate(job.rate_out)),
    stat("Lag", format.short(job.lag)),
    stat("Busy", meter(job.busy)),
    stat("State", format.bytes(job.state_bytes)),
    stat("Batch", format.millis(job.batch_ms)),
    stat("Restarts", format.count(job.restarts)),
    job.started && !job.ended ? stat("Runs for", format.duration(format.now() - job.started)) : stat(job.ended ? "Ended" : "Created", past(job.ended ?? job.created)),
  );
}

function notes(job) {
  const kind = job.status === "FAILED" ? "bad" : job.health === "failed" || job.health === "degraded" || job.status === "RESTARTING" ? "warn" : "calm";
  return [
    job.reason && box(kind, job.reason),
    job.notices.map((notice) => box("calm", notice)),
  ];
}

function tabs(job, current) {
  const one = ([name, label]) => h("a", { href: link("jobs", job.id, name), "aria-current": name === current ? "page" : undefined, key: name }, label);
  return h("nav", { class: "tabs", "aria-label": "Views of the job" }, TABS.map(one));
}

function gone(error, context) {
  return empty("There is no such job.", error.message, " ", h("a", { href: link("jobs") }, "All jobs"), ". It was deleted, or the address has a typing error: ", h("code", {}, context.route.parts[0]));
}
