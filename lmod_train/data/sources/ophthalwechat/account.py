"""Counts of OphthalWeChat's samples beside those that the paper prints."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmod_train.core.types import Sample
from lmod_train.core.vocabulary.modalities import in_order

_PRINTED = Path(__file__).with_name("account.csv")
_KINDS = {"binary_question": "binary", "single_choice_question": "single choice", "open_question": "open"}


@lru_cache(maxsize=1)
def printed() -> Mapping[str, Mapping[str, float]]:
    """Return what the paper prints: ``questions`` and ``images`` of subset -> number, ``subspecialties`` in percent.

    ``modalities`` are the images of each modality and combination, in the words of the vocabulary; 68 combinations are
    printed, of which one stands twice.
    """
    found: dict[str, dict[str, float]] = {}
    with _PRINTED.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            counts = found.setdefault(row["kind"], {})
            counts[row["name"]] = counts.get(row["name"], 0) + float(row["value"])
    return found


def account(samples: Iterable[Sample]) -> dict[str, Any]:
    """Return for each count ``here`` and ``paper``; None where the paper prints none.

    ``questions`` by kind and language, ``images``, ``subspecialties`` (percent of the images that have one),
    ``modalities`` (images of each modality and each combination), ``combinations`` (number of different ones).
    """
    several = list(samples)
    questions = Counter(f"{_KINDS.get(q.task, q.task)} {q.language}" for s in several for q in s.asked)
    modalities = Counter(sample.modality or "not known" for sample in several)
    totals = {"all": sum(questions.values()), "close-ended": sum(n for k, n in questions.items() if k[:4] != "open")}
    known = [m for m in modalities if m != "not known"]
    combinations = {"single": sum("+" not in m for m in known), "combined": sum("+" in m for m in known)}
    return {
        "questions": _beside(dict(sorted(questions.items())) | totals, printed()["questions"]),
        "images": {"here": len(several), "paper": int(printed()["images"]["all"])},
        "subspecialties": _beside(_shares(several), printed()["subspecialties"]),
        "modalities": _beside({m: modalities[m] for m in [*in_order(known), "not known"]}, printed()["modalities"]),
        "combinations": _beside(combinations, printed()["combinations"]),
    }


def _shares(samples: Iterable[Sample]) -> dict[str, float]:
    """Return subspecialty -> percent of the images that have one."""
    counts = Counter(next((q.tags.get("subspecialty", "") for q in sample.asked), "") for sample in samples)
    del counts[""]
    return {name: round(100 * n / counts.total(), 1) for name, n in counts.most_common()}


def _beside(here: Mapping[str, float], paper: Mapping[str, float]) -> dict[str, dict[str, float | None]]:
    names = [*here, *(name for name in paper if name not in here)]
    return {name: {"here": here.get(name, 0), "paper": _whole(paper.get(name))} for name in names}


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value
