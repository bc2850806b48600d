// Where the boxes and lines of a graph stand, in pixels. The plan says columns and rows; here they become places, from left to right, or
// from top to bottom where the screen is narrow. Lines that lead back go around all else.

export const NODE = { width: 168, height: 62 };
const GROUP = { side: 14, head: 44, foot: 14 };
const LANE = 26;
const LOOP = 40;
const MARGIN = 18;

/** {places: id -> {x, y}, groups, lines: [{edge, path, middle, back}], width, height} */
export function layout(plan, upright) {
  const step = steps(plan, upright);
  const spot = upright
    ? ({ column, row }) => ({ x: MARGIN + GROUP.side + row * step.across, y: MARGIN + GROUP.head + column * step.along })
    : ({ column, row }) => ({ x: MARGIN + GROUP.side + column * step.along, y: MARGIN + GROUP.head + row * step.across });
  const places = new Map(plan.nodes.map((node) => [node.id, spot(node)]));
  const all = [...places.values()];
  const size = { width: Math.max(...all.map((each) => each.x)) + NODE.width + GROUP.side + MARGIN, height: Math.max(...all.map((each) => each.y)) + NODE.height + GROUP.foot + MARGIN };
  const back = plan.edges.filter((edge) => edge.feedback && edge.from !== edge.to);
  const lines = plan.edges.map((edge) => (edge.feedback ? returning(edge, places, size, back.indexOf(edge), upright) : ahead(edge, places, spot, upright, plan.edges.some((other) => isLoop(other) && other.from === edge.from))));
  const around = back.length ? back.length * LANE + 22 : plan.edges.some(isLoop) ? LOOP : 0;
  return { places, lines, groups: groups(plan, places), width: size.width + (upright ? around : 0), height: size.height + (upright ? 0 : around) };
}

const isLoop = (edge) => edge.feedback && edge.from === edge.to;

/** From one box to the next: along the flow, and across it. */
function steps(plan, upright) {
  const loop = plan.edges.some(isLoop) ? LOOP : 0;
  const [width, height] = [NODE.width + 2 * GROUP.side, NODE.height + GROUP.head + GROUP.foot + loop];
  return upright ? { along: height + 44, across: width + 14 } : { along: width + 84, across: height + 22 };
}

const centre = ({ x, y }) => ({ x: x + NODE.width / 2, y: y + NODE.height / 2 });
/** Where the screen is narrow, lines keep to the right, beside the words of a frame. */
const exit = (place, upright) => (upright ? { x: place.x + NODE.width - 12, y: place.y + NODE.height } : { x: place.x + NODE.width, y: place.y + NODE.height / 2 });
const entry = (place, upright) => (upright ? { x: place.x + NODE.width - 12, y: place.y } : { x: place.x, y: place.y + NODE.height / 2 });

function ahead(edge, places, spot, upright, looped) {
  const points = [exit(places.get(edge.from), upright), ...(edge.points ?? []).map((point) => centre(spot(point))), entry(places.get(edge.to), upright)];
  const parts = points.slice(1).map((to, index) => bend(points[index], to, upright));
  return { edge, path: `M${points[0].x} ${points[0].y}${parts.join("")}`, middle: middle(points.at(-2), points.at(-1), upright, looped), back: false };
}

function bend(from, to, upright) {
  const half = upright ? (to.y - from.y) / 2 : (to.x - from.x) / 2;
  return upright ? `C${from.x} ${from.y + half} ${to.x} ${to.y - half} ${to.x} ${to.y}` : `C${from.x + half} ${from.y} ${to.x - half} ${to.y} ${to.x} ${to.y}`;
}

const middle = (one, other, upright, looped) => (upright ? { x: one.x + (other.x - one.x) * 0.1 - 14, y: one.y + 36 + (looped ? LOOP : 0) } : { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });

function returning(edge, places, size, lane, upright) {
  const [from, to] = [places.get(edge.from), places.get(edge.to)];
  if (edge.from === edge.to) return itself(edge, from);
  return upright ? rightAround(edge, from, to, size.width + lane * LANE) : below(edge, from, to, size.height + lane * LANE);
}

/** Out below at the right, around, and in again at the left. */
function itself(edge, { x, y }) {
  const [right, left, bottom] = [x + NODE.width - 20, x + 20, y + NODE.height];
  const path = `M${right} ${bottom}v${LOOP - 22}q0 14 -14 14H${left + 14}q-14 0 -14 -14V${bottom + 6}`;
  return { edge, path, middle: { x: x + NODE.width / 2, y: bottom + LOOP - 8 }, back: true };
}

function below(edge, from, to, low) {
  const [start, end] = [from.x + NODE.width - 34, to.x + 34];
  const path = `M${start} ${from.y + NODE.height}V${low - 12}q0 12 -12 12H${end + 12}q-12 0 -12 -12V${to.y + NODE.height + 6}`;
  return { edge, path, middle: { x: (start + end) / 2, y: low }, back: true };
}

function rightAround(edge, from, to, right) {
  const [start, end] = [from.y + NODE.height - 16, to.y + 16];
  const path = `M${from.x + NODE.width} ${start}H${right - 12}q12 0 12 -12V${end + 12}q0 -12 -12 -12H${to.x + NODE.width + 6}`;
  return { edge, path, middle: { x: right - 6, y: (start + end) / 2 }, back: true };
}

/** A frame around the operators of each component, where no stranger stands within it. */
function groups(plan, places) {
  return plan.components.map((component) => framed(component, plan, places)).filter(Boolean);
}

function framed(component, plan, places) {
  const members = new Set(component.operators.map((operator) => operator.id));
  const own = [...members].map((id) => places.get(id)).filter(Boolean);
  if (!own.length) return null;
  const [left, top] = [Math.min(...own.map((each) => each.x)), Math.min(...own.map((each) => each.y))];
  const [right, bottom] = [Math.max(...own.map((each) => each.x)), Math.max(...own.map((each) => each.y))];
  const loop = plan.edges.some((edge) => isLoop(edge) && members.has(edge.from)) ? LOOP : 0;
  const inside = ({ x, y }) => x >= left && x <= right && y >= top && y <= bottom;
  const stranger = [...places].some(([id, place]) => !members.has(id) && inside(place));
  if (stranger) return { component, x: own[0].x - GROUP.side, y: own[0].y - GROUP.head, width: NODE.width + 2 * GROUP.side, height: GROUP.head, bare: true };
  return { component, x: left - GROUP.side, y: top - GROUP.head, width: right - left + NODE.width + 2 * GROUP.side, height: bottom - top + NODE.height + GROUP.head + GROUP.foot + loop, bare: false };
}
