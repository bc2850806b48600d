// Submit a pipeline: paste it or bring files, see what `check` finds on the lines it is about, and start it.

import { Problem, post } from "../api.js";
import { toast } from "../dialog.js";
import { h } from "../dom.js";
import { editor, goTo } from "../editor.js";
import { plural } from "../format.js";
import { icon } from "../icons.js";
import { box, button, problem } from "../parts.js";
import { go } from "../router.js";
import { start } from "../starting.js";

const MOST_BYTES = 5_000_000;
const draft = { files: new Map([["pipeline.yaml", ""]]), open: "pipeline.yaml", main: "pipeline.yaml", findings: null, error: null, busy: "", name: "", profile: "" };

export const submit = {
  every: 3600,
  title: () => "Submit a pipeline",
  load: async () => draft,
  view,
};

function view(nothing, context) {
  const findings = draft.findings ?? [];
  const own = (file) => findings.filter((each) => (each.file ?? draft.main) === file && each.line);
  return [
    h("div", { class: "page-head" }, h("div", {}, h("h1", {}, "Submit a pipeline"), h("p", { class: "lead" }, "The files are taken as they are now: what you edit on disk later does not change a running job."))),
    h("div", { class: "submit", ondragover: (event) => event.preventDefault(), ondrop: (event) => (event.preventDefault(), take(event.dataTransfer.files, context)) },
      h("div", { class: "submit-main" }, files(own, context), editor(draft.open, draft.files.get(draft.open), own(draft.open), (text) => edit(text, context))),
      h("div", { class: "submit-side" }, controls(context), outcome(context))),
  ];
}

function edit(text, context) {
  draft.files.set(draft.open, text);
  Object.assign(draft, { findings: null, error: null });
  context.redraw();
}

function files(own, context) {
  const openFile = (name) => () => {
    draft.open = name;
    context.redraw();
  };
  const drop = (name) => () => {
    draft.files.delete(name);
    if (draft.main === name) draft.main = [...draft.files.keys()][0];
    if (draft.open === name) draft.open = draft.main;
    draft.findings = null;
    context.redraw();
  };
  const tab = (name) => h("span", { key: name, class: `file ${name === draft.open ? "open" : ""}` },
    h("button", { type: "button", "aria-pressed": String(name === draft.open), onclick: openFile(name) }, icon("file"), h("span", {}, name), name === draft.main && h("small", {}, "pipeline"), own(name).length > 0 && h("span", { class: "file-findings" }, own(name).length)),
    draft.files.size > 1 && h("button", { type: "button", class: "quiet", "aria-label": `Leave out ${name}`, onclick: drop(name) }, icon("cross")));
  return h("div", { class: "files", role: "group", "aria-label": "Files" }, [...draft.files.keys()].map(tab), upload(context));
}

function upload(context) {
  return h("label", { class: "button small upload" }, icon("plus"), h("span", {}, "Add files"), h("input", { id: "upload", type: "file", multiple: true, class: "visually-hidden", onchange: (event) => take(event.target.files, context) }));
}

/** The first pipeline that comes takes the place of an empty page. */
async function take(given, context) {
  const list = [...given];
  const large = list.find((file) => file.size > MOST_BYTES);
  if (large) return toast("bad", `${large.name} is too large`, "Up to 5 MB a file can be brought here; whorl submit takes more.");
  const untouched = draft.files.size === 1 && !draft.files.get(draft.open).trim();
  if (untouched && list.length) draft.files.clear();
  for (const file of list) draft.files.set(file.name, await file.text());
  const yaml = list.map((file) => file.name).filter((name) => /\.ya?ml$/.test(name) && !/(^whorl|\.test)\.ya?ml$/.test(name));
  if (untouched || !draft.files.has(draft.main)) draft.main = yaml[0] ?? [...draft.files.keys()][0];
  Object.assign(draft, { open: yaml[0] ?? list[0]?.name ?? draft.open, findings: null, error: null });
  context.redraw();
}

function controls(context) {
  const names = [...draft.files.keys()];
  const change = (event) => {
    Object.assign(draft, { main: event.target.value, findings: null });
    context.redraw();
  };
  const empty = !draft.files.get(draft.main)?.trim();
  return h("div", { class: "panel controls" },
    names.length > 1 && h("label", { class: "field" }, "Pipeline file", h("select", { id: "main-file", onchange: change }, names.map((name) => h("option", { key: name, value: name, selected: name === draft.main }, name)))),
    h("label", { class: "field" }, "Name of the job", h("input", { id: "job-name", value: draft.name, placeholder: "that of the pipeline", oninput: (event) => (draft.name = event.target.value), autocomplete: "off" })),
    draft.files.has("whorl.yaml") && h("label", { class: "field" }, "Profile of whorl.yaml", h("input", { id: "job-profile", value: draft.profile, placeholder: "none", oninput: (event) => (draft.profile = event.target.value), autocomplete: "off" })),
    h("div", { class: "acts" },
      button("Check", () => check(context), { sign: "search", disabled: empty || Boolean(draft.busy) }),
      button("Submit", () => send(context), { kind: "primary", sign: "bolt", disabled: empty || Boolean(draft.busy) })),
    draft.busy && h("p", { class: "foot", role: "status" }, h("span", { class: "spinner" }), draft.busy));
}

const body = () => ({ file: draft.main, files: Object.fromEntries(draft.files), ...(draft.profile && draft.files.has("whorl.yaml") ? { profile: draft.profile } : {}) });

/** Says whether nothing is wrong. */
async function check(context) {
  Object.assign(draft, { busy: "Checking …", error: null, findings: null });
  context.redraw();
  try {
    draft.findings = await post("check", body());
  } catch (error) {
    fail(error);
  }
  draft.busy = "";
  context.redraw();
  return draft.findings?.length === 0;
}

async function send(context) {
  if (!(await check(context))) return;
  if (!(await start(draft.name, draft.main, draft.files.size))) return;
  Object.assign(draft, { busy: "Submitting …" });
  context.redraw();
  try {
    const job = await post("jobs", { ...body(), ...(draft.name ? { name: draft.name } : {}) });
    toast("good", `${job.name} is submitted`, `Its id is ${job.id}.`);
    Object.assign(draft, { files: new Map([["pipeline.yaml", ""]]), open: "pipeline.yaml", main: "pipeline.yaml", findings: null, name: "", profile: "" });
    go("jobs", job.id);
  } catch (error) {
    fail(error);
  }
  draft.busy = "";
  context.redraw();
}

/** A pipeline that is wrong is told by its findings. */
function fail(error) {
  const known = error instanceof Problem && error.findings.length > 0;
  Object.assign(draft, known ? { findings: error.findings } : { error });
}

function outcome(context) {
  if (draft.error) return problem(draft.error);
  if (!draft.findings) return h("p", { class: "foot" }, "Check says all that is wrong, at once. Submit checks first, and asks before it starts.");
  if (!draft.findings.length) return box("good", "Nothing is wrong.", h("p", {}, "The pipeline can be submitted."));
  return h("section", { class: "findings panel", id: "findings", "aria-label": "Findings", role: "alert" },
    h("h2", {}, plural(draft.findings.length, "finding")),
    h("ol", {}, draft.findings.map((each, index) => h("li", { key: index }, finding(each, context)))));
}

function finding(each, context) {
  const show = () => {
    if (each.file && draft.files.has(each.file)) draft.open = each.file;
    context.redraw();
    if (each.line) goTo(each.line, each.column);
  };
  return h("button", { type: "button", class: "finding", onclick: show },
    h("span", { class: "finding-place" }, `${each.file ?? draft.main}${each.line ? `:${each.line}` : ""}${each.column ? `:${each.column}` : ""}`),
    h("span", {}, each.message), each.hint && h("span", { class: "hint" }, each.hint), h("code", { class: "code" }, each.code));
}
