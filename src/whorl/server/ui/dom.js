// What a page should look like, as data, and the smallest change that makes it so. Focus, scroll and selection stay where they are.
// Text only ever becomes a text node: nothing that the server says can become markup.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "open", "selected", "readOnly", "indeterminate"]);

/** h("a", {href, class, onclick, key}, "text", child, [children]); null, undefined and false leave nothing. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: wanted(children) };
}

function wanted(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== true)
    .map((child) => (typeof child === "object" ? child : { text: String(child) }));
}

/** Makes the container's content what the nodes say. */
export function render(container, ...nodes) {
  const next = wanted(nodes);
  patchChildren(container, container.rendered ?? [], next, false);
  container.rendered = next;
}

function patchChildren(parent, before, after, inSvg) {
  const known = new Map(before.map((node, index) => [identity(node, index), node]));
  let place = parent.firstChild;
  after.forEach((node, index) => {
    const id = identity(node, index);
    const old = known.get(id);
    known.delete(id);
    if (old) patch(old, node, inSvg);
    else node.element = create(node, inSvg);
    if (node.element === place) place = place.nextSibling;
    else parent.insertBefore(node.element, place);
  });
  for (const gone of known.values()) gone.element.remove();
}

function identity(node, index) {
  return node.props?.key === undefined ? `${node.tag ?? "#"} ${index}` : `${node.tag} =${node.props.key}`;
}

function create(node, inSvg) {
  if (node.tag === undefined) return document.createTextNode(node.text);
  const svg = inSvg || node.tag === "svg";
  const element = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  patchChildren(element, [], node.children, svg);
  for (const [name, value] of Object.entries(node.props)) set(element, name, undefined, value);
  node.props.oncreate?.(element);
  return element;
}

function patch(old, node, inSvg) {
  const element = (node.element = old.element);
  if (node.tag === undefined) {
    if (old.text !== node.text) element.data = node.text;
    return;
  }
  patchChildren(element, old.children, node.children, inSvg || node.tag === "svg");
  for (const name of Object.keys(old.props)) if (!(name in node.props)) set(element, name, old.props[name], undefined);
  for (const [name, value] of Object.entries(node.props)) set(element, name, old.props[name], value);
}

function set(element, name, before, value) {
  if (name === "key" || name === "oncreate") return;
  if (name === "style") return setStyle(element, before ?? {}, value ?? {});
  if (name.startsWith("on")) element[name] = value ?? null;
  else if (PROPERTIES.has(name)) setProperty(element, name, before, value);
  else if (before !== value) setAttribute(element, name, value);
}

/** What the user has typed or opened stays, unless the page itself has changed its mind. */
function setProperty(element, name, before, value) {
  if (before !== value && element[name] !== value) element[name] = value ?? "";
}

function setAttribute(element, name, value) {
  if (value === undefined || value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** By property, since a strict content security policy refuses the attribute. */
function setStyle(element, before, value) {
  for (const name of Object.keys(before)) if (!(name in value)) element.style.removeProperty(name);
  for (const [name, text] of Object.entries(value)) if (before[name] !== text) element.style.setProperty(name, text);
}
