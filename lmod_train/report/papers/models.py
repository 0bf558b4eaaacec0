"""Models of the papers: names as printed, and the names that runs give them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from lmod_train.core.artifacts.model_facts import ModelFacts, PublishedRow, known_models
from lmod_train.report.papers.printed import read_table


@cache
def canonical_names() -> dict[tuple[str, str], str]:
    """Return (paper, printed name) -> the name that the model has in all papers."""
    return {(row["paper"], row["printed_name"]): row["canonical_name"] for row in read_table("model_aliases")}


@cache
def row_facts() -> dict[tuple[str, str], PublishedRow]:
    """Return (paper, printed name) -> facts about the model's row in the paper, from the shipped model configs."""
    rows = ((paper, row) for facts in known_models() for paper, row in facts.published.items())
    return {(paper, name): row for paper, row in rows for name in row.rows}


def models_of_run(name: str) -> frozenset[str]:
    """Return the models of the papers that a run's model is, by its name; empty if it is none of them.

    Known are the printed names, the names of the shipped configs, and those of the checkpoints and services in them,
    in upper or lower case, with any separators, and with folders in front. One model can have several names in the
    papers: Qwen2.5-VL-7B is printed as Qwen-7B in LMOD+.

    Example:
        >>> models_of_run("checkpoints/llava-1.5-7b-hf"), models_of_run("gpt-4o-2024-11-20"), models_of_run("cnn")
        (frozenset({'LLaVA-1.5-7B'}), frozenset({'GPT-4o'}), frozenset())
    """
    return _names().get(_key(name), frozenset())


@cache
def _names() -> dict[str, frozenset[str]]:
    """Return key of a name -> models."""
    found: dict[str, frozenset[str]] = {}
    for name, model in _named():
        found[_key(name)] = found.get(_key(name), frozenset()) | {model}
    return found


def _named() -> Iterator[tuple[str, str]]:
    for (_, name), model in canonical_names().items():
        yield from ((name, model), (model, model))
    for facts in known_models():
        for paper, row in facts.published.items():
            yield from ((name, canonical_names()[paper, row.rows[0]]) for name in _called(facts))


def _called(facts: ModelFacts) -> tuple[str, ...]:
    """Return the names under which a config and its checkpoint or service are known."""
    return (facts.name, *((facts.hub,) if facts.route != "X" else ()))


def _key(name: str) -> str:
    """Return a name without folders, provider, separators and the ending ``-hf`` of converted checkpoints."""
    last = re.split(r"/|: ", name.rstrip("/"))[-1].lower()
    return re.sub(r"[^a-z0-9]", "", last.removesuffix("-hf"))
