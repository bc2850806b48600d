// Task managers: the processes that run jobs, where they are, what they hold, and when they were last heard of.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { badge, empty, meter, past, stat } from "../parts.js";
import { link } from "../router.js";
import { table } from "../table.js";

export const taskManagers = {
  every: 2,
  title: () => "Task managers",
  load: () => get("taskmanagers"),
  view(list, context) {
    const lost = list.filter((each) => each.status === "lost").length;
    return [
      h("div", { class: "page-head" }, h("h1", {}, "Task managers")),
      h("dl", { class: "stats" }, stat("Task managers", list.length), stat("Busy", list.filter((each) => each.status === "busy").length), stat("Idle", list.filter((each) => each.status === "idle").length), stat("Lost", lost), stat("Slots", list.reduce((sum, each) => sum + each.slots, 0))),
      table(columns, list, { label: "Task managers", key: (each) => each.id, order: "id", redraw: context.redraw, mark: (each) => (each.status === "lost" ? "marked" : ""), empty: empty("No task manager has joined.", "The server starts its own; others join with ", h("code", {}, "whorl taskmanager --join URL"), ".") }),
    ];
  },
};

const columns = [
  { name: "status", label: "Status", of: (each) => each.status, show: (each) => badge(each.status) },
  { name: "id", label: "Task manager", of: (each) => each.id, show: (each) => h("code", {}, each.id) },
  { name: "host", label: "Host", of: (each) => each.host, show: (each) => `${each.host} · pid ${each.pid}` },
  { name: "kind", label: "Started by", of: (each) => String(each.local), show: (each) => (each.local ? "the server" : "joined") },
  { name: "job", label: "Job", of: (each) => each.job, show: (each) => (each.job ? h("a", { href: link("jobs", each.job) }, h("code", {}, each.job)) : format.NONE) },
  { name: "components", label: "Components", wide: true, of: (each) => each.components.length, show: (each) => each.components.join(", ") || format.NONE },
  { name: "slots", label: "Slots", number: true, of: (each) => each.slots, show: (each) => format.count(each.slots) },
  { name: "load", label: "Load", number: true, of: (each) => each.load, show: (each) => meter(each.load, "share of a core"), title: "share of a core that it takes" },
  { name: "heartbeat", label: "Heartbeat", number: true, of: (each) => each.heartbeat_age, show: (each) => `${each.heartbeat_age.toFixed(1)} s ago` },
  { name: "since", label: "Since", number: true, of: (each) => each.since, show: (each) => past(each.since) },
];
