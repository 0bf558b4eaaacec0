// Searches the words of truths, replies and answers, not those of the prompt, which all questions share. Texts are read
// once, and kept in lower case.

const texts = { replies: [], records: [], ready: null, done: 0 };

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
  block.rows.forEach((row, i) => {
    texts[kind][first + i] = (kind === "records" ? wordsOfRecord(row) : wordsOfReply(row)).toLowerCase();
  });
}

const wordsOfChain = name => `chain ${name};`; // the sign at the end: 1 is a part of 10
const wordsOfRecord = row =>
  `${row.id}\n${row.truth}\n${row.reference}\n${row.chain ? wordsOfChain(row.chain) : ""}`;
const wordsOfReply = row => `${row.pieces.join("")}\n${row.answer}\n${row.error}\n${row.reason}`;

function searchTest(words) {
  const wanted = words.toLowerCase();
  const { record } = data.index.replies;
  return i => texts.records[record[i]].includes(wanted) || texts.replies[i].includes(wanted);
}
