"""Leave out questions about the patient instead of the image, by keywords in either language."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from lmod_train.tasks.drafting.captions.item import Item, Left
from lmod_train.tasks.parsing.normalise import normalise

FILE = Path(__file__).with_name("keywords.csv")
"""Supplementary Table 2 of OphthalWeChat; its English phrases are printed without separators and were split by hand."""

STEP = "filter"


@cache
def paper_keywords() -> tuple[str, ...]:
    """Return the 65 Chinese and 55 English phrases of Supplementary Table 2, English first."""
    with FILE.open(encoding="utf-8", newline="") as opened:
        return tuple(row["keyword"] for row in csv.DictReader(opened))


def keywords_in(text: str, keywords: Sequence[str]) -> list[str]:
    """Return the keywords that a text contains: Chinese ones anywhere, others as whole words.

    Case, width and blanks do not matter.

    Example:
        >>> keywords_in("Which GENDER has the 儿童?", ["gender", "儿童", "end"])
        ['gender', '儿童']
    """
    plain = _plain(text)
    closed = "".join(plain.split())
    return [k for k in keywords if (p := _pattern(k)).search(closed if _is_chinese(k) else plain) and p.pattern]


def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().split())


def _is_chinese(keyword: str) -> bool:
    return re.search(r"[\u3400-\u9fff]", keyword) is not None


@cache
def _pattern(keyword: str) -> re.Pattern[str]:
    if _is_chinese(keyword):
        return re.compile(re.escape("".join(_plain(keyword).split())))
    plain = _plain(keyword)
    return re.compile(rf"(?<![a-z0-9]){re.escape(plain)}(?![a-z0-9])" if plain else "")


def filtered(items: Sequence[Item], keywords: Sequence[str]) -> tuple[list[Left], dict[str, int]]:
    """Return the questions that contain a keyword, in either language, question, options or answer; and counts.

    Args:
        items: Questions.
        keywords: Phrases; empty filters nothing.

    Returns:
        The questions that are left out, and keyword -> number of questions with it; one with two keywords counts twice.
    """
    hits = {item.id: found for item in items if (found := keywords_in("\n".join(item.texts), keywords))}
    left = [Left(id, STEP, "keyword", ", ".join(found)) for id, found in hits.items()]
    return left, by_keyword(hits)


def by_keyword(hits: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return keyword -> number of questions, the most frequent first."""
    return dict(Counter(keyword for found in hits.values() for keyword in found).most_common())
