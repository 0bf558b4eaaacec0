"""What the small base reads without a picture: the benchmark's prompts, and its vocabulary in English and Chinese."""

from __future__ import annotations

from lmod_train.tasks import anatomy, four_way, glaucoma
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.structures import STRUCTURES
from lmod_train.vocabulary.term import Term


def prompts() -> list[str]:
    """Return the tasks' prompts, placeholders and all, and the forms they ask for."""
    options = [f"Region ID: {i}; Type: {w}" for i in (1, 2, 3) for words in anatomy.OPTIONS.values() for w in words]
    return [anatomy.PROMPTS["lmod_plus"], four_way.PROMPT, glaucoma.PROMPT, *options]


def vocabulary() -> list[str]:
    """Return a few sentences for each word: what it is also called, and how it is written in the other language."""
    sentences: list[str] = []
    for term in (*CONDITIONS, *STRUCTURES):
        sentences += _sentences(term)
    return sentences


def _sentences(term: Term) -> list[str]:
    said = [
        f"{term.name}",
        f"What is {term.name}? It is a word of eye care.",
        f"{term.name.upper()}, NON-{term.name.upper()}.",
    ]
    said += [f"{other} means {term.name}." for other in term.english]
    said += [f"{chinese}的英文是{term.name}。" for chinese in term.chinese]
    return said + [f"{term.name} in Chinese: {chinese}." for chinese in term.chinese]
