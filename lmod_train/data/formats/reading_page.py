"""The page of a blank sheet: the images with their questions, to read beside the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from jinja2 import Environment

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Images and questions</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'">
<style>
body { font: 16px/1.5 sans-serif; color: #1a1a1a; background: #fff; max-width: 64rem;
  margin: 1rem auto; padding: 0 1rem }
section { border-top: 1px solid #999; padding: 1rem 0 }
img { max-width: 100%; height: auto; display: block; margin-bottom: .5rem }
code { font-size: 1.1em; user-select: all } .notice { border: 3px solid #D55E00; padding: .6rem 1rem }
p.question { white-space: pre-wrap; overflow-wrap: anywhere }
</style></head><body>
<h1>Images and questions</h1>
{% if stays %}
<p class="notice">These images must not be passed on; see the file NOTICE beside this page.</p>
{% endif %}
<p>{{ count }} questions. Write each answer in the column <b>answer</b> of the table, in the row of the question's id.
Use one of the choices where there are any.</p>
<main>
{% for images, questions in groups %}
<section aria-label="{{ images | join(', ') or 'no image' }}">
{% for image in images %}
<img src="images/{{ image }}" alt="image {{ image }}" loading="lazy"><p>{{ image }}</p>
{% else %}
<p>No image.</p>
{% endfor %}
{% for q in questions %}
<article><h2><code>{{ q.id }}</code></h2><p class="question">{{ q.question }}</p>
{% if q.choices %}
<p>Choices: <b>{{ q.choices | join(" | ") }}</b></p>
{% endif %}
{% if q.regions %}
<p>One row for each of the regions {{ q.regions | join(", ") }}.</p>
{% endif %}
</article>
{% endfor %}
</section>
{% endfor %}
</main></body></html>
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a person sees it.

    Attributes:
        id: Its code in the table.
        images: Names of its images in the sheet's folder.
        question: The words of the prompt.
        choices: Answers to choose from; empty for free text.
        regions: Numbers of the regions to name; empty if it asks about none.
    """

    id: str
    images: tuple[str, ...]
    question: str
    choices: tuple[str, ...]
    regions: tuple[str, ...]


def page(questions: Sequence[Asked], stays: bool) -> str:
    """Return the page as HTML without scripts; questions about the same images in a row stand together.

    Args:
        questions: In the order of the table.
        stays: Whether the images must not be passed on, which the page then states.
    """
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(PAGE)
    return template.render(groups=list(_groups(questions)), count=len(questions), stays=stays)


def _groups(questions: Sequence[Asked]) -> Iterator[tuple[tuple[str, ...], list[Asked]]]:
    for images, several in groupby(questions, key=lambda q: q.images):
        yield images, list(several)
