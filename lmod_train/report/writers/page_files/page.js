const images = JSON.parse(document.getElementById("images").textContent);
const cards = [...document.querySelectorAll("article")], filters = [...document.querySelectorAll("select")];
let at = 0;
function show() {
  const fit = cards.filter(c => filters.every(f => !f.value || c.dataset[f.dataset.filter] === f.value));
  at = Math.max(0, Math.min(at, fit.length - 1));
  cards.forEach(c => c.classList.toggle("hidden", c !== fit[at]));
  if (fit.length) fit[at].querySelectorAll("img").forEach(i => { i.src = images[i.dataset.image]; });
  document.getElementById("place").textContent = fit.length ? `${at + 1} of ${fit.length}` : "none";
}
filters.forEach(f => f.addEventListener("change", () => { at = 0; show(); }));
document.getElementById("previous").addEventListener("click", () => { at -= 1; show(); });
document.getElementById("next").addEventListener("click", () => { at += 1; show(); });
document.addEventListener("keydown", e => {
  if (e.target.tagName === "SELECT") return;
  if (e.key === "ArrowLeft") { at -= 1; show(); }
  if (e.key === "ArrowRight") { at += 1; show(); }
});
show();
