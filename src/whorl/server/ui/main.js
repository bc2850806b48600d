// The frame around every page: it finds the page that the address names, asks the server for its data again and again, and draws both.
//
// A page is {title, load(route) -> data, view(data, context) -> nodes, every: seconds}. What the server last said stays on the screen while
// it does not answer; when it answers again, the page goes on by itself.

import { Away, Problem, connection } from "./api.js";
import { announce, dialogOpen } from "./dialog.js";
import { render } from "./dom.js";
import { frame } from "./frame.js";
import { listenToKeys } from "./keys.js";
import { button, loading, problem } from "./parts.js";
import { pages } from "./pages/index.js";
import { route } from "./router.js";
import { askOnce, greet } from "./session.js";
import { applyTheme } from "./theme.js";

const AGAIN_MS = 1500;
const app = document.getElementById("app");
let current = { route: null, page: null, data: undefined, error: null, turn: 0, timer: 0 };

function arrive() {
  const next = route();
  const page = pages[next.page] ?? pages.jobs;
  const same = current.page === page && JSON.stringify(current.route?.parts) === JSON.stringify(next.parts);
  const keep = same || (current.page === page && page.keeps?.(current.route, next));
  clearTimeout(current.timer);
  current = { route: next, page, data: keep ? current.data : undefined, error: null, turn: current.turn + 1, timer: 0 };
  draw();
  if (!keep) {
    window.scrollTo(0, 0);
    announce(document.title);
  }
  ask();
}

/** One round: ask, draw, and again after a while. An answer to a page that was left meanwhile is dropped. */
async function ask() {
  const { turn, page, route: asked } = current;
  let outcome;
  try {
    outcome = { data: await page.load(asked), error: null };
  } catch (error) {
    if (!(error instanceof Away || error instanceof Problem)) console.error(error);
    outcome = { error };
  }
  if (turn !== current.turn) return;
  if (!(outcome.error instanceof Away)) Object.assign(current, outcome);
  draw();
  current.timer = setTimeout(ask, outcome.error ? AGAIN_MS : page.every * 1000);
}

function askNow() {
  clearTimeout(current.timer);
  current.turn += 1;
  return ask();
}

function draw() {
  if (!current.page) return;
  const context = { route: current.route, redraw: draw, refresh: askNow };
  document.title = `${current.page.title(current.route, current.data)} · Whorl`;
  render(app, frame(current.route, content(context), draw));
}

function content(context) {
  const { page, data, error } = current;
  if (error instanceof Problem && error.status === 404 && page.gone) return page.gone(error, context);
  if (error?.status === 401) return [problem(error), button("Log in", () => askOnce().then(askNow), { kind: "primary", sign: "key" })];
  if (data === undefined) return error ? problem(error) : loading("the page");
  const view = page.view(data, context);
  return error ? [problem(error), view] : view;
}

window.addEventListener("hashchange", arrive);
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(current.timer) : askNow()));
window.addEventListener("online", askNow);
connection.listeners.add(() => {
  draw();
  announce(connection.away ? "The server does not answer. Trying again." : "The server answers again.");
});
setInterval(() => !document.hidden && !dialogOpen() && draw(), 1000);
listenToKeys(draw);
applyTheme();
await greet();
arrive();
