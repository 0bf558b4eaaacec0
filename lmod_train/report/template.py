"""The page's HTML: one file, no outside script, style or font; readable without scripts as one long list.

Its policy names the one style and the one script by their hashes, so that a browser runs no other, wherever on the page
it may have come from.
"""

from __future__ import annotations

import base64
import hashlib

STYLE = """
body { font: 15px/1.45 "DejaVu Sans", Verdana, sans-serif; color: #1a1a1a;
  max-width: 70rem; margin: 1rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; font-size: .9rem }
td, th { padding: .25rem .6rem; border-bottom: 1px solid #ccc; text-align: left }
tr.published td, tr.shortcut td { color: #555; font-style: italic }
.remark { border-left: 3px solid #0072B2; padding: .2rem .8rem; font-weight: bold }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.local { border: 3px solid #D55E00; padding: .6rem 1rem; margin: 1rem 0 }
.figures img { max-width: 100%; border: 1px solid #ddd; margin: .4rem 0 }
nav { position: sticky; top: 0; background: #fff; padding: .6rem 0; border-bottom: 1px solid #ccc }
select, button { font: inherit; padding: .2rem .5rem; margin-right: .5rem }
article { display: flex; gap: 1.2rem; padding: 1rem 0; border-bottom: 1px solid #ddd }
article .pictures { flex: 0 0 256px } article img { max-width: 256px; display: block; margin-bottom: .4rem }
article dl { margin: 0; flex: 1; min-width: 0 } dt { font-weight: bold; font-size: .85rem; margin-top: .5rem }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }
dd.reply { background: #f4f4f4; padding: .4rem .6rem; max-height: 20rem; overflow: auto }
.status { font-weight: bold } .status.right { color: #00654a } .status.wrong { color: #a03c00 }
.hidden { display: none }
"""

SCRIPT = """
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
"""


def hash_of(text: str) -> str:
    """Return how a Content-Security-Policy names a script or style: by the SHA-256 of what stands between its tags.

    Example:
        >>> hash_of("alert('Hello, world.');")  # the example of the standard (CSP Level 3)
        'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:;
 style-src '{{ hash_of(style) }}'; script-src '{{ hash_of(script) }}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Predictions</title>
<style>{{ style }}</style>
</head>
<body>
<h1>Scores and predictions</h1>
{% if notes | selectattr("stays") | list %}
<div class="local"><strong>This page must stay on this machine.</strong> It shows images that may not be passed on:
{% for note in notes if note.stays %}{{ note.source }} ({{ note.licence }})
{{- "; " if not loop.last }}{% endfor %}.</div>
{% endif %}
{% for remark in remarks %}
<p class="remark">{{ remark }}</p>
{% endfor %}
<table>
<tr><th>task<th>model<th>run<th>metric<th>n<th>score<th>95 % interval<th>chance<th>majority<th>unparsed</tr>
{% for row in rows %}
<tr><td>{{ row.task }}<td>{{ row.model }}<td>{{ row.run }}<td>{{ row.metric }}<td class="n">{{ row.n }}
<td class="n">{{ number(row.value) }}<td class="n">{{ interval(row.low, row.high) }}
<td class="n">{{ number(row.chance) }}<td class="n">{{ number(row.majority) }}
<td class="n">{{ percent(row.unparsed) }}</tr>
{% if loop.last or loop.nextitem.task != row.task %}
{% for s in shortcuts if s.task == row.task %}
<tr class="shortcut"><td>{{ s.task }}<td colspan="2">{{ s.shortcut }}, without reading the eye, {{ s.split }}
<td>{{ s.metric }}<td class="n">{{ s.n }}<td class="n">{{ number(s.value) }}
<td class="n">{{ interval(s.low, s.high) }}<td><td><td></tr>
{% endfor %}
{% for p in printed if p.task == row.task %}
<tr class="published"><td>{{ p.task }}<td colspan="9">{{ p.line }}</tr>
{% endfor %}
{% endif %}
{% endfor %}
</table>
<h2>Where the rows come from</h2>
<table>
<tr><th>model<th>weights<th>trained<th>records of<th>images<th>leaks<th>lmod_train</tr>
{% for name, o in origins.items() %}
<tr><td>{{ name }}<td>{{ o.weights }}<td>{{ o.trained }}
<td>{% for split, n in o.splits.items() %}{{ split }} {{ n }}{{ ", " if not loop.last }}{% endfor %}
<td>{{ o.images }}
<td>{% if o.leaks is none %}not told{% else %}
{% for kind, n in o.leaks.items() %}{{ kind }} {{ n }}{{ ", " if not loop.last }}{% endfor %}{% endif %}
<td>{{ o.version }}</tr>
{% endfor %}
</table>
<p>{{ origin_said }}</p>
<h2>Figures</h2>
<div class="figures">
{% for name, data in pictures %}
<img alt="{{ name }}" src="data:image/png;base64,{{ data }}">
{% endfor %}
</div>
<h2>Predictions</h2>
{% if cards | length < total %}
<p>Shown are {{ cards | length }} of {{ total }} predictions: a fixed sample, spread over runs and tasks.
All are in predictions.parquet of each run.</p>
{% else %}
<p>Shown are all {{ total }} predictions.</p>
{% endif %}
<nav>
{% for name, values in [("task", tasks), ("run", runs), ("status", statuses)] %}
<label>{{ name }} <select data-filter="{{ name }}"><option value="">all</option>
{% for value in values %}<option>{{ value }}</option>{% endfor %}</select></label>
{% endfor %}
<button id="previous">previous</button><button id="next">next</button><span id="place"></span>
</nav>
{% for card in cards %}
<article data-task="{{ card.task }}" data-run="{{ card.run }}" data-status="{{ card.status }}">
<div class="pictures">
{% for place in card.images %}
<img data-image="{{ place }}" alt="image of {{ card.id }}">
{% endfor %}
{% for name in card.missing %}
<p>Image not found: {{ name }}</p>
{% endfor %}
</div>
<dl>
<dt>{{ card.task }}, {{ card.source }}, {{ card.modality }}<dd>{{ card.id }}
<dt>run<dd>{{ card.run }}: <span class="status {{ card.status }}">{{ card.status }}</span>
<dt>question<dd>{{ card.question }}
<dt>truth<dd>{{ card.truth }}
<dt>answer as understood<dd>{{ card.answer }}
<dt>reply<dd class="reply">{{ card.reply }}
</dl>
</article>
{% endfor %}
<script type="application/json" id="images">{{ images | tojson }}</script>
<script>{{ script }}</script>
</body>
</html>
"""
