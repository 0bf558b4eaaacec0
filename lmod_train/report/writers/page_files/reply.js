// The column of one model's reply.

const LONGEST = 20000; // characters of a reply shown at once; a loop can have a million

function replyColumn(record, number, reply, place, at) {
  const label = modelOf(number);
  const remove = at ? el("button", { type: "button", "aria-label": `remove ${label}`,
    onclick: () => go({ with: place.with.filter(name => name !== label) }) }, "×") : null;
  return el("section", { class: "reply-of", "aria-label": `reply of ${label}` },
    el("h4", {}, label, " ", badge(outcomeOf(number)), remove),
    el("dl", {}, facts(reply, number).flatMap(([head, content]) => [el("dt", {}, head), el("dd", { dir: "auto" }, content)])),
    el("h5", {}, "Reply"), replyText(reply),
    reply.regions.length ? regionTable(record.regions, reply) : null,
    reply.likelihoods.length ? likelihoodTable(reply.likelihoods) : null,
    labelForm(number, reply, record),
    rendered(reply));
}

function facts(reply, number) {
  const found = [["answer", reply.answer]];
  if (reply.reason) found.push(["reason", reply.reason]);
  if (reply.error) found.push(["error", reply.error]);
  if (errorOf(number)) found.push(["type of error", errorOf(number)]);
  for (const [judge, verdict] of reply.verdicts) found.push([`judged by ${judge}`, verdict]);
  if (reply.confidence !== null) found.push(["stated confidence", String(reply.confidence)]);
  found.push(["ended by", `${reply.finish}, ${reply.tokens[0]} tokens in, ${reply.tokens[1]} out, ${seconds(reply.seconds)}`]);
  return found;
}

const seconds = value => `${Number(value).toPrecision(3)} s`;

// Every second piece is what the answer was read from.
function replyText(reply) {
  const length = reply.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const box = el("div", { class: "text reply", dir: "auto", tabindex: "0", role: "group", "aria-label": "text of the reply" });
  if (!length) return el("p", { class: "missing" }, "The reply is empty.");
  if (length <= LONGEST) {
    box.append(...reply.pieces.map((piece, i) => (i % 2 ? el("mark", {}, piece) : piece)));
    return box;
  }
  const whole = reply.pieces.join("");
  box.append(whole.slice(0, LONGEST));
  const rest = el("button", { type: "button", onclick: () => { box.append(whole.slice(LONGEST)); rest.remove(); } },
    `Show all ${length.toLocaleString("en")} characters`);
  return el("div", {}, box, rest);
}

function likelihoodTable(likelihoods) {
  const most = Math.max(...likelihoods.map(([, value]) => value));
  const shares = likelihoods.map(([, value]) => Math.exp(value - most));
  const sum = shares.reduce((a, b) => a + b, 0);
  const rows = likelihoods.map(([choice, value], i) => el("tr", {},
    el("th", { scope: "row", dir: "auto" }, choice), el("td", { class: "n" }, value.toFixed(3)),
    el("td", { class: "n" }, `${(100 * shares[i] / sum).toFixed(1)} %`)));
  return el("table", {},
    el("caption", {}, "Log-likelihood of each choice, and share among them"),
    el("thead", {}, el("tr", {}, ["choice", "log-likelihood", "share"].map(h => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows));
}

function rendered(reply) {
  const text = reply.texts[reply.rendered];
  const content = text ? el("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": "input" }, text)
    : el("p", { class: "missing" }, "Not recorded.");
  return el("details", {}, el("summary", {}, "What the model was sent"), content);
}
