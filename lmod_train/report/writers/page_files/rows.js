// Rows of a long table that hold all given words.

function makeFindable(box) {
  const rows = [...box.querySelectorAll("tbody tr")];
  const texts = rows.map(row => [...row.cells].map(node => node.textContent.trim()).join(" ").toLowerCase());
  const found = el("output");
  const input = el("input", { type: "search", autocomplete: "off", oninput: () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, i) => row.classList.toggle("hidden", !words.every(word => texts[i].includes(word))));
    const of = rows.filter(row => !row.hidden); // on the page of a task, the others are hidden
    found.textContent = words.length ? `${of.filter(row => !row.matches(".hidden")).length} of ${of.length} rows` : "";
  } });
  box.before(el("p", { class: "controls" }, el("label", {}, "Rows with ", input), found));
}
