// The list of predictions that the filters accept, a page at a time.

const EACH = 50;
const list = { matches: [], from: 0 };

function showList(place) {
  const chosen = place.item ? list.matches.indexOf(itemOf(place.item)) : -1;
  list.from = chosen >= 0 ? Math.floor(chosen / EACH) * EACH : Math.min(list.from, lastPage());
  const shown = list.matches.slice(list.from, list.from + EACH);
  byId("rows").replaceChildren(...shown.map(reply => rowOfList(reply, place)));
  shown.forEach((reply, i) => showThumbnail(reply, byId("rows").rows[i]));
  byId("list").hidden = !shown.length;
  byId("page-number").textContent = shown.length
    ? `${list.from + 1}–${list.from + shown.length} of ${list.matches.length.toLocaleString("en")}` : "";
  byId("page-before").disabled = list.from === 0;
  byId("page-after").disabled = list.from + EACH >= list.matches.length;
}

const lastPage = () => Math.max(0, Math.floor((list.matches.length - 1) / EACH) * EACH);

function countText() {
  const items = new Set(list.matches.map(idOf)).size;
  const all = data.count.toLocaleString("en");
  if (!list.matches.length) return `No prediction of ${all} fits these filters.`;
  return `${list.matches.length.toLocaleString("en")} of ${all} predictions, ${items.toLocaleString("en")} questions.`;
}

function rowOfList(reply, place) {
  const { replies, records, answers, tasks } = data.index;
  const record = replies.record[reply];
  const here = itemName(reply) === place.item;
  const link = el("a", { href: address({ ...place, item: itemName(reply) }), "aria-current": here && "true" }, idOf(reply));
  return el("tr", { class: here ? "chosen" : null },
    el("td", { class: "thumbnail" }), cell("outcome", badge(outcomeOf(reply))),
    el("th", { scope: "row", "data-head": "question" }, link),
    cell("task", taskName(tasks[records.task[record]])),
    cell("model", modelOf(reply)),
    cell("answer", answers[replies.answer[reply]]),
    cell("truth", answers[records.truth[record]]));
}

// The image as it lies beside the page, once its record has been read; rows that are not in sight load none.
async function showThumbnail(reply, row) {
  const [image] = (await recordOf(data.index.replies.record[reply])).images;
  const src = image && (image.plain || image.sent);
  if (src) row.cells[0].append(el("img", { src, alt: "", loading: "lazy", decoding: "async", width: 48, height: 48 }));
}

const cell = (head, content) => el("td", { "data-head": head }, content);

// A sign and a word beside the colour, for grey print and for people who do not see the colour.
const SIGNS = { right: "✓", "partly right": "◐", wrong: "✗", unparsed: "?", refused: "–", truncated: "…", failed: "!" };
const badge = outcome => el("span", { class: `badge ${outcome.replace(" ", "-")}` }, `${SIGNS[outcome] || ""} ${outcome}`);

function turn(pages) {
  list.from = Math.max(0, Math.min(lastPage(), list.from + pages * EACH));
  showList({ ...readPlace(), item: "" });
  byId("list").scrollIntoView({ block: "nearest" });
}

function step(by) {
  const place = readPlace();
  const at = place.item ? list.matches.indexOf(itemOf(place.item)) : -1;
  const to = at < 0 ? (by > 0 ? 0 : list.matches.length - 1) : at + by;
  if (to >= 0 && to < list.matches.length) go({ item: itemName(list.matches[to]) });
}
