"""Score against the size of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import ClassVar

from lmod_train.core.artifacts.model_facts import ModelFacts, known_models
from lmod_train.core.tables import SCORE, Cell, Column, Heads, table
from lmod_train.report.contents import Figure, Part
from lmod_train.report.figures.against import draw_against
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.headline_metrics import headline_metric

ALT = "Score of each model against its number of parameters, with a line per family. Models of unknown size are listed."


class Sizes(Section):
    """Score of each model against its number of parameters, as stated in the shipped configs."""

    title: ClassVar[str] = "Size against score"
    name: ClassVar[str] = "sizes"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the figure; nothing if fewer than two models have a known size."""
        rows = [row for task in results.tasks for row in _rows(results, task)]
        if len({row[2] for row in rows if row[3] is not None}) > 1:
            yield Figure("sizes", "Size against score", ALT, table("sizes", COLUMNS, rows), draw_size)


def _rows(results: Results, task: str) -> Iterator[list[Cell]]:
    for name, run in results.named(task):
        metric = headline_metric(run.scores, task)
        score, facts = run.find(task, metric), _facts().get(_key(run.model))
        size = parameters_of(run.model)
        yield [f"{task} ({metric})", family(facts.name) if facts else "", name, size, score.value if score else None]


def parameters_of(model: str) -> float | None:
    """Return the number of parameters of a model in billions, as its shipped config states it; None if none does."""
    facts = _facts().get(_key(model))
    return facts.parameters if facts else None


def family(config: str) -> str:
    """Return the name of a config without the size and what follows it.

    Example:
        >>> family("qwen2_5_vl_7b"), family("internvl_2_5_8b_mpo"), family("gpt_4o")
        ('qwen2_5_vl', 'internvl_2_5', 'gpt_4o')
    """
    return re.sub(r"_\d+b(_.*)?$", "", config)


@cache
def _facts() -> dict[str, ModelFacts]:
    """Return name of a config, checkpoint or service -> facts."""
    return {_key(name): facts for facts in known_models() for name in (facts.name, facts.hub)}


def _key(name: str) -> str:
    """Return a name in lower case without folders, separators and the ending of converted checkpoints."""
    return re.sub(r"[^a-z0-9]", "", name.rstrip("/").rpartition("/")[2].lower().removesuffix("-hf"))


# Score against the size of the model, with a line through each family.
COLUMNS: Heads = ["panel", "family", "model", Column("billion parameters", "number"), SCORE]
"""Columns of the table. A model of unknown size is listed below the figure."""


draw_size = partial(
    draw_against,
    x="billion parameters",
    line="family",
    axis="billion parameters",
    ticks=(0.1, 0.3, 1, 3, 10, 30, 100, 300),
)
