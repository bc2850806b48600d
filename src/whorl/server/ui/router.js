// Which page the address names: #/jobs, #/jobs/ID/TAB, #/tables, #/tables/TOPIC, #/taskmanagers, #/submit. The rest after ? are the page's own options.

export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { page: parts[0] ?? "jobs", parts: parts.slice(1), options: new URLSearchParams(query) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts) {
  location.hash = link(...parts);
}

/** Changes options in the address without a step in the history. */
export function remember(changes) {
  const [path, query = ""] = location.hash.split("?");
  const options = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) value ? options.set(name, value) : options.delete(name);
  const text = options.toString();
  history.replaceState(null, "", `${path || "#/jobs"}${text ? `?${text}` : ""}`);
}
