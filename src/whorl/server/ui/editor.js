// A field for code: line numbers, colours, and what `check` found, at the end of the line it is about.
// The text itself is a plain textarea, so that everything a browser does with text works; what is coloured lies behind it.

import { h } from "./dom.js";

const TOKENS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(^\s*(?:- )?(?:\{)?[\w.-]+(?=:(?:\s|$)))|(\b(?:def|class|return|import|from|if|else|for|in|SELECT|FROM|WHERE|GROUP|BY|AS|AND|OR|JOIN|true|false|null)\b)/gm;
const KINDS = ["comment", "string", "key", "word"];

/** findings: of this file; change(text). */
export function editor(name, text, findings, change) {
  const lines = text.split("\n");
  const byLine = Map.groupBy ? Map.groupBy(findings, (each) => each.line) : grouped(findings);
  const scroll = (event) => {
    const backdrop = event.target.closest(".editor").querySelector(".editor-back");
    backdrop.scrollTop = event.target.scrollTop;
    backdrop.scrollLeft = event.target.scrollLeft;
  };
  return h(
    "div",
    { class: "editor", key: name, style: { "--digits": String(String(lines.length).length) } },
    h("div", { class: "editor-back", "aria-hidden": "true" }, lines.map((line, index) => row(line, index + 1, byLine.get(index + 1) ?? []))),
    h("textarea", { id: "text", value: text, placeholder: "Paste a pipeline here, or drop its files on this page.", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": `Text of ${name}`, "aria-invalid": findings.length ? "true" : undefined, "aria-describedby": findings.length ? "findings" : undefined, oninput: (event) => change(event.target.value), onscroll: scroll, onkeydown: indent(change) }),
  );
}

function grouped(findings) {
  const lines = new Map();
  for (const each of findings) lines.set(each.line, [...(lines.get(each.line) ?? []), each]);
  return lines;
}

function row(line, number, findings) {
  const told = findings.map((each) => each.message).join("; ");
  return h("div", { key: number, class: `row ${findings.length ? "wrong" : ""}` }, h("span", { class: "line-number" }, number), h("span", { class: "text" }, coloured(line)), told && h("span", { class: "finding-inline" }, `✕ ${told}`), "\n");
}

function coloured(line) {
  const parts = [];
  let from = 0;
  for (const match of line.matchAll(TOKENS)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(line.slice(from, match.index), h("span", { class: `token-${kind}` }, match[0]));
    from = match.index + match[0].length;
  }
  return [...parts, line.slice(from)].filter((part) => part !== "");
}

/** Tab leaves the field, as the keyboard expects; Enter keeps the indent of the line before. */
function indent(change) {
  return (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
    const { value, selectionStart, selectionEnd } = event.target;
    const space = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart).match(/^ */)[0];
    event.preventDefault();
    event.target.setRangeText(`\n${space}`, selectionStart, selectionEnd, "end");
    change(event.target.value);
  };
}

/** Puts the cursor on a line, and brings it into view. */
export function goTo(line, column) {
  const field = document.getElementById("text");
  const lines = field.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + Math.max(0, (column ?? 1) - 1);
  field.focus();
  field.setSelectionRange(at, at);
  field.scrollTop = Math.max(0, (line - 6) * (field.scrollHeight / lines.length));
}
