// Shows what the address names.

const SECTIONS = { scores: ["scores", "report"], task: ["report"], predictions: ["predictions"] };
const TITLES = { scores: "Scores", task: "Task", predictions: "Predictions" };

async function show() {
  const place = readPlace();
  const view = isKnown(place) ? place.view : "scores";
  tellUnknown(place);
  for (const section of document.querySelectorAll("section.view")) section.hidden = !SECTIONS[view].includes(section.id);
  if (byId("chips")) byId("chips").hidden = view === "predictions"; // its filters name a model
  for (const link of document.querySelectorAll("#views a")) {
    const here = link.dataset.view === view && (view !== "task" || link.dataset.task === place.task);
    set(link, { "aria-current": "page" });
    if (!here) link.removeAttribute("aria-current");
  }
  document.title = [TITLES[view], place.task && taskName(place.task), place.model, place.q].filter(Boolean).join(": ");
  showTask(view === "task" ? place.task : "");
  showChapter(place.chapter);
  if (view === "predictions" && data.index) await showPredictions(place);
}

// Other addresses, e.g. of a task that an earlier report had, show the scores.
function isKnown({ view, task }) {
  const links = [...document.querySelectorAll("#views a")].filter(link => link.dataset.view === view);
  return Object.hasOwn(SECTIONS, view) && (view !== "task" || links.some(link => link.dataset.task === task));
}

function tellUnknown(place) {
  const lost = !isKnown(place) || (place.chapter && !byId(`chapter-${place.chapter}`));
  byId("unknown").hidden = !lost;
  if (lost) byId("unknown").textContent = `This report has no ${place.task || place.chapter || place.view}; its scores are shown.`;
}

async function showPredictions(place) {
  showFilters(place);
  if (place.q) await readTexts();
  if (place.q !== readPlace().q) return; // typed on meanwhile
  const key = JSON.stringify(FILTERS.map(name => place[name]));
  if (list.key !== key) {
    Object.assign(list, { key, matches: matching(place), from: 0 });
    byId("count").textContent = countText();
  }
  showList(place);
  await showDetail(place);
}

// The page of a task: of every table the rows, and of all figures those, that are of this task.
function showTask(task) {
  const name = task && taskName(task);
  const other = task !== chapters.task;
  chapters.task = task;
  showRows();
  byId("report").classList.toggle("of-task", Boolean(task));
  byId("report-name").textContent = name ? `Tables and figures: ${name}` : "Tables and figures";
  for (const part of document.querySelectorAll("#report .part")) part.hidden = Boolean(task) && !holdsTask(part, task);
  for (const figure of document.querySelectorAll("#report figure:not([data-task])")) figure.hidden = Boolean(task);
  for (const chapter of document.querySelectorAll("#report .chapter")) {
    chapter.hidden = Boolean(task) && !chapter.querySelector(".part:not([hidden]), figure:not([hidden])");
    if (other) chapter.open = false;
  }
  const first = document.querySelector("#report .chapter:not([hidden])");
  if (task && other && first) first.open = true; // its rows are shown when it has opened
  for (const link of chapterLinks()) link.hidden = byId(`chapter-${link.dataset.chapter}`).hidden;
}

// The rows of a task; all of a long table, once its chapter is open.
function showRows() {
  const { task } = chapters;
  if (task) document.querySelectorAll("#report [open] .scroll").forEach(makeWhole);
  for (const node of document.querySelectorAll("#report [data-task]")) node.hidden = Boolean(task) && node.dataset.task !== task;
  showChosen();
}

const chapterLinks = () => document.querySelectorAll("#chapters a");

// Scrolls to a chapter, once: the page is also shown again when its data have been read.
function showChapter(name) {
  if (name && name !== chapters.last && byId(`chapter-${name}`)) {
    byId(`chapter-${name}`).open = true;
    byId(`chapter-${name}-name`).scrollIntoView();
  }
  chapters.last = name;
}

const chapters = { last: "", task: "" };

function startChapters() {
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll(".chapter")) one.open = true;
    showRows();
  });
  for (const one of document.querySelectorAll(".chapter")) {
    one.addEventListener("toggle", () => chapters.task && showRows());
  }
  for (const link of chapterLinks()) {
    link.addEventListener("click", event => {
      event.preventDefault();
      chapters.last = "";
      go({ chapter: link.dataset.chapter });
      byId(`chapter-${link.dataset.chapter}-name`).focus({ preventScroll: true });
    });
  }
}

const holdsTask = (part, task) => [part, part.querySelector("template")?.content]
  .some(of => of?.querySelector(`tr[data-task="${CSS.escape(task)}"]`));

async function start() {
  document.documentElement.classList.add("has-script");
  startTables();
  startChapters();
  window.addEventListener("hashchange", show);
  if (!byId("predictions")) return show(); // a report without runs
  document.addEventListener("keydown", onKey);
  byId("page-before").addEventListener("click", () => turn(-1));
  byId("page-after").addEventListener("click", () => turn(1));
  byId("filters").addEventListener("submit", event => event.preventDefault());
  document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); byId("main").focus(); });
  show();
  try {
    openIndex(await load("index"));
  } catch (error) {
    byId("count").textContent = error.message;
    return undefined;
  }
  fillFilters();
  startLabels();
  await show();
  document.documentElement.dataset.ready = "1";
  return setTimeout(readTexts, 200);
}

document.addEventListener("DOMContentLoaded", start);
