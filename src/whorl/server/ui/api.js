// The one way to the server. It answers with what was asked for, with a Problem, or not at all: then it is away, and that is told too.

const ROOT = new URL("..", import.meta.url);
const TIMEOUT_MS = { GET: 20_000, POST: 120_000, DELETE: 120_000 };

/** What the server says is wrong, with the code and hint of the command line. */
export class Problem extends Error {
  constructor(said) {
    super(said.detail || said.title || "The server refused.");
    Object.assign(this, { status: said.status ?? 0, code: said.code ?? "", hint: said.hint ?? "", findings: said.findings ?? [] });
  }
}

/** No answer: the server is down, restarting, or not reachable. */
export class Away extends Error {
  constructor() {
    super("The server does not answer.");
    this.hint = "It may have done it nevertheless: look before you try again.";
  }
}

/** Whether the server answers; `since` is when it last stopped doing so, in milliseconds. */
export const connection = { away: false, since: 0, listeners: new Set() };

function connected(answers) {
  if (answers === !connection.away) return;
  Object.assign(connection, { away: !answers, since: Date.now() });
  connection.listeners.forEach((listener) => listener());
}

/** Set by session.js: asks the user for a token, and says whether there is one now. */
export const login = { ask: async () => false, headers: () => ({}) };

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body ?? {});
export const remove = (path) => call("DELETE", path);
export const path = (...parts) => parts.map(encodeURIComponent).join("/");

async function call(method, where, body, again = true) {
  const { answer, said } = await reach(method, where, body);
  if (answer.ok) return said;
  if (answer.status === 401 && again && !(method === "POST" && where === "session") && (await login.ask())) return call(method, where, body, false);
  throw new Problem({ status: answer.status, title: answer.statusText, ...(said && typeof said === "object" ? said : {}) });
}

async function reach(method, where, body) {
  const heard = await fetched(method, where, body).catch(() => null);
  connected(heard !== null);
  if (!heard) throw new Away();
  return heard;
}

/** The answer and what it says; null where only something before the server answers. What the server itself says is JSON. */
async function fetched(method, where, body) {
  const headers = { accept: "application/json", ...(method === "GET" ? {} : login.headers()) };
  if (body !== undefined) headers["content-type"] = "application/json";
  const options = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS[method]), cache: "no-store", credentials: "same-origin" };
  const answer = await fetch(new URL(where, ROOT), { ...options, body: body === undefined ? undefined : JSON.stringify(body) });
  const said = parsed(await answer.text());
  return answer.status >= 502 && said === null ? null : { answer, said };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
