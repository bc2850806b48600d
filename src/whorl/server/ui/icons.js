// Small pictures, drawn with lines in the colour of the text. They stand beside words and never for them.

import { h } from "./dom.js";

const PATHS = {
  ok: "M3 8.5l3.2 3.2L13 4.8",
  run: "M5 3.5v9l7-4.5z",
  wait: "M8 4.2V8l2.6 1.8M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8z",
  turn: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2.2L14.4 13H1.6zM8 6.5v3M8 11.2v.3",
  end: "M4 14V2.5h8L10 5.5l2 3H4",
  lost: "M2.5 8a8 8 0 0 1 3-2.6M13.5 8a8 8 0 0 0-5-3.4M5 10.4a4.5 4.5 0 0 1 2-1.4M8 12.8v.2M2.5 2.5l11 11",
  save: "M3 3h7.5L13 5.5V13H3zM5.5 3v3.5h4V3M5.5 13V9.5h5V13",
  scale: "M2.5 13.5h3v-4h-3zM6.5 13.5h3v-7h-3zM10.5 13.5h3v-11h-3z",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  plus: "M8 3v10M3 8h10",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z",
  system: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  help: "M5.8 6a2.3 2.3 0 1 1 3.3 2.1c-.8.4-1.1.8-1.1 1.6M8 12v.3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.3 3.3",
  loop: "M12.5 5.5A5 5 0 1 0 13 8M13 2.8v2.9h-2.9",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.3 7.7L3 13M4.5 11.5L6 13",
  bolt: "M9 1.8L3.8 9H8l-1 5.2L12.2 7H8z",
};

export function icon(name) {
  return h(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name] ?? PATHS.help }),
  );
}

export function logo() {
  const spiral =
    "M12.3 11.8L12.6 11.9L12.8 12.1L12.9 12.5L12.8 12.9L12.5 13.3L12.0 13.6L11.3 13.7L10.6 13.5L10.0 13.0L9.6 12.3L9.4 11.3L9.7 10.4L10.3 9.5L11.3 8.8L12.5 8.6L13.7 8.8L14.9 9.5L15.8 10.6L16.3 12.1L16.2 13.7L15.5 15.2L14.2 16.4L12.5 17.1L10.6 17.1L8.8 16.5L7.2 15.2L6.2 13.3L5.9 11.1L6.5 8.9L7.8 7.0L9.7 5.7L12.1 5.1L14.7 5.4L17.0 6.6L18.8 8.6L19.7 11.2L19.7 14.1L18.6 16.8L16.6 19.0L13.8 20.4L10.7 20.7L7.6 19.8L5.0 17.9L3.1 15.1L2.4 11.7";
  return h("svg", { class: "logo", viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: spiral }));
}
