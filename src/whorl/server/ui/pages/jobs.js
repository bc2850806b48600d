// All jobs with their health: sorted, filtered by status and by words.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { icon } from "../icons.js";
import { badge, empty, meter, past, search, toggle } from "../parts.js";
import { link, remember } from "../router.js";
import { table } from "../table.js";

const STATUSES = ["RUNNING", "RESTARTING", "CREATED", "FAILED", "SUSPENDED", "FINISHED", "CANCELED"];
const BADNESS = ["none", "ok", "starting", "degraded", "failed"];

export const jobs = {
  title: () => "Jobs",
  load: async () => (await get("jobs")).jobs,
  view,
};

function view(all, context) {
  const { options } = context.route;
  const change = (name) => (value) => {
    value ? options.set(name, value) : options.delete(name);
    remember({ [name]: value });
    context.redraw();
  };
  const wanted = options.get("status");
  const shown = all.filter((job) => (!wanted || job.status === wanted) && matches(job, options.get("filter") ?? ""));
  return [
    h("div", { class: "page-head" }, h("h1", {}, "Jobs"), h("a", { class: "button primary", href: link("submit") }, icon("plus"), h("span", {}, "Submit a pipeline"))),
    all.length > 0 && h("div", { class: "filters" }, search("Filter by name, id or reason  ( / )", options.get("filter") ?? "", change("filter")), chips(all, wanted, change("status"))),
    all.length > 0 ? list(shown, context) : none(),
    all.length > 0 && h("p", { class: "foot", role: "status" }, shown.length === all.length ? format.plural(all.length, "job") : `${shown.length} of ${format.plural(all.length, "job")}`),
  ];
}

function matches(job, words) {
  const text = `${job.name} ${job.id} ${job.pipeline} ${job.reason}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function chips(all, wanted, change) {
  const present = STATUSES.map((status) => [status, all.filter((job) => job.status === status).length]).filter(([status, number]) => number || status === wanted);
  return h("div", { class: "chips", role: "group", "aria-label": "Status" }, present.map(([status, number]) => toggle(status.toLowerCase(), status === wanted, (on) => change(on ? status : ""), number)));
}

function none() {
  return empty("No job yet.", "Submit one here, or on the command line with ", h("code", {}, "whorl submit pipeline.yaml"), ".");
}

const COLUMNS = [
  { name: "status", label: "Status", of: (job) => STATUSES.indexOf(job.status), show: (job) => badge(job.status) },
  { name: "name", label: "Job", wide: true, of: (job) => job.name, show: name },
  { name: "health", label: "Health", of: (job) => BADNESS.indexOf(job.health), show: (job) => badge(job.health) },
  { name: "in", label: "In", number: true, of: (job) => job.rate_in, show: (job) => format.rate(job.rate_in), title: "records read a second" },
  { name: "out", label: "Out", number: true, of: (job) => job.rate_out, show: (job) => format.rate(job.rate_out), title: "records written a second" },
  { name: "lag", label: "Lag", number: true, of: (job) => job.lag, show: (job) => format.short(job.lag), title: "records that wait" },
  { name: "busy", label: "Busy", number: true, of: (job) => job.busy, show: (job) => meter(job.busy, "share of its time at work") },
  { name: "state", label: "State", number: true, of: (job) => job.state_bytes, show: (job) => format.bytes(job.state_bytes) },
  { name: "batch", label: "Batch", number: true, of: (job) => job.batch_ms, show: (job) => format.millis(job.batch_ms), title: "time of a commit or batch" },
  { name: "restarts", label: "Restarts", number: true, of: (job) => job.restarts, show: (job) => format.count(job.restarts) },
  { name: "since", label: "Since", number: true, of: since, show: (job) => past(since(job)), title: "since when it is in this status" },
];

function name(job) {
  return h(
    "div",
    { class: "job-name" },
    h("a", { href: link("jobs", job.id) }, job.name),
    h("code", { class: "id" }, job.id),
    job.reason && h("span", { class: "reason", title: job.reason }, job.reason),
  );
}

function since(job) {
  return job.ended ?? job.started ?? job.created;
}

function list(shown, context) {
  return table(COLUMNS, shown, { label: "Jobs", key: (job) => job.id, order: "-health", redraw: context.redraw, empty: empty("No job matches.") });
}
