// The acts themselves: stop, cancel, resume, savepoint, rescale, restart of a component, delete.

import { get, path } from "./api.js";
import { order, perform, refused, removeJob, result, until } from "./acts.js";
import { h } from "./dom.js";
import { bytes, count, moment } from "./format.js";
import { box } from "./parts.js";
import { go } from "./router.js";

const text = (...content) => h("p", {}, ...content);
const named = (job) => h("strong", {}, job.name);

function number(dialog, values, name, label, note) {
  const change = (event) => {
    values[name] = event.target.value === "" ? null : Number(event.target.value);
    dialog.redraw();
  };
  return h("label", { class: "field" }, label, h("input", { id: `act-${name}`, type: "number", min: "1", step: "1", inputmode: "numeric", value: values[name] ?? "", oninput: change }), note && h("small", {}, note));
}

function check(dialog, values, name, label, note) {
  const change = (event) => {
    values[name] = event.target.checked;
    dialog.redraw();
  };
  return h("label", { class: "check" }, h("input", { id: `act-${name}`, type: "checkbox", checked: values[name], onchange: change }), h("span", {}, label, note && h("small", {}, note)));
}

function word(dialog, values, name, label, note) {
  const change = (event) => (values[name] = event.target.value.trim());
  return h("label", { class: "field" }, label, h("input", { id: `act-${name}`, type: "text", value: values[name], oninput: change, autocomplete: "off", spellcheck: "false" }), note && h("small", {}, note));
}

export function stop(job, after) {
  return perform(job, {
    title: "Stop the job", label: "Stop", sign: "pause", doing: "Stopping: the current batch is finished first.", done: "The job has stopped.", values: { savepoint: true },
    says: (values) => [
      text(named(job), " finishes the batch that it is at, and then stops. Nothing is lost or doubled; what arrives meanwhile waits in Kafka."),
      text(values.savepoint ? "A savepoint is taken, from which it can be resumed, also in another size." : "No savepoint is taken: it can be resumed from its newest commit."),
    ],
    fields: (dialog, values) => check(dialog, values, "savepoint", "Take a savepoint"),
    send: (values) => order(job, "stop", { savepoint: values.savepoint }),
  }, after);
}

export function cancel(job, after) {
  return perform(job, {
    title: "Cancel the job", label: "Cancel the job", sign: "stop", kind: "danger", doing: "Canceling.", done: "The job is canceled.",
    says: () => text(named(job), " is ended at once, in the middle of what it does, and without a savepoint. What it has committed stays; it can be resumed from there."),
    send: () => order(job, "cancel", {}),
  }, after);
}

export function savepoint(job, after) {
  return perform(job, {
    title: "Take a savepoint", label: "Take it", sign: "save", doing: "Taking the savepoint.", done: "The savepoint is complete.", values: { name: "" },
    says: () => text("All state and positions of ", named(job), " are copied as they are at one moment. ", job.status === "RUNNING" ? "Its components pause for the copy and then go on." : "It stays as it is."),
    fields: (dialog, values) => word(dialog, values, "name", "Name", "Letters, digits, dot, dash and underscore. Without one it is named by the time."),
    send: (values) => order(job, "savepoints", values.name ? { name: values.name } : {}),
  }, after);
}

export async function resume(job, after, chosen) {
  const { savepoints } = await get(path("jobs", job.id, "checkpoints")).catch(() => ({ savepoints: [] }));
  const choices = [...savepoints].sort((one, other) => other.at - one.at);
  return perform(job, {
    title: "Resume the job", label: "Resume", sign: "run", doing: "Resuming: it waits for its slots and starts.", done: "The job is resumed.", values: { savepoint: chosen ?? "" },
    says: () => text(named(job), " goes on where it was. It takes as many slots as it needs, and waits for them where none are free."),
    fields: (dialog, values) => choice(dialog, values, choices, job),
    send: (values) => order(job, "resume", values.savepoint ? { savepoint: values.savepoint } : {}),
  }, after);
}

function choice(dialog, values, choices, job) {
  const change = (event) => {
    values.savepoint = event.target.value;
    dialog.redraw();
  };
  const said = (each) => `${each.name} · ${moment(each.at)} · ${count(each.entries)} entries · ${bytes(each.bytes)}`;
  return [
    h("label", { class: "field" }, "From",
      h("select", { id: "act-savepoint", onchange: change },
        h("option", { value: "", selected: !values.savepoint }, job.savepoint ? `where it stopped (${job.savepoint})` : "where it stopped"),
        choices.map((each) => h("option", { key: each.name, value: each.folder || each.name, selected: values.savepoint === (each.folder || each.name) }, said(each))))),
    values.savepoint && box("warn", "An older savepoint takes state and positions back.", text("Records since then are read again; what they wrote the first time stays in the topics.")),
  ];
}

export function rescale(job, after) {
  const body = (values) => ({ ...(values.tasks ? { tasks: values.tasks } : {}), ...(values.partitions ? { partitions: values.partitions } : {}) });
  return perform(job, {
    title: "Rescale the job", label: "Rescale", sign: "scale", doing: "Rescaling: stop, move state, start again.", done: "The job has its new size.", values: { tasks: null, partitions: null },
    says: () => text(named(job), " takes a savepoint, stops, and goes on in the new size with the same state. Leave a field empty to keep it as it is."),
    fields: (dialog, values) => h("div", { class: "fields" },
      number(dialog, values, "tasks", "Tasks of each component", job.tasks ? `now ${job.tasks}` : "how many work at once"),
      number(dialog, values, "partitions", "Logical partitions", "the most that can ever work at once; state is spread anew")),
    ready: (values) => Boolean(values.tasks || values.partitions),
    preview: (values) => dryRun(job, body(values)),
    send: (values) => order(job, "rescale", body(values)),
  }, after);
}

async function dryRun(job, wanted) {
  const operation = await until(job, await order(job, "rescale", { ...wanted, dry_run: true }), { element: {} });
  if (operation.status === "FAILED") throw refused(operation.problem);
  return box("calm", "Dry run: this would be done, nothing has been.", result(operation.result));
}

export function restart(job, component, after) {
  return perform(job, {
    title: `Restart component ${component}`, label: "Restart", sign: "turn", doing: "Restarting the component.", done: "The component has been started again.",
    says: () => text("Component ", h("strong", {}, component), " of ", named(job), " is stopped and started again from its newest commit. The other components go on."),
    send: () => order(job, ["components", component, "restart"], {}),
  }, after);
}

export function remove(job) {
  return perform(job, {
    title: "Delete the job", label: "Delete", sign: "trash", kind: "danger", doing: "Deleting.", done: "The job is deleted.",
    says: () => text(named(job), " (", h("code", {}, job.id), "), its history and its log are removed from the server. Topics and savepoints stay. This cannot be taken back."),
    send: async () => {
      await removeJob(job);
      return null;
    },
  }, (well) => well && go("jobs"));
}
