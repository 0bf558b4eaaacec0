// Builds elements. Texts become text nodes, never markup: replies and names of models are not trusted.

const byId = id => document.getElementById(id);

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  return node;
}

function el(tag, attributes, ...children) {
  const node = set(document.createElement(tag), attributes || {});
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}

function svg(tag, attributes, ...children) {
  const node = set(document.createElementNS(byId("drawing").namespaceURI, tag), attributes);
  node.append(...children);
  return node;
}

// The name of a task as its link has it.
const taskName = task => document.querySelector(`#views a[data-task="${CSS.escape(task)}"]`)?.textContent || task;

function option(value, text, chosen) {
  return el("option", { value, selected: value === chosen }, text);
}

function announce(text) {
  const live = byId("announced");
  if (live.textContent !== text) live.textContent = text;
}
