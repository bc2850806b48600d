// Tables that can be sorted and, on a phone, read as cards. The order is the user's until the page is left.

import { h } from "./dom.js";
import { NONE } from "./format.js";

const orders = new Map();

/**
 * columns: [{name, label, of (for sorting), show, number, title}]; rows have a key.
 * options: {label, key, order: "name" or "-name", redraw, empty, expanded: row => vnode or null, mark: row => class}
 */
export function table(columns, rows, options) {
  const order = orders.get(options.label) ?? options.order ?? "";
  const sorted = sort(columns, rows, order);
  return h(
    "div",
    { class: "table-scroll", key: options.label },
    h(
      "table",
      { "aria-label": options.label },
      h("thead", {}, h("tr", {}, columns.map((column) => heading(column, order, options)))),
      h("tbody", {}, sorted.flatMap((row) => line(columns, row, options))),
    ),
    rows.length === 0 && options.empty,
  );
}

function heading(column, order, options) {
  const place = order.replace("-", "") !== column.name ? "none" : order.startsWith("-") ? "descending" : "ascending";
  const attributes = { class: column.number ? "number" : "", scope: "col", title: column.title };
  if (!column.of) return h("th", attributes, column.label);
  const flip = () => {
    orders.set(options.label, nextOrder(column, order));
    options.redraw();
  };
  return h("th", { ...attributes, "aria-sort": place }, h("button", { type: "button", onclick: flip }, column.label, h("span", { class: `arrow ${place}`, "aria-hidden": "true" })));
}

/** Numbers are first shown largest first, words from A on. */
function nextOrder(column, order) {
  const [up, down] = [column.name, `-${column.name}`];
  const [first, second] = column.number ? [down, up] : [up, down];
  return order === first ? second : first;
}

function sort(columns, rows, order) {
  const column = columns.find((each) => each.name === order.replace("-", ""));
  if (!column) return rows;
  const sign = order.startsWith("-") ? -1 : 1;
  return [...rows].sort((one, other) => compare(column.of(one), column.of(other), sign));
}

/** What nobody knows is last in either order. */
function compare(one, other, sign) {
  const [unknown, too] = [one === null || one === undefined, other === null || other === undefined];
  if (unknown || too) return Number(unknown) - Number(too);
  if (typeof one === "string") return sign * one.localeCompare(String(other), "en", { numeric: true });
  return sign * (one - other);
}

function line(columns, row, options) {
  const key = options.key(row);
  const cells = columns.map((column) => cell(column, column.show(row)));
  const more = options.expanded?.(row);
  const rows = [h("tr", { key, class: options.mark?.(row) ?? "" }, cells)];
  if (more) rows.push(h("tr", { key: `${key} more`, class: "more" }, h("td", { colspan: columns.length }, more)));
  return rows;
}

function cell(column, shown) {
  const kind = column.number ? "number" : column.wide ? "wide" : "";
  return h("td", { class: shown === NONE ? `${kind} unknown` : kind, "data-label": column.label }, shown);
}
