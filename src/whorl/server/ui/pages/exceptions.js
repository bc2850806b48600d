// What went wrong, newest first; the same error again and again is told once, with how often.

import { get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty } from "../parts.js";
import { failure } from "./failures.js";

export const exceptions = {
  load: (base) => get(`${base}/exceptions`),
  view(list) {
    if (!list.length) return empty("No failure since the job was submitted.");
    const groups = grouped(list);
    return h("div", { class: "failures" }, h("p", { class: "foot" }, `${format.plural(list.length, "failure")}, ${format.plural(groups.length, "kind")}`), groups.map(group));
  },
};

export function grouped(list) {
  const groups = new Map();
  for (const each of [...list].sort((one, other) => other.at - one.at)) {
    const key = [each.component, each.where, each.error, each.code].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups].map(([key, same]) => ({ key, same }));
}

function group({ key, same }) {
  const times = same.length > 1 && h("p", { class: "failure-times" }, h("strong", {}, `${same.length} times`), `, first ${format.moment(same.at(-1).at)}`);
  return h("div", { key, class: "failure-group" }, times, failure(same[0]));
}
