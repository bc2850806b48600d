// Tables of jobs, live: the newest row of each key as bars, over time, and in full. The address says what is shown: #/tables/TOPIC?value=COLUMN.

import { get, path } from "../api.js";
import { chart } from "../charts.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty, section } from "../parts.js";
import { link, remember } from "../router.js";
import { table } from "../table.js";

const [ROWS, BARS, SAMPLES] = [200, 12, 600];
const KINDS = ["one", "two", "three", "four"];
const histories = new Map();

export const tables = {
  every: 1,
  title: (route) => route.parts[0] ?? "Tables",
  load: (route) => (route.parts.length ? one(route) : get("tables")),
  view: (data, context) => (context.route.parts.length ? shown(data, context) : list(data, context)),
  gone: (error) => empty("There is no such table.", error.message, " ", h("a", { href: link("tables") }, "All tables")),
};

// -- all tables -----------------------------------------------------------------------------------------------------------------------

function list(all, context) {
  const columns = [
    { name: "topic", label: "Table", of: (each) => each.topic, show: (each) => h("a", { href: link("tables", each.topic) }, each.topic) },
    { name: "pipeline", label: "Filled by", of: (each) => each.pipeline, show: (each) => h("a", { href: link("jobs", each.job) }, each.pipeline) },
    { name: "columns", label: "Columns", wide: true, show: (each) => Object.keys(each.columns).join(", ") || format.NONE },
  ];
  const none = empty("No job keeps a table.", "A Kafka sink with a key does, and an operator with ", h("code", {}, "publish"), ".");
  return [h("div", { class: "page-head" }, h("h1", {}, "Tables")), table(columns, all, { label: "Tables", key: (each) => each.topic, order: "topic", redraw: context.redraw, empty: none })];
}

// -- one table ------------------------------------------------------------------------------------------------------------------------

/** The largest rows by the chosen column; which one that is may only be known when some rows are. */
async function one(route) {
  const where = path("tables", route.parts[0]);
  const value = route.options.get("value") ?? numbers((await get(`${where}?limit=20`)).rows)[0] ?? "";
  const page = await get(`${where}?limit=${ROWS}${value ? `&sort=${encodeURIComponent(`-${value}`)}` : ""}`);
  if (value && page.rows.length) note(`${page.topic} ${value}`, page.rows, value);
  return { page, value, at: format.now() };
}

/** Columns of which every known value is a number. */
function numbers(rows) {
  return columnsOf(rows).filter((name) => rows.some((row) => typeof row.value?.[name] === "number") && rows.every((row) => ["number", "undefined"].includes(typeof (row.value?.[name] ?? undefined))));
}

function columnsOf(rows) {
  return [...new Set(rows.flatMap((row) => (isObject(row.value) ? Object.keys(row.value) : [])))];
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const own = (row, name) => row.value?.[name];

function note(name, rows, value) {
  const samples = histories.get(name) ?? [];
  samples.push({ at: format.now(), values: new Map(rows.slice(0, BARS).map((row) => [row.key, own(row, value)])) });
  histories.set(name, samples.slice(-SAMPLES));
}

function shown({ page, value, at }, context) {
  const { topic, rows, total } = page;
  const now = h("span", { class: "foot", role: "status" }, h("i", { class: "pulse" }), `${format.plural(total, "row")} · ${format.clock(at)}`);
  const choices = numbers(rows);
  return [
    h("div", { class: "page-head" }, h("div", { class: "job-head" }, h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: link("tables") }, "Tables")), h("h1", {}, topic)), now),
    rows.length === 0 && empty("The table is empty.", "Rows are shown as soon as the job has written some."),
    choices.length > 1 && h("div", { class: "filters" }, h("div", { class: "chips", role: "group", "aria-label": "Column" }, choices.map((name) => choice(name, value, context)))),
    value && rows.length > 0 && h("div", { class: "charts" }, bars(rows, value), lines(topic, rows, value, context)),
    rows.length > 0 && whole(page, context),
  ];
}

function choice(name, value, context) {
  const choose = () => {
    remember({ value: name });
    context.route.options.set("value", name);
    context.refresh();
  };
  return h("button", { type: "button", class: "chip", key: name, "aria-pressed": String(name === value), onclick: choose }, name);
}

function bars(rows, value) {
  const largest = rows.slice(0, BARS);
  const most = Math.max(...largest.map((row) => Math.abs(own(row, value) ?? 0)), 0) || 1;
  return h(
    "figure",
    { class: "chart", key: "bars" },
    h("figcaption", {}, h("h2", {}, `${value} by key`)),
    h("ol", { class: "bars" }, largest.map((row) => h("li", { key: row.key }, h("span", { class: "bar-key" }, row.key), h("i", { class: "bar-value", style: { "--share": `${(100 * Math.abs(own(row, value) ?? 0)) / most}%` } }), h("b", {}, written(own(row, value)))))),
  );
}

/** Since the page was opened. */
function lines(topic, rows, value, context) {
  const samples = histories.get(`${topic} ${value}`) ?? [];
  if (samples.length < 2) return null;
  const series = rows.slice(0, KINDS.length).map((row, index) => ({ name: row.key, kind: KINDS[index], of: (sample) => sample.values.get(row.key) ?? 0 }));
  return chart(`${value} over time`, samples, series, format.short, context.redraw);
}

function whole({ topic, rows, total }, context) {
  const columns = [
    { name: "key", label: "Key", of: (row) => row.key, show: (row) => h("code", {}, row.key) },
    ...columnsOf(rows).filter((name) => !rows.every((row) => String(own(row, name)) === row.key)).map((name) => column(name, numbers(rows).includes(name))),
    ...(rows.some((row) => !isObject(row.value)) ? [{ name: "value", label: "Value", wide: true, show: (row) => (isObject(row.value) ? format.NONE : written(row.value)) }] : []),
  ];
  const few = rows.length < total ? `the first ${format.count(rows.length)} of ${format.count(total)}` : null;
  return section("Rows", few && h("small", {}, few), table(columns, rows, { label: `Rows of ${topic}`, key: (row) => row.key, redraw: context.redraw }));
}

function column(name, number) {
  return { name, label: name, number, of: (row) => own(row, name), show: (row) => written(own(row, name)) };
}

function written(value) {
  if (value === null || value === undefined) return format.NONE;
  return typeof value === "number" ? value.toLocaleString("en-US", { maximumFractionDigits: 2 }) : format.inline(value);
}
