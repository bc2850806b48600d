// The graph of a job, live, and more about the box that was chosen.

import { get } from "../api.js";
import { h } from "../dom.js";
import { flows } from "../flows.js";
import * as format from "../format.js";
import { drawGraph } from "../graph.js";
import * as orders from "../orders.js";
import { badge, button, empty } from "../parts.js";
import { link } from "../router.js";

const chosen = new Map();

export const graph = {
  async load(base) {
    const [plan, components, offsets] = await Promise.all([get(`${base}/plan`), get(`${base}/components`), get(`${base}/offsets`)]);
    return { plan, components, offsets, flow: flows(base, plan, components, offsets) };
  },
  view({ plan, flow }, job, context) {
    if (!plan.nodes.length) return empty("The plan is empty.");
    const selected = chosen.get(job.id) ?? null;
    const select = (id) => {
      chosen.set(job.id, id === selected ? null : id);
      context.redraw();
    };
    const node = plan.nodes.find((each) => each.id === selected);
    return [drawGraph(plan, flow, { selected, select }), legend(plan), node && detail(node, plan, flow, job, context)];
  },
};

function legend(plan) {
  const loops = plan.edges.some((edge) => edge.feedback);
  return h(
    "p",
    { class: "foot legend" },
    h("span", {}, h("i", { class: "swatch end" }), "source or sink"),
    h("span", {}, h("i", { class: "swatch operator" }), "operator"),
    h("span", {}, h("i", { class: "swatch component" }), "component: in → out a second"),
    h("span", {}, h("i", { class: "line" }), "moves while records flow"),
    loops && h("span", {}, h("i", { class: "line dashed" }), "leads back: a loop"),
    h("span", {}, "Choose a box for more."),
  );
}

function detail(node, plan, flow, job, context) {
  const home = flow.home(node.id);
  const component = flow.component(home);
  const planned = plan.components.find((each) => each.id === home);
  return h(
    "section",
    { class: "panel node-detail", "aria-live": "polite" },
    h("header", { class: "panel-head" }, h("h2", {}, node.id, " ", h("small", {}, `${node.kind} · ${node.type}`)), acts(node, plan, home, job, context)),
    h("dl", { class: "inline-pairs" }, facts(node, plan, planned, component).filter(([, value]) => value).map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value)))),
  );
}

function acts(node, plan, home, job, context) {
  const filled = plan.components.flatMap((each) => each.outputs).find((each) => each.id === node.id && each.topic && each.key.length);
  if (filled) return h("div", { class: "acts" }, h("a", { class: "button small", href: link("tables", filled.topic) }, "Show the table"));
  if (node.kind !== "operator") return null;
  return h(
    "div",
    { class: "acts" },
    h("a", { class: "button small", href: `${link("jobs", job.id, "state")}?operator=${encodeURIComponent(node.id)}` }, "Look up state"),
    home && button("Restart component", () => orders.restart(job, home, context.refresh), { sign: "turn", kind: "small" }),
  );
}

function facts(node, plan, planned, component) {
  const ends = plan.components.flatMap((each) => [...each.inputs.map((one) => [one, one.topics]), ...each.outputs.map((one) => [one, [one.topic]])]).filter(([one]) => one.id === node.id);
  const topics = [...new Set(ends.flatMap(([, names]) => names).filter(Boolean))].join(", ");
  const columns = ends.find(([one]) => one.columns)?.[0].columns;
  return [
    ["topic", topics && h("code", {}, topics)],
    ["columns", columns && h("code", {}, Object.entries(columns).map(([name, type]) => `${name} ${type}`).join(", "))],
    ["component", planned && [planned.id, " ", component && badge(component.status)]],
    ["because", planned?.reason],
    ["task manager", component?.task_manager],
    ["read", component && format.count(component.read)],
    ["written", component && format.count(component.written)],
    ["dead letters", component && format.count(component.dead)],
    ["latency", component && Object.entries(component.latency_ms).map(([name, value]) => `${name} ${format.millis(value)}`).join(" · ")],
    ["state", component?.state_bytes != null && `${format.count(component.state_keys)} keys, ${format.bytes(component.state_bytes)}`],
  ];
}
