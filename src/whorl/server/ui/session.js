// Who this browser is to the server. A token is asked for when the server wants one, and kept in a cookie that scripts cannot read.

import { get, login, post, remove } from "./api.js";
import { askToken } from "./dialog.js";

export const session = { role: "", csrf: "", open: true, declined: false };
let asking = null;

/** Once, whoever asks meanwhile; and not again by itself after the user has turned away. */
login.ask = async () => !session.declined && askOnce();
login.headers = () => (session.csrf ? { "x-csrf-token": session.csrf } : {});

export function askOnce() {
  return (asking ??= ask().finally(() => (asking = null)));
}

async function ask() {
  Object.assign(session, { role: "", csrf: "", declined: false });
  const taken = await askToken(async (token) => Object.assign(session, await post("session", { token })));
  session.declined = !taken;
  return taken;
}

export async function logout() {
  await remove("session").catch(() => null);
  location.reload();
}

/** After a reload the cookie is there, but nobody knows its role. */
export async function greet() {
  Object.assign(session, await get("session").catch(() => ({})));
}
