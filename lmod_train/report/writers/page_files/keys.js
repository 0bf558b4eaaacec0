// Keys, listed in the page; none is taken while something is typed, and all can be turned off.

const KEYS = {
  j: () => step(1), k: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1),
  n: () => turn(1), p: () => turn(-1), "/": () => byId("filter-q").focus(),
  c: () => compare(), m: () => otherModel(), "+": () => press(".zoom-in"), "-": () => press(".zoom-out"),
  r: () => press('.label input[value="TRUE"]'), w: () => press('.label input[value="FALSE"]'),
  u: () => go({ item: "" }), Escape: () => go({ item: "" }),
};

const press = selector => byId("detail").querySelector(selector)?.click();

function isTyping(node) {
  return node.closest("select, textarea, [contenteditable], input:not([type=checkbox])") !== null
    || (node.closest(".frame, .scroll, .text") !== null && document.activeElement === node);
}

function onKey(event) {
  const free = !event.ctrlKey && !event.altKey && !event.metaKey && byId("keys-on").checked;
  if (!free || readPlace().view !== "predictions" || !KEYS[event.key] || isTyping(event.target)) return;
  event.preventDefault();
  KEYS[event.key]();
}
