// Loads data: blocks within the page, or scripts beside it that call lmodData(name, JSON text).

const data = { index: null, blocks: new Map(), waiting: new Map() };

const addresses = window.trustedTypes
  ? trustedTypes.createPolicy("lmod", { createScriptURL: checkedAddress })
  : { createScriptURL: checkedAddress };

function checkedAddress(address) {
  if (!/^data\/[a-z]+(-[0-9]+)?\.js$/.test(address)) throw new TypeError(`no data file: ${address}`);
  return address;
}

window.lmodData = (name, text) => data.waiting.get(name)?.(JSON.parse(text));

function load(name) {
  if (!data.blocks.has(name)) data.blocks.set(name, new Promise((done, failed) => begin(name, done, failed)));
  return data.blocks.get(name);
}

function begin(name, done, failed) {
  const inside = byId(`data-${name}`);
  if (inside) return done(JSON.parse(inside.textContent));
  data.waiting.set(name, done);
  const script = document.createElement("script");
  script.src = addresses.createScriptURL(`data/${name}.js`);
  script.onload = () => script.remove();
  script.onerror = () => failed(new Error(`data/${name}.js cannot be read: keep the folder data beside the page`));
  document.head.append(script);
}

async function rowOf(kind, number) {
  const size = data.index.size;
  const block = await load(`${kind}-${Math.floor(number / size)}`);
  return { ...block.rows[number % size], texts: block.texts };
}

const recordOf = number => rowOf("records", number);
const replyOf = number => rowOf("replies", number);

function blocksOf(kind) {
  const rows = data.index[kind][kind === "records" ? "id" : "model"].length;
  return Array.from({ length: Math.ceil(rows / data.index.size) }, (_, i) => `${kind}-${i}`);
}

function openIndex(index) {
  data.index = index;
  data.count = index.replies.model.length;
  data.siblings = new Map();
  for (let i = 0; i < data.count; i += 1) {
    const id = idOf(i);
    if (data.siblings.has(id)) data.siblings.get(id).push(i);
    else data.siblings.set(id, [i]);
  }
}

const idOf = reply => data.index.records.id[data.index.replies.record[reply]];
const modelOf = reply => data.index.models[data.index.replies.model[reply]].label;
const outcomeOf = reply => data.index.outcomes[data.index.replies.outcome[reply]];
const errorOf = reply => data.index.errors[data.index.replies.error[reply]];
