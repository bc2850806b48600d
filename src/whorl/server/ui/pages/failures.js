// A failure as people read it: the user's own line first, then the error, the remedy, and where and when it happened.

import { h } from "../dom.js";
import * as format from "../format.js";
import { past } from "../parts.js";

export function failure(each, { brief = false } = {}) {
  return h(
    "article",
    { class: "failure" },
    each.where && h("p", { class: "failure-where" }, h("code", {}, each.where)),
    h("p", { class: "failure-error" }, each.error),
    each.hint && h("p", { class: "hint" }, each.hint),
    h("p", { class: "failure-facts" }, past(each.at), h("time", {}, format.moment(each.at)), facts(each).map((fact) => h("span", {}, fact)), each.code && h("code", { class: "code" }, each.code)),
    each.trace && !brief && h("details", {}, h("summary", {}, "Stack trace"), h("pre", {}, each.trace)),
  );
}

function facts(each) {
  return [
    `component ${each.component}`,
    each.task !== null && `task ${each.task}`,
    each.lps.length > 0 && `logical partition${each.lps.length > 1 ? "s" : ""} ${each.lps.join(", ")}`,
    each.host && `${each.host}${each.pid ? ` pid ${each.pid}` : ""}`,
    each.task_manager && `task manager ${each.task_manager}`,
  ].filter(Boolean);
}
