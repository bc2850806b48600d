// Components: what runs where, how it fares, and a restart of each.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import * as orders from "../orders.js";
import { badge, button, empty, meter, past } from "../parts.js";
import { table } from "../table.js";

export const components = {
  load: (base) => get(`${base}/components`),
  view: (list, job, context) =>
    table(columns(job, context), list, {
      label: "Components", key: (each) => each.id, redraw: context.redraw, expanded: (each) => detail(each),
      empty: empty("No component runs.", "They are listed here when the job has been given to a task manager."),
    }),
};

const columns = (job, context) => [
  { name: "status", label: "Status", of: (each) => each.status, show: (each) => badge(each.status, each.step) },
  { name: "id", label: "Component", wide: true, of: (each) => each.id, show: (each) => h("div", { class: "job-name" }, h("strong", {}, each.id), h("span", { class: "id" }, each.operators.join(" → "))) },
  { name: "health", label: "Health", of: (each) => each.health, show: (each) => badge(each.health) },
  { name: "where", label: "Runs on", of: (each) => each.task_manager, show: (each) => h("div", { class: "job-name" }, h("span", {}, each.task_manager || format.NONE), h("span", { class: "id" }, where(each))) },
  { name: "in", label: "In", number: true, of: (each) => each.rate_in, show: (each) => format.rate(each.rate_in) },
  { name: "out", label: "Out", number: true, of: (each) => each.rate_out, show: (each) => format.rate(each.rate_out) },
  { name: "lag", label: "Lag", number: true, of: (each) => each.lag, show: (each) => format.short(each.lag) },
  { name: "busy", label: "Busy", number: true, of: (each) => each.busy, show: (each) => meter(each.busy) },
  { name: "batch", label: "Batch", number: true, of: (each) => each.batch_ms, show: (each) => format.millis(each.batch_ms) },
  { name: "failures", label: "Failures", number: true, of: (each) => each.failures, show: (each) => format.count(each.failures) },
  { name: "act", label: "Acts", show: (each) => button("Restart", () => orders.restart(job, each.id, context.refresh), { sign: "turn", kind: "small" }) },
];

function where(each) {
  return each.host === "query" ? "query of Spark" : `${format.plural(each.tasks, "task")} · ${each.logical_partitions} lps · layout ${each.layout ?? format.NONE}`;
}

function detail(each) {
  const latency = Object.entries(each.latency_ms).map(([name, value]) => `${name} ${format.millis(value)}`).join(" · ");
  const pairs = [
    ["now", each.step], ["since", each.since ? past(each.since) : ""], ["read", format.count(each.read)], ["written", format.count(each.written)], ["dead letters", format.count(each.dead)],
    ["state", each.state_bytes === null ? "" : `${format.count(each.state_keys)} keys, ${format.bytes(each.state_bytes)}`], ["latency", latency], ["watermark", each.watermark === null ? "" : format.moment(each.watermark)],
  ];
  return [
    h("dl", { class: "inline-pairs" }, pairs.filter(([, value]) => value !== "").map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value)))),
    each.last_error && h("p", { class: "error-line" }, each.last_error),
  ];
}
