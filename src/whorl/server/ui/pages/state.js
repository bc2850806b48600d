// What an operator keeps for a key, or a table's row: looked up once, or again and again while it changes.

import { Problem, get, path } from "../api.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { button, empty, problem, section } from "../parts.js";
import { remember } from "../router.js";

const lookups = new Map();

function lookup(base) {
  if (!lookups.has(base)) lookups.set(base, { operator: null, key: "", asked: null, found: null, error: null, entries: null, topic: "" });
  return lookups.get(base);
}

export const state = {
  async load(base, route) {
    const [plan, own] = [await get(`${base}/plan`), lookup(base)];
    const operators = plan.nodes.filter((node) => node.kind === "operator");
    own.operator ??= route.options.get("operator") ?? (operators.find((node) => keeps(node)) ?? operators[0])?.id ?? null;
    if (own.asked) await ask(own);
    return { operators, own, base };
  },
  view({ operators, own, base }, job, context) {
    if (!operators.length) return empty("This pipeline has no operator.");
    return [form(operators, own, base, context), own.asked && answer(own)];
  },
};

/** A guess at which operators remember: the first choice of the list. */
const keeps = (node) => !["map", "filter", "python", "sql", "flat_map", "union"].includes(node.type);

/** Where it leads: an operator's state by key, its first entries, or a table. */
async function ask(own) {
  try {
    const said = await get(own.asked);
    Object.assign(own, { found: Array.isArray(said) ? said : [said], error: null, at: format.now() });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    Object.assign(own, { found: null, error });
  }
}

function form(operators, own, base, context) {
  const start = async (asked) => {
    Object.assign(own, { asked, found: null, error: null });
    context.redraw();
    await context.refresh();
  };
  const byKey = () => start(own.table ? path("tables", own.topic, own.key) : `${base}/state/${path(own.operator, own.key)}`);
  const some = () => start(`${base}/state/${path(own.operator)}?limit=50`);
  const set = (name) => (event) => {
    own[name] = event.target.value;
    context.redraw();
  };
  const choose = (event) => {
    set("operator")(event);
    remember({ operator: own.operator });
  };
  const kind = (table) => () => {
    Object.assign(own, { table, asked: null, found: null });
    context.redraw();
  };
  return h(
    "form",
    { class: "lookup", onsubmit: (event) => (event.preventDefault(), own.key && byKey()) },
    h("div", { class: "chips", role: "group", "aria-label": "Look in" }, h("button", { type: "button", class: "chip", "aria-pressed": String(!own.table), onclick: kind(false) }, "operator"), h("button", { type: "button", class: "chip", "aria-pressed": String(Boolean(own.table)), onclick: kind(true) }, "table (topic)")),
    own.table
      ? h("label", { class: "field", key: "topic" }, "Topic", h("input", { id: "topic", value: own.topic, oninput: set("topic"), spellcheck: "false", autocomplete: "off" }))
      : h("label", { class: "field", key: "operator" }, "Operator", h("select", { id: "operator", onchange: choose }, operators.map((node) => h("option", { key: node.id, value: node.id, selected: node.id === own.operator }, `${node.id} (${node.type})`)))),
    h("label", { class: "field grow" }, "Key", h("input", { id: "filter", value: own.key, oninput: set("key"), placeholder: "text, or JSON for a key of several columns", spellcheck: "false", autocomplete: "off" })),
    h("button", { type: "submit", class: "button primary", disabled: !own.key || (own.table && !own.topic) }, "Look up"),
    !own.table && button("Some entries", some),
  );
}

function answer(own) {
  if (own.error) return own.error.status === 404 ? empty("Nothing is kept for this key.", own.error.message) : problem(own.error);
  if (!own.found) return h("div", { class: "loading", "aria-busy": "true" }, h("span", { class: "skeleton" }));
  if (!own.found.length) return empty("Nothing is kept for this key.");
  return section(format.plural(own.found.length, "entry").replace("entrys", "entries"), h("span", { class: "foot", role: "status" }, h("i", { class: "pulse" }), "live, asked again every two seconds"), h("div", { class: "entries" }, own.found.map(entry)));
}

function entry(each, index) {
  const { state, map_key: mapKey, value } = kept(each.value);
  const place = [each.operator, each.lp !== null && `logical partition ${each.lp}`, each.position !== null && `position ${format.count(each.position)}`].filter(Boolean);
  return h(
    "article",
    { key: `${index} ${format.inline(each.key)}`, class: "entry" },
    h("header", {}, h("code", { class: "entry-key" }, format.inline(each.key)), state && h("code", { class: "code" }, state), mapKey !== undefined && h("code", {}, `[${format.inline(mapKey)}]`), h("span", { class: "foot" }, place.join(" · "))),
    h("pre", { tabindex: "0" }, written(value)),
  );
}

/** An operator may keep several states for a key: which one it is stands beside the value. */
function kept(value) {
  return value && typeof value === "object" && "state" in value && "value" in value ? value : { value };
}

function written(value) {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length <= 60 ? line : JSON.stringify(value, null, 2);
}
