// Measure a page in Chromium: node page.mjs PAGE, with puppeteer-core in NODE_PATH. Prints milliseconds, and errors
// of addresses.

import { createRequire } from "node:module";
import path from "node:path";

const puppeteer = createRequire(path.join(process.env.NODE_PATH, "x.js"))("puppeteer-core");
const address = `file://${path.resolve(process.argv[2])}`;
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox"], headless: true });

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

// From the start of navigation to a view that takes filters.
async function opened(hash) {
  const page = await browser.newPage();
  const begin = performance.now();
  await page.goto(address + hash);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
  const took = performance.now() - begin;
  return [took, page];
}

// From a change of the address to the drawn list.
const changed = (page, hash) => page.evaluate(async to => {
  const drawn = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const begin = performance.now();
  const listed = new Promise(done => new MutationObserver((_, o) => { o.disconnect(); done(); })
    .observe(document.getElementById("count"), { childList: true }));
  location.hash = to;
  await listed;
  await drawn();
  return performance.now() - begin;
}, hash);

for (const hash of ["", "#view=predictions"]) {
  const times = [];
  for (let i = 0; i < 5; i += 1) {
    const [took, page] = await opened(hash);
    times.push(took);
    await page.close();
  }
  console.log(`open ${hash || "scores"}: ${times.map(Math.round).join(", ")}; median ${Math.round(median(times))} ms`);
}
const [, page] = await opened("#view=predictions");
const begin = performance.now();
await page.waitForFunction(() => document.documentElement.dataset.texts === "1", { timeout: 120000 });
console.log(`texts read in the background: ${Math.round(performance.now() - begin)} ms`);
for (const [name, hashes] of Object.entries({
  filter: ["outcome=wrong", "task=glaucoma", "outcome=right&task=anatomy", "group=sex%3DF", "only=1"],
  search: ["q=optic+cup", "q=glaucoma", "q=zzz", "q=blurred+near", "q=000123"],
})) {
  const times = [];
  for (const hash of hashes) times.push(await changed(page, `view=predictions&${hash}`));
  console.log(`${name}: ${hashes.map((h, i) => `${h} ${Math.round(times[i])}`).join(", ")}; longest ${Math.round(Math.max(...times))} ms`);
}
// Whatever an address holds, a view is shown and the page becomes ready, without an error.
const words = [...Object.getOwnPropertyNames(Object.prototype), "", "%", "%FF", "%00", "none", "a%0Ab", "<b>", "'\"]"];
const fields = ["view", "task", "chapter", "item", "with", "model", "group", "error", "only", "q", "view=task&task"];
const strange = await browser.newPage();
let errors = 0;
strange.on("pageerror", () => { errors += 1; });
for (const hash of fields.flatMap(field => words.map(word => `#${field}=${word}`))) {
  await strange.goto("about:blank");
  await strange.goto(address + hash);
  const ready = () => document.documentElement.dataset.ready === "1" && document.querySelector("section.view:not([hidden])");
  await strange.waitForFunction(ready, { timeout: 5000 }).catch(() => { errors += 1; console.log(`not ready: ${hash}`); });
}
console.log(`addresses tried: ${fields.length * words.length}, errors ${errors}`);
const memory = await page.metrics();
console.log(`memory of the page's script: ${Math.round(memory.JSHeapUsedSize / 2 ** 20)} MiB`);
await browser.close();
