// Effective settings, each with where it came from, and the pipeline as it was submitted. Secrets are masked by the server.

import { h } from "../dom.js";
import * as format from "../format.js";
import { empty, search, section, toggle } from "../parts.js";
import { table } from "../table.js";

const shown = { words: "", own: false };

export const config = {
  load: async () => null,
  view(nothing, job, context) {
    const change = (name, value) => {
      shown[name] = value;
      context.redraw();
    };
    const isOwn = (each) => each.where !== "default";
    const list = job.settings.filter((each) => (!shown.own || isOwn(each)) && `${each.name} ${format.inline(each.value)}`.toLowerCase().includes(shown.words.toLowerCase()));
    return [
      section("Effective settings", null,
        h("div", { class: "filters" }, search("Filter the settings  ( / )", shown.words, (words) => change("words", words)), toggle("only what is set", shown.own, (on) => change("own", on), job.settings.filter(isOwn).length)),
        table(columns, list, { label: "Settings", key: (each) => each.name, order: "name", redraw: context.redraw, mark: (each) => (isOwn(each) ? "own" : ""), empty: empty("No setting matches.") })),
      section(job.file, null, source(job.text)),
      job.spark_ui && h("p", { class: "foot" }, "Spark's own pages: ", h("a", { href: safe(job.spark_ui), rel: "noreferrer", target: "_blank" }, job.spark_ui)),
    ];
  },
};

/** Only what a browser opens without running anything. */
const safe = (address) => (/^https?:\/\//.test(address) ? address : undefined);

const columns = [
  { name: "name", label: "Setting", of: (each) => each.name, show: (each) => h("code", {}, each.name) },
  { name: "value", label: "Value", wide: true, of: (each) => format.inline(each.value), show: (each) => h("code", { class: "break" }, each.value === null ? "none" : format.inline(each.value)) },
  { name: "where", label: "From", of: (each) => each.where, show: (each) => h("span", { class: each.where === "default" ? "none" : "" }, each.where) },
];

function source(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return h("pre", { class: "source", tabindex: "0", "aria-label": "Pipeline file" }, lines.map((line, index) => h("span", { key: index, class: "source-line" }, h("span", { class: "line-number", "aria-hidden": "true" }, index + 1), `${line}\n`)));
}
