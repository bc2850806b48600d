// What can be done to a job. Each act says first what will happen, then shows how it goes, and ends with its result or with what is wrong.

import { Away, get, path, post, remove } from "./api.js";
import { show, toast } from "./dialog.js";
import { h } from "./dom.js";
import { duration, inline, now } from "./format.js";
import { box, button, problemDetail } from "./parts.js";

const ASK_MS = 400;
const RUNS = new Set(["RUNNING", "RESTARTING", "CREATED"]);
const RESTS = new Set(["SUSPENDED", "FAILED", "CANCELED", "FINISHED"]);

/** Which acts a job of this status takes. */
export const can = {
  stop: (job) => RUNS.has(job.status),
  cancel: (job) => RUNS.has(job.status),
  savepoint: (job) => job.status === "RUNNING" || job.status === "SUSPENDED",
  rescale: (job) => job.status === "RUNNING" || job.status === "SUSPENDED",
  resume: (job) => RESTS.has(job.status),
  remove: (job) => RESTS.has(job.status),
};

/**
 * act: {title, doing, done, kind, says(values) -> nodes, values, fields(dialog, values) -> nodes, send(values) -> Operation or null, sign,
 *       preview(values) -> Promise of nodes: shown before it is sent}
 */
export async function perform(job, act, after = () => {}) {
  const state = { phase: "ask", values: { ...act.values }, operation: null, error: null, preview: null, begun: 0 };
  await show({
    title: () => (state.phase === "ask" ? `${act.title}?` : act.title),
    kind: "act",
    view: (dialog) => body(act, state, dialog),
    actions: (dialog) => actions(job, act, state, dialog, after),
    onclosed: () => (state.closed = true),
  });
}

function body(act, state, dialog) {
  if (state.phase === "ask") return [act.says(state.values), act.fields?.(dialog, state.values), state.preview, failure(state.error)];
  if (state.phase === "busy") return progress(act, state);
  if (state.phase === "failed") return failure(state.error);
  return box("good", act.done, result(state.operation?.result));
}

function progress(act, state) {
  return h(
    "div",
    { class: "progress", role: "status" },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    h("div", {}, h("strong", {}, act.doing), h("p", {}, `${duration(now() - state.begun)}. You may close this: it goes on.`)),
  );
}

const failure = (error) => error && box("bad", error.message, problemDetail(error));

export function result(values) {
  const entries = Object.entries(values ?? {});
  return entries.length > 0 && h("dl", { class: "pairs" }, entries.map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, inline(value))]));
}

function actions(job, act, state, dialog, after) {
  if (state.phase !== "ask") return button("Close", () => dialog.close(), { kind: state.phase === "busy" ? "" : "primary" });
  const start = () => begin(job, act, state, dialog, after);
  return [
    button("Leave it", () => dialog.close()),
    act.preview && button("Dry run", () => tryOut(act, state, dialog), { sign: "search", disabled: state.trying }),
    button(act.label ?? act.title, start, { kind: act.kind ?? "primary", sign: act.sign, disabled: state.sent || act.ready?.(state.values) === false }),
  ];
}

async function tryOut(act, state, dialog) {
  Object.assign(state, { trying: true, error: null });
  dialog.redraw();
  try {
    state.preview = await act.preview(state.values);
  } catch (error) {
    Object.assign(state, { error, preview: null });
  }
  state.trying = false;
  dialog.redraw();
}

async function begin(job, act, state, dialog, after) {
  Object.assign(state, { sent: true, error: null });
  dialog.redraw();
  try {
    state.operation = await act.send(state.values);
    Object.assign(state, { phase: "busy", begun: now() });
    dialog.redraw();
    if (state.operation) state.operation = await until(job, state.operation, dialog);
    state.error = state.operation?.status === "FAILED" ? refused(state.operation.problem) : null;
  } catch (error) {
    state.error = error;
  }
  const stays = state.phase === "ask";
  Object.assign(state, { phase: !state.error ? "done" : stays ? "ask" : "failed", sent: false });
  tell(job, act, state, dialog);
  after(!state.error);
}

/** Follows an operation to its end, also over a restart of the server. */
export async function until(job, operation, dialog) {
  while (operation.status === "RUNNING") {
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    try {
      operation = await get(path("jobs", job.id, "operations", operation.id));
    } catch (error) {
      if (!(error instanceof Away)) throw error;
    }
    if (dialog.element.isConnected) dialog.redraw();
  }
  return operation;
}

export const refused = (problem) => Object.assign(new Error(problem?.detail ?? "It failed."), { code: problem?.code, hint: problem?.hint, status: problem?.status });

function tell(job, act, state, dialog) {
  if (!state.closed) return dialog.redraw();
  if (state.error) toast("bad", `${act.title} failed`, `${job.name}: ${state.error.message}`);
  else toast("good", act.done, job.name);
}

export const order = (job, what, body) => post(path("jobs", job.id, ...[what].flat()), body);
export const removeJob = (job) => remove(path("jobs", job.id));
