// What could be better in how the job runs: what was seen, and which setting changes it.

import { Problem, get } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty } from "../parts.js";

export const feedback = {
  async load(base) {
    try {
      return { found: await get(`${base}/feedback`) };
    } catch (error) {
      if (error instanceof Problem && error.code === "no-history") return { unknown: error };
      throw error;
    }
  },
  view({ found, unknown }) {
    if (unknown) return empty("Nothing is known yet of how the job runs.", unknown.hint);
    if (!found.length) return empty("Nothing to change.", "No rule found anything in what the job told within the hour.");
    return h("div", { class: "failures" }, h("p", { class: "foot" }, `${format.plural(found.length, "finding")} in what the job told within the hour`), found.map(advice));
  },
};

function advice(each) {
  return h(
    "article",
    { class: "advice", key: `${each.rule} ${each.component}` },
    h("h2", {}, each.component ? `${each.component}: ${each.finding}` : each.finding),
    h("dl", {}, h("dt", {}, "seen"), h("dd", {}, each.evidence), h("dt", {}, "change"), h("dd", {}, h("code", {}, each.setting), ` ${each.change}`)),
    h("code", { class: "code" }, each.rule),
  );
}
