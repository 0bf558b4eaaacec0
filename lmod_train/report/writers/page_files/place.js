// The address names what is shown: #view=predictions&task=...&model=...&item=...

const FILTERS = ["model", "task", "modality", "source", "outcome", "group", "error", "only", "q", "order"];

function readPlace() {
  const values = new URLSearchParams(location.hash.slice(1));
  const place = { view: values.get("view") || "scores", item: values.get("item") || "",
    chapter: values.get("chapter") || "", with: values.getAll("with") };
  for (const name of FILTERS) place[name] = values.get(name) || "";
  return place;
}

function address(place) {
  const values = new URLSearchParams();
  if (place.view !== "scores") values.set("view", place.view);
  for (const name of [...FILTERS, "item", "chapter"]) if (place[name]) values.set(name, place[name]);
  for (const label of place.with || []) values.append("with", label);
  return `#${values}`;
}

function go(changes) {
  const to = address({ ...readPlace(), ...changes });
  if (to === location.hash || (to === "#" && !location.hash)) show();
  else location.hash = to;
}

// An item is named by its id and model, as numbers differ between reports.
const itemName = reply => `${modelOf(reply)}\n${idOf(reply)}`;

function itemOf(name) {
  const [model, id] = [name.slice(0, name.indexOf("\n")), name.slice(name.indexOf("\n") + 1)];
  return (data.siblings.get(id) || []).find(reply => modelOf(reply) === model);
}
