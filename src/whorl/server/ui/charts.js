// Lines over time: a scale of round numbers, and the values under the pointer or under the arrow keys.

import { h } from "./dom.js";
import { clock } from "./format.js";

const SIZE = { width: 640, height: 190, left: 56, right: 12, top: 12, bottom: 26 };
const pointed = new Map();

/** series: [{name, kind, of: sample -> number}]; show: number -> text. */
export function chart(title, samples, series, show, redraw) {
  const values = samples.flatMap((sample) => series.map((one) => one.of(sample)));
  const ticks = scale(Math.max(...values, 0));
  const place = places(samples, ticks.at(-1));
  const at = pointed.get(title);
  const sample = at === undefined ? null : samples[Math.min(at, samples.length - 1)];
  return h(
    "figure",
    { class: "chart", key: title },
    h("figcaption", {}, h("h2", {}, title), legend(series, sample ?? samples.at(-1), show, sample)),
    h(
      "svg",
      { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", tabindex: "0", "aria-label": told(title, series, samples, show), ...pointing(title, samples, redraw) },
      ticks.map((tick) => gridline(tick, place, show)),
      times(samples, place),
      series.map((one) => line(one, samples, place)),
      sample && mark(sample, series, place),
    ),
  );
}

function told(title, series, samples, show) {
  const range = (one) => `${one.name}: now ${show(one.of(samples.at(-1)))}, most ${show(Math.max(...samples.map(one.of)))}`;
  return `${title}, ${clock(samples[0].at)} to ${clock(samples.at(-1).at)}. ${series.map(range).join("; ")}`;
}

/** Round numbers from 0 to above the largest. */
export function scale(largest) {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest / 3));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => largest / each <= 4);
  return Array.from({ length: Math.ceil(largest / step) + 1 }, (_, index) => index * step);
}

function places(samples, top) {
  const [first, last] = [samples[0].at, samples.at(-1).at];
  const [width, height] = [SIZE.width - SIZE.left - SIZE.right, SIZE.height - SIZE.top - SIZE.bottom];
  return { x: (at) => SIZE.left + (last > first ? ((at - first) / (last - first)) * width : width), y: (value) => SIZE.top + height - (value / top) * height };
}

function gridline(tick, place, show) {
  const y = place.y(tick);
  return h("g", { key: `tick ${tick}`, class: "tick" }, h("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: y, y2: y }), h("text", { x: SIZE.left - 8, y: y + 4, "text-anchor": "end" }, show(tick)));
}

function times(samples, place) {
  const picked = [samples[0], samples[Math.floor(samples.length / 2)], samples.at(-1)];
  const anchors = ["start", "middle", "end"];
  return picked.map((sample, index) => h("text", { class: "time", x: place.x(sample.at), y: SIZE.height - 8, "text-anchor": anchors[index] }, clock(sample.at)));
}

function line(one, samples, place) {
  const points = samples.map((sample) => `${place.x(sample.at).toFixed(1)} ${place.y(one.of(sample)).toFixed(1)}`);
  const [left, right, base] = [place.x(samples[0].at), place.x(samples.at(-1).at), place.y(0)];
  return h("g", { key: one.name, class: `series ${one.kind}` }, h("path", { class: "area", d: `M${left} ${base}L${points.join("L")}L${right} ${base}z` }), h("path", { class: "stroke", d: `M${points.join("L")}` }));
}

function mark(sample, series, place) {
  const x = place.x(sample.at);
  return h("g", { class: "mark" }, h("line", { x1: x, x2: x, y1: SIZE.top, y2: SIZE.height - SIZE.bottom }), series.map((one) => h("circle", { class: one.kind, cx: x, cy: place.y(one.of(sample)), r: 3.5 })));
}

function legend(series, sample, show, chosen) {
  return h("p", { class: "values" }, h("time", {}, chosen ? clock(sample.at) : "now"), series.map((one) => h("span", { class: one.kind }, h("i", {}), `${one.name} `, h("b", {}, show(one.of(sample))))));
}

function pointing(title, samples, redraw) {
  const choose = (at) => {
    at === undefined ? pointed.delete(title) : pointed.set(title, Math.max(0, Math.min(samples.length - 1, at)));
    redraw();
  };
  const under = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const x = ((event.clientX - bounds.left) / bounds.width) * SIZE.width;
    const part = (x - SIZE.left) / (SIZE.width - SIZE.left - SIZE.right);
    choose(nearest(samples, samples[0].at + part * (samples.at(-1).at - samples[0].at)));
  };
  const step = { ArrowLeft: -1, ArrowRight: 1 };
  const key = (event) => step[event.key] && (event.preventDefault(), choose((pointed.get(title) ?? samples.length - 1) + step[event.key]));
  return { onpointermove: under, onpointerleave: () => choose(undefined), onkeydown: key, onblur: () => choose(undefined) };
}

function nearest(samples, at) {
  let best = 0;
  samples.forEach((sample, index) => Math.abs(sample.at - at) < Math.abs(samples[best].at - at) && (best = index));
  return best;
}
