// One question: image, messages and truth, and the replies of one to four models beside each other.

const MOST_MODELS = 4;
const detail = { turn: 0 };

async function showDetail(place) {
  const turn = detail.turn += 1;
  const reply = place.item ? itemOf(place.item) : undefined;
  byId("predictions").classList.toggle("open", Boolean(place.item));
  if (reply === undefined) {
    const text = place.item ? "This report has no such prediction." : "Choose a prediction of the list.";
    return byId("detail").replaceChildren(el("p", { class: "hint" }, text));
  }
  const shown = [reply, ...besides(reply, place)];
  const record = await recordOf(data.index.replies.record[reply]);
  const replies = await Promise.all(shown.map(replyOf));
  if (turn !== detail.turn) return undefined; // another one was chosen meanwhile
  byId("detail").replaceChildren(heading(record, reply), body(record, shown, replies, place));
  const at = list.matches.indexOf(reply);
  const order = at < 0 ? "outside the filters" : `${at + 1} of ${list.matches.length}`;
  byId("item-number").textContent = order;
  return announce(`${record.id}, ${modelOf(reply)}: ${outcomeOf(reply)}, ${order}`);
}

function besides(reply, place) {
  const others = data.siblings.get(idOf(reply)).filter(other => other !== reply);
  return place.with.map(label => others.find(other => modelOf(other) === label)).filter(other => other !== undefined)
    .slice(0, MOST_MODELS - 1);
}

// The replies to the question of an item, in the order of the models, that of the item first.
function sameQuestion(place) {
  const item = place.item ? itemOf(place.item) : undefined;
  const all = item === undefined ? [] : data.siblings.get(idOf(item));
  return [...all.slice(all.indexOf(item)), ...all.slice(0, all.indexOf(item))];
}

function compare() {
  const place = readPlace();
  const [, ...others] = sameQuestion(place);
  go({ with: place.with.length ? [] : others.slice(0, MOST_MODELS - 1).map(modelOf) });
}

function otherModel() {
  const place = readPlace();
  const [first, ...others] = sameQuestion(place);
  if (!others.length) return;
  const beside = [...others, first].slice(1, MOST_MODELS).map(modelOf);
  go({ item: itemName(others[0]), with: place.with.length ? beside : [] });
}

function heading(record, reply) {
  return el("header", {},
    el("div", { class: "bar" },
      el("button", { type: "button", class: "back", onclick: () => go({ item: "" }) }, "Back to the list"),
      el("button", { type: "button", onclick: () => step(-1) }, "Previous"),
      el("button", { type: "button", onclick: () => step(1) }, "Next"),
      data.siblings.get(idOf(reply)).length > 1 ? el("button", { type: "button", onclick: compare }, "Compare models") : null,
      el("span", { id: "item-number" })),
    el("h3", { id: "item-name", tabindex: "-1" }, record.id),
    el("p", {}, `${taskName(record.task)}, ${record.source}, ${record.modality}, ${record.split}`));
}

function body(record, shown, replies, place) {
  const columns = shown.map((reply, i) => replyColumn(record, reply, replies[i], place, i));
  return el("div", { class: columns.length > 1 ? "item beside-it" : "item" },
    el("div", { class: "shown" }, pictures(record, shown, replies), question(record)),
    el("div", { class: "replies", "data-count": String(columns.length) }, columns, addModel(shown, place)));
}

// With several models, a choice tells whose answers the boxes show.
function pictures(record, shown, replies) {
  const holder = el("div", { class: "pictures" });
  const draw = i => {
    const states = new Map(replies[i].regions.map(([id, outcome, said]) => [id, [outcome, said]]));
    holder.replaceChildren(...record.images.map((image, n) => picture(image, n ? [] : record.regions, states, n)));
  };
  draw(0);
  if (!record.images.length) holder.append(el("p", { class: "missing" }, "Asked without an image."));
  if (!record.regions.length || shown.length < 2) return holder;
  const choice = el("select", { onchange: e => draw(Number(e.target.value)) },
    shown.map((reply, i) => option(String(i), modelOf(reply))));
  return el("div", {}, el("label", {}, "Boxes of ", choice), holder);
}

function question(record) {
  const messages = record.messages.flatMap(([role, parts]) => [
    el("dt", {}, role), el("dd", { class: "text", dir: "auto", tabindex: "0" }, parts.map(number => record.texts[number]).join("\n"))]);
  const about = record.about.map(([key, value]) => `${key}: ${value}`).join(", ");
  return el("dl", { class: "question" },
    el("dt", {}, "truth"), el("dd", { class: "truth", dir: "auto" }, record.truth),
    el("dt", {}, "choices"), el("dd", { dir: "auto" }, record.choices.join(", ") || "free text"),
    el("dt", {}, "subgroups"), el("dd", {}, about || "none stated"),
    record.chain ? [el("dt", {}, "chain"), el("dd", {}, wholeChain(record.chain))] : null,
    el("dt", { class: "messages" }, "messages asked"), el("dd", {}, el("dl", { class: "messages" }, messages)));
}

// Lists all stages of a chain: the search for its name, without other filters than that of the model.
function wholeChain(name) {
  const others = FILTERS.filter(filter => filter !== "model").map(filter => [filter, ""]);
  const list = () => go({ ...Object.fromEntries(others), q: wordsOfChain(name), order: "asked", item: "" });
  return el("button", { type: "button", onclick: list }, `all stages of ${name}`);
}

function addModel(shown, place) {
  const used = new Set(shown.map(modelOf));
  const others = data.siblings.get(idOf(shown[0])).map(modelOf).filter(label => !used.has(label));
  if (!others.length || shown.length >= MOST_MODELS) return null;
  const choice = el("select", { id: "beside", onchange: e => go({ with: [...besideLabels(place), e.target.value] }) },
    option("", "choose a model", ""), others.map(label => option(label, label)));
  return el("p", { class: "beside" }, el("label", {}, "Beside it ", choice));
}

const besideLabels = place => place.with.filter(label => data.index.models.some(model => model.label === label));
