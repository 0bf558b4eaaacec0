// Searches the words of questions, truths, replies and answers. Texts are read once, and kept in lower case.

const texts = { replies: [], records: [], prompts: [], numbers: [], ready: null, done: 0 };

function readTexts() {
  texts.ready ||= readBlocks([...blocksOf("records"), ...blocksOf("replies")]);
  return texts.ready;
}

async function readBlocks(names) {
  const waiting = [...names];
  const next = async () => {
    while (waiting.length) {
      const name = waiting.shift();
      keepTexts(name, await load(name));
      texts.done += 1;
      if (readPlace().q) byId("loading").textContent = `Reading texts: ${texts.done} of ${names.length} files`;
    }
  };
  await Promise.all([next(), next(), next(), next()]);
  byId("loading").textContent = "";
  document.documentElement.dataset.texts = "1";
}

function keepTexts(name, block) {
  const [kind, number] = name.split("-");
  const first = Number(number) * data.index.size;
  if (kind === "records") texts.prompts[number] = block.texts.map(text => text.toLowerCase());
  block.rows.forEach((row, i) => {
    texts[kind][first + i] = (kind === "records" ? wordsOfRecord(row) : wordsOfReply(row)).toLowerCase();
    if (kind === "records") texts.numbers[first + i] = row.messages.flatMap(([, parts]) => parts);
  });
}

const wordsOfChain = name => `chain ${name};`; // the sign at the end: 1 is a part of 10
const wordsOfRecord = row =>
  `${row.id}\n${row.truth}\n${row.reference}\n${row.choices.join("\n")}\n${row.chain ? wordsOfChain(row.chain) : ""}`;
const wordsOfReply = row => `${row.pieces.join("")}\n${row.answer}\n${row.error}\n${row.reason}`;

function searchTest(words) {
  const wanted = words.toLowerCase();
  const asked = new Map(); // record -> whether its own words or its question hold what is searched
  const { record } = data.index.replies;
  return i => {
    const r = record[i];
    if (!asked.has(r)) asked.set(r, texts.records[r].includes(wanted) || promptHolds(r, wanted));
    return asked.get(r) || texts.replies[i].includes(wanted);
  };
}

const promptHits = { wanted: "", hits: new Map() };

// Many records share the texts of a question, so that each text of a block is searched once.
function promptHolds(record, wanted) {
  if (promptHits.wanted !== wanted) Object.assign(promptHits, { wanted, hits: new Map() });
  const block = Math.floor(record / data.index.size);
  if (!promptHits.hits.has(block)) promptHits.hits.set(block, texts.prompts[block].map(text => text.includes(wanted)));
  const hits = promptHits.hits.get(block);
  return hits.some(Boolean) && texts.numbers[record].some(number => hits[number]);
}
