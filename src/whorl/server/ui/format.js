// Numbers, sizes, times and shares as people read them. What nobody knows yet is a dash.

export const NONE = "–";
const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export function count(value) {
  return known(value) ? Math.round(value).toLocaleString("en-US") : NONE;
}

/** 1,234 · 12.3 k · 4.56 M: at most four signs, for where room is short. */
export function short(value) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  if (size < 10 && !Number.isInteger(value)) return value.toFixed(1);
  if (size < 10_000) return Math.round(value).toLocaleString("en-US");
  for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (size >= factor) return `${significant(value / factor)} ${unit}`;
  return String(value);
}

function significant(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export const rate = (value) => (known(value) ? `${short(value)}/s` : NONE);
export const share = (value) => (known(value) ? `${Math.round(value * 100)} %` : NONE);

export function bytes(value) {
  if (!known(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; value >= 1000 && at < units.length - 1; at++) value /= 1000;
  return `${at ? significant(value) : value} ${units[at]}`;
}

export function millis(value) {
  if (!known(value)) return NONE;
  return value >= 1000 ? `${(value / 1000).toFixed(value >= 10_000 ? 1 : 2)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`;
}

/** Of seconds: 8 s, 5 min 12 s, 3 h 4 min, 2 d 3 h. */
export function duration(seconds) {
  if (!known(seconds)) return NONE;
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

export const now = () => Date.now() / 1000;
export const ago = (at) => (known(at) ? `${duration(now() - at)} ago` : NONE);

const two = (value) => String(value).padStart(2, "0");

export function clock(at, withMillis = false) {
  if (!known(at)) return NONE;
  const date = new Date(at * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMillis ? `${time}.${String(date.getMilliseconds()).padStart(3, "0")}` : time;
}

/** With the day, unless it is today. */
export function moment(at) {
  if (!known(at)) return NONE;
  const date = new Date(at * 1000);
  if (date.toDateString() === new Date().toDateString()) return clock(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}`;
}

/** A value of a setting, a key or a state, on one line. */
export const inline = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? NONE);

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
