// What flows where, now: rates and lag of the nodes and edges of a plan, from what components and offsets say.

/** By component and topic: how fast its committed offsets move. */
const seen = new Map();
const LEAST_S = 0.8;
const SMOOTH = 0.5;

export function flows(job, plan, components, offsets) {
  const byId = new Map(components.map((component) => [component.id, component]));
  const topics = new Map(sums(job, offsets).map((each) => [each.key, each]));
  const homes = new Map(plan.components.flatMap((component) => component.operators.map((operator) => [operator.id, component.id])));
  const only = new Set(plan.components.filter((component) => component.inputs.length === 1).map((component) => component.id));
  const read = (component, names) => {
    const known = names.map((topic) => topics.get(`${component} ${topic}`)).filter(Boolean);
    return known.length || !only.has(component) ? known : whole(byId.get(component));
  };
  return {
    component: (id) => byId.get(id) ?? null,
    home: (node) => homes.get(node) ?? null,
    node: (node) => ofNode(node, plan, byId, homes, read),
    edge: (edge) => ofEdge(edge, plan, byId, homes, read),
  };
}

/** A query tells no offsets. Where it reads one topic, its own figures are those of the topic. */
const whole = (component) => (component && component.rate_in !== null ? [{ rate: component.rate_in, lag: component.lag ?? 0 }] : []);

function sums(job, offsets) {
  const totals = new Map();
  for (const each of offsets) {
    const key = `${each.component} ${each.topic}`;
    const before = totals.get(key) ?? { key, committed: 0, lag: 0 };
    totals.set(key, { key, committed: before.committed + (each.committed ?? 0), lag: before.lag + (each.lag ?? 0) });
  }
  return [...totals.values()].map((each) => ({ ...each, rate: rate(`${job} ${each.key}`, each.committed) }));
}

function rate(key, committed) {
  const [at, before] = [performance.now() / 1000, seen.get(key)];
  if (!before) seen.set(key, { at, committed, rate: null });
  else if (at - before.at >= LEAST_S) {
    const fresh = Math.max(0, (committed - before.committed) / (at - before.at));
    seen.set(key, { at, committed, rate: before.rate === null ? fresh : SMOOTH * fresh + (1 - SMOOTH) * before.rate });
  }
  return seen.get(key).rate;
}

function ofNode(node, plan, byId, homes, read) {
  if (node.kind === "source") return together(plan.components.flatMap((component) => inputs(component, node.id, read)));
  if (node.kind === "sink") return written(node, plan, byId);
  return byId.get(homes.get(node.id)) ?? null;
}

const inputs = (component, id, read) => component.inputs.filter((input) => input.id === id).flatMap((input) => read(component.id, input.topics));

function together(list) {
  if (!list.length) return null;
  const rates = list.map((each) => each.rate).filter((each) => each !== null);
  return { rate: rates.length ? rates.reduce((sum, each) => sum + each, 0) : null, lag: list.reduce((sum, each) => sum + each.lag, 0) };
}

/** Only where a component writes to one place is its rate that place's. */
function written(node, plan, byId) {
  const home = plan.components.find((component) => component.outputs.some((output) => output.id === node.id));
  const component = home && byId.get(home.id);
  if (!component) return null;
  return home.outputs.length === 1 ? { rate: component.rate_out, lag: null } : null;
}

function ofEdge(edge, plan, byId, homes, read) {
  const reader = homes.get(edge.to);
  if (edge.topic && reader) return together(read(reader, [edge.topic]));
  const source = plan.nodes.find((node) => node.id === edge.from);
  if (source?.kind === "source" && reader) return together(inputs(plan.components.find((each) => each.id === reader), edge.from, read));
  const component = byId.get(homes.get(edge.from));
  return component ? { rate: null, lag: null, moves: (component.rate_in ?? 0) > 0 } : null;
}
