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

function makeHideable(table) {
  const shown = byId("models-shown");
  const back = byId("models-back");
  const filter = byId("models-filter");
  byId("models-tools").hidden = false;
  const update = () => {
    const rows = [...table.tBodies[0].rows];
    const words = filter.value.toLowerCase();
    rows.forEach(row => { row.hidden = row.dataset.away === "1" || !row.cells[0].textContent.toLowerCase().includes(words); });
    const visible = rows.filter(row => !row.hidden).length;
    shown.textContent = `${visible} of ${rows.length} models`;
    back.hidden = !rows.some(row => row.dataset.away === "1");
  };
  for (const row of table.tBodies[0].rows) {
    const name = row.cells[0].textContent.trim();
    row.cells[0].append(" ", el("button", { type: "button", class: "away", "aria-label": `hide ${name}`,
      onclick: () => { row.dataset.away = "1"; update(); } }, "hide"));
  }
  back.addEventListener("click", () => { for (const row of table.tBodies[0].rows) delete row.dataset.away; update(); });
  filter.addEventListener("input", update);
  update();
}

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
  line.append(" ", el("button", { type: "button", onclick: () => { makeWhole(box); box.focus(); } }, "Show all rows"));
}

const FEW = 8; // models that need no search

function startTables() {
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll(".scroll.tall").forEach(makeFindable);
  document.querySelectorAll(".scroll:has(> template)").forEach(makeGrowable);
  const board = byId("leaderboard");
  if (board && board.tBodies[0].rows.length > FEW) makeHideable(board);
}
