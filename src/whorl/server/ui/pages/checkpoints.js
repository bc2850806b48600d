// The newest commit or checkpoint of each component, and the savepoints of the job.

import { can } from "../acts.js";
import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import * as orders from "../orders.js";
import { button, empty, past, section } from "../parts.js";
import { table } from "../table.js";

export const checkpoints = {
  load: (base) => get(`${base}/checkpoints`),
  view(data, job, context) {
    const take = can.savepoint(job) && button("Take a savepoint", () => orders.savepoint(job, context.refresh), { sign: "save", kind: "small" });
    return [
      section("Savepoints", take, table(savepointColumns(job, context), data.savepoints, { label: "Savepoints", key: (each) => each.folder || each.name, order: "-at", redraw: context.redraw, empty: empty("No savepoint yet.", "Stop takes one, and so does the button above.") })),
      section("Newest commits and checkpoints", null, table(columns, data.checkpoints, { label: "Checkpoints", key: (each) => each.component, redraw: context.redraw, empty: empty("Nothing is committed yet.") })),
    ];
  },
};

const columns = [
  { name: "component", label: "Component", of: (each) => each.component, show: (each) => h("strong", {}, each.component) },
  { name: "kind", label: "Kind", of: (each) => each.kind, show: (each) => each.kind },
  { name: "number", label: "Number", number: true, of: (each) => each.number, show: (each) => format.count(each.number) },
  { name: "at", label: "When", number: true, of: (each) => each.at, show: (each) => past(each.at) },
  { name: "ms", label: "Took", number: true, of: (each) => each.ms, show: (each) => format.millis(each.ms) },
  { name: "where", label: "Where", wide: true, of: (each) => each.where, show: (each) => h("code", { class: "break" }, each.where || format.NONE) },
];

const savepointColumns = (job, context) => [
  { name: "name", label: "Savepoint", of: (each) => each.name, show: (each) => h("strong", {}, each.name) },
  { name: "at", label: "Taken", number: true, of: (each) => each.at, show: (each) => past(each.at) },
  { name: "entries", label: "Entries", number: true, of: (each) => each.entries, show: (each) => format.count(each.entries), title: "of state" },
  { name: "records", label: "Records", number: true, of: (each) => each.records, show: (each) => format.count(each.records), title: "in flight" },
  { name: "bytes", label: "Size", number: true, of: (each) => each.bytes, show: (each) => format.bytes(each.bytes) },
  { name: "folder", label: "Folder", wide: true, of: (each) => each.folder, show: (each) => h("code", { class: "break" }, each.folder) },
  { name: "act", label: "Acts", show: (each) => can.resume(job) && button("Resume from it", () => orders.resume(job, context.refresh, each.folder || each.name), { sign: "run", kind: "small" }) },
];
