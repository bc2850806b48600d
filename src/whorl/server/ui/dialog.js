// Dialogs: what will happen, said before it happens; progress; the result, or what is wrong. And short messages that go by themselves.

import { h, render } from "./dom.js";
import { icon } from "./icons.js";
import { box, button, problemDetail } from "./parts.js";

const dialogs = document.getElementById("dialogs");
const open = new Set();

export const dialogOpen = () => open.size > 0;

/**
 * view(dialog) -> nodes, drawn again by dialog.redraw(); actions(dialog) -> buttons. Without actions there is one that closes.
 * Resolves to what dialog.close(value) was given; undefined where the user turned away.
 */
export function show({ title, view, actions, kind = "", onclosed }) {
  const element = document.createElement("dialog");
  element.className = kind;
  element.setAttribute("aria-labelledby", "dialog-title");
  dialogs.append(element);
  return new Promise((resolve) => {
    const dialog = { element, close: (value) => finish(value), redraw: () => draw(dialog, title, view, actions) };
    let ended = false;
    function finish(value) {
      if (ended) return;
      ended = true;
      open.delete(element);
      element.close();
      element.remove();
      onclosed?.(value);
      resolve(value);
    }
    element.addEventListener("cancel", (event) => (event.preventDefault(), finish()));
    element.addEventListener("click", (event) => event.target === element && finish());
    open.add(element);
    dialog.redraw();
    element.showModal();
    (element.querySelector("[autofocus]") ?? element.querySelector(".dialog-body input, .dialog-body select"))?.focus();
  });
}

function draw(dialog, title, view, actions) {
  const buttons = actions?.(dialog) ?? button("Close", () => dialog.close(), { kind: "primary" });
  const heading = typeof title === "function" ? title() : title;
  const submit = (event) => {
    event.preventDefault();
    dialog.element.querySelector("footer .primary:not(:disabled), footer .danger:not(:disabled)")?.click();
  };
  render(
    dialog.element,
    h(
      "form",
      { method: "dialog", onsubmit: submit },
      h("header", {}, h("h2", { id: "dialog-title" }, heading), h("button", { type: "button", class: "quiet square", "aria-label": "Close", onclick: () => dialog.close() }, icon("cross"))),
      h("div", { class: "dialog-body" }, view(dialog)),
      h("footer", {}, h("button", { type: "submit", class: "visually-hidden", tabindex: "-1", "aria-hidden": "true" }, "OK"), buttons),
    ),
  );
}

export function announce(text) {
  document.getElementById("said").textContent = text;
}

/** A short message in the corner; also for screen readers. */
export function toast(kind, title, detail = "") {
  announce(`${title} ${detail}`);
  const element = document.createElement("div");
  element.className = "toast";
  document.getElementById("toasts").append(element);
  const away = () => element.remove();
  render(element, box(kind, title, detail && h("p", {}, detail)), h("button", { type: "button", class: "quiet square", "aria-label": "Dismiss", onclick: away }, icon("cross")));
  setTimeout(away, kind === "bad" ? 20_000 : 7000);
}

/** Asks until the server takes the token, or the user turns away. Says whether there is a session now. */
export async function askToken(enter) {
  let error = null;
  const taken = await show({
    title: "This server wants a token",
    view: () => [
      h("p", {}, "Ask whoever runs it; the file or the variable WHORL_TOKENS of the server has it. It is exchanged for a cookie of this browser and not stored."),
      h("label", { class: "field" }, "Token", h("input", { id: "token", type: "password", autocomplete: "current-password", autofocus: true })),
      error && box("bad", error.message, problemDetail(error)),
    ],
    actions: (dialog) => [
      button("Log in", async () => {
        try {
          await enter(dialog.element.querySelector("#token").value);
          dialog.close(true);
        } catch (refused) {
          error = refused;
          dialog.redraw();
        }
      }, { kind: "primary", sign: "key" }),
    ],
  });
  return taken === true;
}
