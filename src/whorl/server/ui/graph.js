// A pipeline as a picture: boxes in layers, components as frames around them, lines that move while records flow, loops as loops.

import { h } from "./dom.js";
import * as format from "./format.js";
import { NODE, layout } from "./layout.js";
import { look } from "./parts.js";

const NARROW = 640;
const LEAST_SCALE = 0.78;

/** options: {selected, select(id)} */
export function drawGraph(plan, flow, options) {
  const upright = document.documentElement.clientWidth < NARROW;
  const drawn = layout(plan, upright);
  return h(
    "div",
    { class: "graph", tabindex: "0", role: "region", "aria-label": "Graph of the pipeline; scrolls" },
    h(
      "svg",
      { width: drawn.width, height: drawn.height, viewBox: `0 0 ${drawn.width} ${drawn.height}`, role: "group", "aria-label": told(plan), style: { "min-width": `${Math.round(drawn.width * LEAST_SCALE)}px` } },
      markers(),
      h("g", {}, drawn.groups.map((group) => frame(group, flow))),
      h("g", {}, drawn.lines.map((line, index) => edge(line, flow.edge(line.edge), index))),
      h("g", {}, plan.nodes.map((node) => box(node, drawn.places.get(node.id), flow, options))),
      h("g", {}, drawn.lines.map((line, index) => label(line, flow.edge(line.edge), index))),
    ),
  );
}

function told(plan) {
  return `Pipeline ${plan.pipeline}: ${plan.edges.map((each) => `${each.from} to ${each.to}${each.feedback ? " (loop)" : ""}`).join(", ")}`;
}

function markers() {
  const arrow = (id) => h("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" }, h("path", { d: "M0 0.6 7.5 4 0 7.4z", class: id }));
  return h("defs", {}, arrow("arrow"), arrow("arrow-back"));
}

function frame(group, flow) {
  const { component, x, y, width, height, bare } = group;
  const now = flow.component(component.id);
  const [kind] = look(now?.status);
  const room = Math.floor((width - 24) / 6.4);
  return h(
    "g",
    { key: component.id, class: `component ${kind} ${component.host}` },
    h("title", {}, `component ${component.id} on ${component.host}: ${component.reason ?? ""}`),
    !bare && h("rect", { x, y, width, height, rx: 10 }),
    h("circle", { cx: x + 16, cy: y + 15, r: 4.5 }),
    h("text", { x: x + 27, y: y + 19, class: "component-name" }, cut(`${component.id} · ${now?.status.toLowerCase() ?? "not running"}`, room)),
    h("text", { x: x + 12, y: y + 35, class: "component-facts" }, cut(facts(component, now), room + 2)),
  );
}

function facts(component, now) {
  if (!now) return component.host === "query" ? "query" : "tasks";
  const host = component.host === "query" ? "query" : format.plural(now.tasks, "task");
  return `${host} · ${format.rate(now.rate_in)} → ${format.rate(now.rate_out)}`;
}

function cut(text, room) {
  return text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`;
}

function edge({ edge: each, path, back }, now, index) {
  const moves = now && ((now.rate ?? 0) > 0 || now.moves);
  const marker = back ? "url(#arrow-back)" : "url(#arrow)";
  return h(
    "g",
    { key: `${each.from} ${each.to} ${each.output} ${index}`, class: `edge ${back ? "back" : ""} ${each.topic ? "by-topic" : ""}` },
    h("title", {}, `${each.from} → ${each.to}${each.topic ? `, topic ${each.topic}` : ""}${back ? " (leads back)" : ""}`),
    h("path", { d: path, "marker-end": marker }),
    moves && h("path", { d: path, class: "moving" }),
  );
}

/** Rate and lag of what goes by a topic; a loop says that it is one. */
function label({ edge: each, middle, back }, now, index) {
  const speed = now && now.rate !== null && format.rate(now.rate);
  const lines = [[back && "↺ loop", speed].filter(Boolean).join(" "), now?.lag > 0 && `lag ${format.short(now.lag)}`].filter(Boolean);
  if (!lines.length) return null;
  const width = Math.max(...lines.map((line) => line.length)) * 6.3 + 14;
  const height = lines.length * 14 + 5;
  return h(
    "g",
    { key: `label ${index}`, class: `edge-label ${back ? "back" : ""}` },
    h("rect", { x: middle.x - width / 2, y: middle.y - height / 2, width, height, rx: 9 }),
    lines.map((line, at) => h("text", { x: middle.x, y: middle.y - height / 2 + 13.5 + at * 14, "text-anchor": "middle", class: at ? "lag" : "" }, line)),
  );
}

function box(node, { x, y }, flow, options) {
  const [now, component] = [flow.node(node), flow.component(flow.home(node.id))];
  const choose = () => options.select(node.id);
  const press = (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose());
  const busy = node.kind === "operator" ? (component?.busy ?? null) : null;
  const attributes = { key: node.id, class: `node ${node.kind} ${options.selected === node.id ? "selected" : ""}`, tabindex: "0", role: "button", "aria-pressed": String(options.selected === node.id), "aria-label": `${node.kind} ${node.id}, ${node.type}. ${live(node, now)}`, "data-node": node.id, onclick: choose, onkeydown: press };
  return h(
    "g",
    attributes,
    h("title", {}, node.id),
    h("rect", { x, y, width: NODE.width, height: NODE.height, rx: node.kind === "operator" ? 7 : 18 }),
    h("text", { x: x + 14, y: y + 21, class: "node-name" }, cut(node.id, 21)),
    h("text", { x: x + 14, y: y + 37, class: "node-type" }, cut(node.type, 24)),
    h("text", { x: x + 14, y: y + 53, class: "node-live" }, live(node, now)),
    busy !== null && [h("rect", { class: "busy-room", x: x + NODE.width - 58, y: y + 45, width: 44, height: 6, rx: 3 }), h("rect", { class: "busy", x: x + NODE.width - 58, y: y + 45, width: Math.max(2, 44 * Math.min(1, busy)), height: 6, rx: 3 })],
  );
}

function live(node, now) {
  if (!now) return "";
  if (node.kind === "operator") return now.busy === null || now.busy === undefined ? "" : `busy ${format.share(now.busy)}`;
  const lag = now.lag === null ? "" : ` · lag ${format.short(now.lag)}`;
  return now.rate === null ? lag.replace(" · ", "") : `${format.rate(now.rate)}${lag}`;
}
