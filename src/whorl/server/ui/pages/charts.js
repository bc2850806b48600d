// Throughput, lag, batch time and busy share over time.

import { get } from "../api.js";
import { chart } from "../charts.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { empty } from "../parts.js";

const MINUTES = [["5 min", 300], ["15 min", 900], ["1 h", 3600], ["all", Infinity]];
let span = 900;

export const charts = {
  load: (base) => get(`${base}/history`),
  view(samples, job, context) {
    const wanted = samples.filter((sample) => sample.at >= samples.at(-1).at - span);
    const choose = (seconds) => () => {
      span = seconds;
      context.redraw();
    };
    const spans = h("div", { class: "chips", role: "group", "aria-label": "Time" }, MINUTES.map(([label, seconds]) => h("button", { type: "button", class: "chip", "aria-pressed": String(span === seconds), onclick: choose(seconds) }, label)));
    if (wanted.length < 2) return empty("Nothing to draw yet.", "The charts begin some seconds after the job has started.");
    return [h("div", { class: "filters" }, spans), h("div", { class: "charts" }, all(wanted, context.redraw))];
  },
};

function all(samples, redraw) {
  return [
    chart("Throughput", samples, [{ name: "in", kind: "one", of: (each) => each.rate_in }, { name: "out", kind: "two", of: (each) => each.rate_out }], format.rate, redraw),
    chart("Lag", samples, [{ name: "records that wait", kind: "three", of: (each) => each.lag }], format.short, redraw),
    chart("Batch time", samples, [{ name: "a commit or batch", kind: "four", of: (each) => each.batch_ms }], format.millis, redraw),
    chart("Busy", samples, [{ name: "share of time at work", kind: "one", of: (each) => each.busy }], format.share, redraw),
  ];
}
