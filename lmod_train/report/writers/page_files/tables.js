// Tables: sorting by a head, filtering by words, hiding of rows.

function valueOf(row, column) {
  const node = row.cells[column];
  const value = node.dataset.value ?? node.textContent.trim();
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function compare(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // numbers before texts and gaps
  return typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortBy(table, column, head) {
  const down = head.getAttribute("aria-sort") === "descending" || (head.getAttribute("aria-sort") === null && !isNumeric(head));
  for (const body of table.tBodies) {
    const rows = [...body.rows].sort((a, b) => compare(valueOf(a, column), valueOf(b, column)) * (down ? 1 : -1));
    body.append(...rows);
  }
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "ascending" : "descending");
  announce(`sorted by ${head.textContent.trim()}, ${down ? "ascending" : "descending"}`);
}

const isNumeric = head => head.classList.contains("n");

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = el("button", { type: "button", class: "sort", onclick: () => sortBy(table, column, head) });
    button.append(...head.childNodes);
    head.append(button);
  });
}

// Models and tasks that are chosen by their chips; of none chosen, all are shown.
function chosenChips(kind) {
  const pressed = [...document.querySelectorAll(`.chips [data-${kind}][aria-pressed=true]`)].map(chip => chip.dataset[kind]);
  return value => !pressed.length || pressed.includes(value);
}

function showChosen() {
  const ofModel = chosenChips("model");
  const ofTask = chosenChips("task");
  const keep = (node, kept) => node.classList.toggle("away", !kept);
  for (const node of document.querySelectorAll("[data-of-task]")) keep(node, ofTask(node.dataset.ofTask));
  for (const node of document.querySelectorAll("#leaderboard [data-model]")) keep(node, ofModel(node.dataset.model));
  for (const figure of document.querySelectorAll("#report figure[data-task]")) keep(figure, ofTask(figure.dataset.task));
  for (const table of document.querySelectorAll("#report table.sortable")) {
    const heads = [...table.tHead.rows[0].cells].map(head => head.textContent.trim());
    for (const [i, head] of heads.entries()) if (models.has(head)) for (const row of table.rows) keep(row.cells[i], ofModel(head));
    for (const row of table.tBodies[0].rows) {
      const [model, run] = ["model", "run"].map(head => row.cells[heads.indexOf(head)]?.textContent.trim());
      const label = [model, `${model} (${run})`].find(one => models.has(one));
      keep(row, (row.dataset.task === undefined || ofTask(row.dataset.task)) && (label === undefined || ofModel(label)));
    }
  }
}

const models = new Set();

// The rows of a long table that are not in the page yet, so that a page of many models opens at once.
function makeWhole(box) {
  const rest = box.querySelector("template");
  if (!rest) return;
  box.querySelector("tbody").append(rest.content);
  rest.remove();
  box.nextElementSibling.remove();
  box.classList.add("tall");
  makeFindable(box);
}

function makeGrowable(box) {
  const line = box.nextElementSibling;
  line.append(" ", el("button", { type: "button", onclick: () => { makeWhole(box); showChosen(); box.focus(); } }, "Show all rows"));
}

// The files of a page in one file: a figure as it is shown, a table with all rows.
function saveShown({ target }) {
  const name = target.dataset?.save;
  const part = name && target.closest("figure, .part");
  if (!part) return undefined;
  if (name.endsWith(".png")) return el("a", { href: part.querySelector("img").src, download: name }).click();
  const table = part.querySelector("table");
  const rows = [...table.rows, ...(part.querySelector("template")?.content.children || [])];
  const heads = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
  return save(name, csvOf([heads, ...rows.slice(1).map(row => [...row.cells].map(cell => cell.dataset.value ?? cell.textContent))]));
}

function startTables() {
  document.addEventListener("click", saveShown);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll(".scroll.tall").forEach(makeFindable);
  document.querySelectorAll(".scroll:has(> template)").forEach(makeGrowable);
  for (const chip of document.querySelectorAll(".chips button")) {
    if (chip.dataset.model) models.add(chip.dataset.model);
    chip.addEventListener("click", () => { chip.ariaPressed = String(chip.ariaPressed !== "true"); showChosen(); });
  }
}
