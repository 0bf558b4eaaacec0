// An image with its regions, and zoom.

const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];

function picture(image, regions, states, number) {
  if (!image.plain && !image.sent) return el("p", { class: "missing" }, `Image not found: ${image.name}`);
  const shown = el("img", { src: image.plain || image.sent, alt: `image ${number + 1}: ${image.name}`, loading: "lazy",
    width: image.width, height: image.height, draggable: "false" });
  const drawn = boxes(image, regions, states);
  const canvas = el("div", { class: "canvas" }, shown, drawn);
  const frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": `image ${number + 1}, arrows move it` },
    canvas);
  const figure = el("figure", { class: "picture" }, frame, controls(image, canvas, shown, drawn));
  frame.addEventListener("pointerdown", event => drag(event, frame));
  return figure;
}

function controls(image, canvas, shown, drawn) {
  let at = 0;
  const text = el("output", {}, "100 %");
  const zoom = by => {
    at = Math.max(0, Math.min(ZOOMS.length - 1, at + by));
    canvas.style.width = `${100 * ZOOMS[at]}%`;
    text.textContent = `${100 * ZOOMS[at]} %`;
  };
  const marked = image.sent && image.plain && image.sent !== image.plain;
  const parts = [
    el("button", { type: "button", class: "zoom-out", "aria-label": "smaller", onclick: () => zoom(-1) }, "−"), text,
    el("button", { type: "button", class: "zoom-in", "aria-label": "larger", onclick: () => zoom(1) }, "+"),
  ];
  if (drawn.childNodes.length) parts.push(toggle("boxes", true, on => drawn.classList.toggle("hidden", !on)));
  if (marked) parts.push(toggle("as the model saw it", false, on => { shown.src = on ? image.sent : image.plain; }));
  return el("figcaption", {}, parts);
}

function toggle(text, on, change) {
  return el("label", {}, el("input", { type: "checkbox", checked: on, onchange: e => change(e.target.checked) }), ` ${text}`);
}

// Colour, line style and words tell the outcomes apart; an invented region has no box and is listed below.
function boxes(image, regions, states) {
  const drawn = svg("svg", { class: "boxes", viewBox: `0 0 ${image.width} ${image.height}`, "aria-hidden": "true" });
  const size = Math.max(image.width, image.height) / 36;
  for (const [id, structure, x0, y0, x1, y1] of regions) {
    const [outcome, said] = states.get(id) || ["missed", ""];
    const text = outcome === "wrong" ? `${id} ${said}, not ${structure}` : `${id} ${structure}: ${outcome}`;
    const right = x0 > image.width * 0.6; // words of a box at the right edge end there
    drawn.append(
      svg("rect", { class: outcome, x: x0, y: y0, width: Math.max(1, x1 - x0), height: Math.max(1, y1 - y0) }),
      svg("text", { class: outcome, x: right ? x1 : x0, y: Math.max(size, y0 - size / 4), "font-size": size,
        "text-anchor": right ? "end" : "start" }, text));
  }
  return drawn;
}

function drag(event, frame) {
  if (event.pointerType === "touch" || event.button) return;
  const from = [event.clientX + frame.scrollLeft, event.clientY + frame.scrollTop];
  const move = e => frame.scrollTo(from[0] - e.clientX, from[1] - e.clientY);
  const end = () => frame.removeEventListener("pointermove", move);
  frame.setPointerCapture(event.pointerId);
  frame.addEventListener("pointermove", move);
  frame.addEventListener("pointerup", end, { once: true });
  frame.addEventListener("pointercancel", end, { once: true });
}

function regionTable(regions, reply) {
  const truth = new Map(regions.map(([id, structure]) => [id, structure]));
  const rows = reply.regions.map(([id, outcome, said]) => el("tr", {},
    el("th", { scope: "row" }, String(id)), el("td", {}, truth.get(id) || "none"), el("td", {}, said || "none"),
    el("td", {}, el("span", { class: `mark ${outcome}` }, outcome))));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "regions" }, el("table", {},
    el("caption", {}, "Regions"),
    el("thead", {}, el("tr", {}, ["region", "truth", "answer", "outcome"].map(h => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows)));
}
