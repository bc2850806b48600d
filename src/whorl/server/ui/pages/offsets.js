// Offsets and lag of every topic partition that a component reads.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty } from "../parts.js";
import { table } from "../table.js";

export const offsets = {
  load: (base) => get(`${base}/offsets`),
  view(list, job, context) {
    if (!list.length) return empty("No offset is known.", "They are listed when the job has read something.");
    return [table(totals(), byTopic(list), { label: "Topics", key: (each) => each.key, order: "-lag", redraw: context.redraw }), h("h2", { class: "sub" }, "By partition"), table(columns(list), list, { label: "Topic partitions", key: keyOf, order: "-lag", redraw: context.redraw })];
  },
};

const keyOf = (each) => `${each.component} ${each.topic} ${each.partition}`;

function byTopic(list) {
  const groups = new Map();
  for (const each of list) {
    const key = `${each.component} ${each.topic}`;
    const sum = groups.get(key) ?? { key, component: each.component, group: each.group, topic: each.topic, partitions: 0, lag: null, latest: 0 };
    groups.set(key, { ...sum, partitions: sum.partitions + 1, lag: each.lag === null ? sum.lag : (sum.lag ?? 0) + each.lag, latest: sum.latest + (each.latest ?? 0) });
  }
  return [...groups.values()];
}

const totals = () => [
  { name: "topic", label: "Topic", wide: true, of: (each) => each.topic, show: (each) => h("strong", {}, each.topic) },
  { name: "component", label: "Read by", of: (each) => each.component, show: (each) => each.component },
  { name: "group", label: "Group", of: (each) => each.group, show: (each) => h("code", {}, each.group) },
  { name: "partitions", label: "Partitions", number: true, of: (each) => each.partitions, show: (each) => format.count(each.partitions) },
  { name: "latest", label: "Records", number: true, of: (each) => each.latest, show: (each) => format.count(each.latest), title: "sum of the latest offsets" },
  { name: "lag", label: "Lag", number: true, of: (each) => each.lag, show: (each) => format.count(each.lag) },
];

const columns = (list) => {
  const most = Math.max(1, ...list.map((each) => each.lag ?? 0));
  const bar = (each) => h("span", { class: "bar", style: { "--share": `${((each.lag ?? 0) / most) * 100}%` } });
  return [
    { name: "topic", label: "Topic", wide: true, of: (each) => `${each.topic} ${each.partition}`, show: (each) => each.topic },
    { name: "partition", label: "Partition", number: true, of: (each) => each.partition, show: (each) => each.partition },
    { name: "component", label: "Read by", of: (each) => each.component, show: (each) => each.component },
    { name: "earliest", label: "Earliest", number: true, of: (each) => each.earliest, show: (each) => format.count(each.earliest) },
    { name: "committed", label: "Committed", number: true, of: (each) => each.committed, show: (each) => format.count(each.committed) },
    { name: "latest", label: "Latest", number: true, of: (each) => each.latest, show: (each) => format.count(each.latest) },
    { name: "lag", label: "Lag", number: true, of: (each) => each.lag, show: (each) => h("span", { class: "meter" }, bar(each), h("span", { class: "num" }, format.count(each.lag))) },
  ];
};
