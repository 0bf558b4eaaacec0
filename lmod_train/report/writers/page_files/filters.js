// Finds the predictions that all filters accept.

const COLUMNS = { model: "models", task: "tasks", modality: "modalities", source: "sources", outcome: "outcomes",
  group: "groups", error: "errors" };
const OF_REPLY = ["model", "outcome", "error"];

const nameIn = (list, i) => (list === "models" ? data.index.models[i].label : data.index[list][i]);

const typesOf = text => (text || "").split("; ").filter(Boolean); // a reply can have several types of error

function choicesOf(name) {
  const all = data.index[COLUMNS[name]].map((_, i) => nameIn(COLUMNS[name], i)).filter(Boolean);
  const inOrder = (a, b) => a.localeCompare(b, "en", { numeric: true });
  if (name === "error") return [...new Set(all.flatMap(typesOf))].sort(inOrder);
  return name === "group" ? all.sort(inOrder) : all;
}

function numberOf(name, value) {
  const list = COLUMNS[name];
  return data.index[list].findIndex((_, i) => nameIn(list, i) === value);
}

function testOf(name, value) {
  const wanted = numberOf(name, value);
  const { records, replies } = data.index;
  if (name === "error") return i => typesOf(data.index.errors[replies.error[i]]).includes(value);
  if (OF_REPLY.includes(name)) return i => replies[name][i] === wanted;
  if (name === "group") return i => records.groups[replies.record[i]].includes(wanted);
  return i => records[name][replies.record[i]] === wanted;
}

// Wrong answers first, then those in part or none, and right ones last; of one outcome in the order of the records.
const WRONG_FIRST = ["wrong", "partly right", "unparsed", "refused", "truncated", "failed", "right"];

// Whether a model is wrong where every other model that was asked is right.
function isOnlyOneWrong(reply) {
  const { outcome } = data.index.replies;
  const others = data.siblings.get(idOf(reply)).filter(other => other !== reply);
  return others.length > 0 && outcome[reply] !== 0 && others.every(other => outcome[other] === 0);
}

function matching(place) {
  const tests = Object.keys(COLUMNS).filter(name => place[name]).map(name => testOf(name, place[name]));
  if (place.only) tests.push(isOnlyOneWrong);
  if (place.q) tests.push(searchTest(place.q));
  const found = [];
  for (let i = 0; i < data.count; i += 1) if (tests.every(test => test(i))) found.push(i);
  return place.order ? found : WRONG_FIRST.flatMap(outcome => found.filter(reply => outcomeOf(reply) === outcome));
}

function fillFilters() {
  for (const name of Object.keys(COLUMNS)) {
    const select = byId(`filter-${name}`);
    const used = choicesOf(name);
    select.append(...used.map(value => option(value, name === "task" ? taskName(value) : value)));
    select.closest("label").hidden = used.length < 2 && name !== "model" && name !== "task";
    select.addEventListener("change", () => go({ [name]: select.value, item: "" }));
  }
  byId("filter-order").addEventListener("change", e => go({ order: e.target.value, item: "" }));
  byId("filter-only").addEventListener("change", e => go({ only: e.target.checked ? "1" : "", item: "" }));
  byId("filter-only").closest("label").hidden = data.index.models.length < 2;
  byId("filter-none").addEventListener("click", () => go(Object.fromEntries([...FILTERS, "item"].map(n => [n, ""]))));
  let typed = 0;
  byId("filter-q").addEventListener("input", e => {
    clearTimeout(typed);
    typed = setTimeout(() => go({ q: e.target.value, item: "" }), 120);
  });
}

function showFilters(place) {
  for (const name of Object.keys(COLUMNS)) byId(`filter-${name}`).value = place[name];
  byId("filter-only").checked = Boolean(place.only);
  byId("filter-order").value = place.order;
  if (document.activeElement !== byId("filter-q")) byId("filter-q").value = place.q;
}
