// What surrounds every page: name, ways to the pages, theme, help, and a line that says so when the server does not answer.

import { connection } from "./api.js";
import { h } from "./dom.js";
import { clock, duration } from "./format.js";
import { icon, logo } from "./icons.js";
import { showHelp } from "./keys.js";
import { link } from "./router.js";
import { session, logout } from "./session.js";
import { nextTheme, theme } from "./theme.js";

const PLACES = [["jobs", "Jobs"], ["tables", "Tables"], ["taskmanagers", "Task managers"], ["submit", "Submit"]];
const THEME_SIGNS = { system: "system", light: "sun", dark: "moon" };

export function frame(route, content, redraw) {
  return [
    h("header", { class: "top" }, h("a", { class: "brand", href: link("jobs") }, logo(), h("span", {}, "Whorl")), places(route), tools(redraw)),
    connection.away && away(),
    h("main", { id: "main", tabindex: "-1" }, content),
  ];
}

function places(route) {
  const here = (name) => (route.page === name ? (route.parts.length ? "true" : "page") : undefined);
  return h(
    "nav",
    { class: "places", "aria-label": "Pages" },
    PLACES.map(([name, label]) => h("a", { href: link(name), "aria-current": here(name) }, label)),
  );
}

function tools(redraw) {
  const change = () => {
    nextTheme();
    redraw();
  };
  return h(
    "div",
    { class: "tools" },
    session.role && !session.open && h("button", { type: "button", class: "quiet", onclick: logout, title: "Forget the token in this browser" }, `${session.role} · log out`),
    h("button", { type: "button", class: "quiet square", id: "theme", onclick: change, "aria-label": `Colours: ${theme()}. Change`, title: `Colours: ${theme()}` }, icon(THEME_SIGNS[theme()])),
    h("button", { type: "button", class: "quiet square", id: "help", onclick: showHelp, "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" }, icon("help")),
  );
}

function away() {
  const seconds = (Date.now() - connection.since) / 1000;
  return h(
    "div",
    { class: "away", role: "alert" },
    icon("lost"),
    h("span", {}, "The server does not answer since "),
    h("time", {}, clock(connection.since / 1000)),
    h("span", { "aria-hidden": "true" }, ` (${duration(seconds)})`),
    h("span", {}, "; trying again. What you see is what it said last; jobs go on without it."),
  );
}
