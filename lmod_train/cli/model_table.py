"""The table of models as Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from lmod_train.core.artifacts.model_facts import PAPERS, ModelFacts, known_models

COLUMNS = ("model", "papers", "hub", "licence", "parameters", "memory", "route", "state", "tried")


def markdown(models: Iterable[ModelFacts] | None = None) -> str:
    """Return the table with parameters in billions and memory in GB, then notes on each model.

    Args:
        models: Rows; default: all models of the shipped configs.
    """
    rows = list(known_models() if models is None else models)
    head = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---|--:|--:|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(row(model))} |" for model in rows), "", *map(notes, rows)])


def row(model: ModelFacts) -> tuple[str, ...]:
    """Return the cells of a model in the Markdown table."""
    active = f" ({model.active:g} active)" if model.active else ""
    memory = gpu_memory(model)
    return (
        f"`{model.name}`",
        ", ".join(PAPERS[paper] for paper in model.published) or "-",
        f"{model.hub} (end: {model.ends})" if model.ends else model.hub,
        model.licence,
        f"{model.parameters:g}{active}" if model.parameters else "-",
        f"{memory:.0f}" if memory else "-",
        model.route,
        _states(model),
        model.tried,
    )


def _states(model: ModelFacts) -> str:
    """Return the states of a model's rows, with the papers they hold for where they differ."""
    papers: dict[str, list[str]] = {}
    for paper, published in model.published.items():
        papers.setdefault(published.state, []).append(PAPERS[paper])
    if len(papers) < 2:
        return next(iter(papers), "-")
    return "; ".join(f"{state} ({', '.join(names)})" for state, names in papers.items())


def notes(model: ModelFacts) -> str:
    """Return a Markdown item: description, route, eye images in training, and the published rows with their scores.

    Also the announced end of a service, and the day on which the facts were compared with public pages.
    """
    rows = [f"  - {_row(paper, model)}" for paper in model.published]
    text = (
        f"- `{model.name}`: {model.about} Revision: {model.revision}. Image: {model.image or 'unknown'}. Route "
        f"{model.route}: {model.why}. Eye images in training: {model.contamination}."
    )
    if model.ends:
        text += f" End of the service: {model.ends}{f'; {model.replaced}' if model.replaced else ''}."
    if model.looked_up:
        text += f" Compared with public pages on {model.looked_up}."
    return "\n".join([text, *rows])


def _row(paper: str, model: ModelFacts) -> str:
    row = model.published[paper]
    scores = ", ".join(f"{task.replace('_', ' ')} {score:g}" for task, score in row.scores.items())
    note = f" ({row.note})" if row.note else ""
    return f"{PAPERS[paper]}, printed {', '.join(row.rows)}: {row.state}{note}" + (f"; {scores}" if scores else "")


def comma_separated(models: Iterable[ModelFacts] | None = None) -> str:
    """Return all facts as CSV, one line for each model and paper; a model of no paper has one line.

    Args:
        models: Rows; default: all models of the shipped configs.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ("model", "hub", "revision", "licence", "parameters", "active", "image", "tokens", "memory", "route", "why")
    writer.writerow(
        [*head, "contamination", "tried", "ends", "looked_up", "paper", "printed", "state", "note", "scores"]
    )
    for model in known_models() if models is None else models:
        memory = gpu_memory(model)
        facts = [model.name, *(getattr(model, name) for name in ("hub", "revision", "licence", "parameters", "active"))]
        facts += [model.image, model.tokens, f"{memory:.1f}" if memory else "", model.route, model.why]
        facts += [model.contamination, model.tried, model.ends or "", model.looked_up or ""]
        for paper, row in model.published.items():
            scores = " ".join(f"{task}={score}" for task, score in row.scores.items())
            writer.writerow([*facts, PAPERS[paper], "; ".join(row.rows), row.state, row.note, scores])
        if not model.published:
            writer.writerow([*facts, "", "", "", "", ""])
    return out.getvalue().rstrip("\n")


BYTES = 2
"""Bytes of a value in bfloat16."""

QUESTIONS, TEXT = 8, 1024
"""Number of questions that are answered at once, and tokens of each beside its image: 512 of prompt, 512 of reply."""


def gpu_memory(model: ModelFacts) -> float | None:
    """Return the memory of weights and key-value cache in GB (10^9 bytes); None if parameters or cache are unknown.

    The cache holds keys and values of `QUESTIONS` sequences, each with one image of 1024 x 1024 pixels. Activations,
    the vision tower's above all, and the libraries' own memory come on top; sliding windows need less.
    """
    if model.parameters is None or model.cache is None or model.tokens is None:
        return None
    values = 2 * model.cache.layers * model.cache.heads * model.cache.width
    cache = QUESTIONS * (model.tokens + TEXT) * values * BYTES
    return model.parameters * BYTES + cache / 1e9
