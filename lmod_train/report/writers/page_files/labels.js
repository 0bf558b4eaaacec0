// Labels by hand: right or wrong, and a type of error. They stay in this browser until they are saved as CSV.

const labels = { given: {} };

const storeName = () => `lmod-labels-${data.index.report}`;

function readLabels() {
  try {
    labels.given = JSON.parse(localStorage.getItem(storeName())) || {};
  } catch {
    labels.given = {};
  }
}

function keepLabel(name, label) {
  const others = Object.entries(labels.given).filter(([key]) => key !== name);
  labels.given = Object.fromEntries(label.verdict || label.error ? [...others, [name, label]] : others);
  try {
    localStorage.setItem(storeName(), JSON.stringify(labels.given));
  } catch {
    announce("This browser keeps no labels: save them as CSV before the page is closed.");
  }
  showLabelCount();
}

function labelForm(number, reply) {
  const name = itemName(number);
  const label = { verdict: "", error: "", ...labels.given[name] };
  const change = changes => { Object.assign(label, changes); keepLabel(name, { ...label, given: givenText(reply) }); };
  const choice = (verdict, text) => el("label", {}, el("input", { type: "radio", name: `verdict-${number}`, value: verdict,
    checked: label.verdict === verdict, onchange: () => change({ verdict }) }), ` ${text}`);
  return el("fieldset", { class: "label", "data-reply": String(number) },
    el("legend", {}, "Your label"),
    choice("TRUE", "right"), choice("FALSE", "wrong"), choice("", "none"),
    el("label", {}, "type of error ", el("input", { type: "text", list: "error-types", value: label.error,
      onchange: e => change({ error: e.target.value.trim() }) })));
}

const givenText = reply => (reply.given === null ? reply.pieces.join("").trim() : reply.given);

function showLabelCount() {
  const count = Object.keys(labels.given).length;
  byId("label-count").textContent = `${count} ${count === 1 ? "label" : "labels"} given`;
  byId("label-save").disabled = !count;
}

// A file a model, as `judge RUN --verdicts FILE` reads the verdicts of one run.
async function saveLabels() {
  const model = byId("label-model").value;
  const rows = [["id", "expected", "given", "verdict", "error_type"]];
  for (const [name, label] of Object.entries(labels.given)) {
    const number = itemOf(name);
    if (number === undefined || modelOf(number) !== model) continue;
    const record = await recordOf(data.index.replies.record[number]);
    rows.push([record.id, record.reference, label.given || "", label.verdict, label.error]);
  }
  if (rows.length < 2) return announce(`There is no label of a reply of ${model}.`);
  save(`verdicts-${data.index.models.findIndex(m => m.label === model) + 1}.csv`, csvOf(rows));
  return announce(`${rows.length - 1} labels of ${model} saved.`);
}

function save(name, text) {
  const address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function startLabels() {
  readLabels();
  byId("label-model").append(...data.index.models.map(model => option(model.label, model.label)));
  byId("error-types").append(...choicesOf("error").map(type => option(type, type)));
  byId("label-save").addEventListener("click", saveLabels);
  showLabelCount();
}
