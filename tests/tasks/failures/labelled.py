"""Replies with the failures that a person sees in them, written and labelled before any rule that finds them.

`replies.jsonl` holds one reply a line: the question (`ask`, a short name), the `reply`, its `labels`, none for a reply
without a failure, the `finish` reason if it is not ``stop``, and the `split`: ``develop`` is for writing rules,
``held_out`` for measuring them. The split is a hash of question and reply. A label is given by these definitions:

empty: no letter or digit is left without thinking, markup and special tokens.
loop: the same words, letters or lines come again eight times or more in a row, counters apart.
special_tokens: a token of a chat template, of padding or of grounding is visible; marks of thinking and of a boxed
    answer are a format and do not count.
template: the prompt's form is given back with a place that is not filled in, or with all its options as the answer.
unknown_region: a numbered region that is not drawn on the image.
unknown_stage: a stage, grade or numbered group that the scale of the question does not have, for this eye or in a
    description of the scale.
contradiction: the answer and another statement about the same eye exclude each other, and neither is taken back.
unexplained: an answer without a reason where the prompt asks for one; an explanation that only says the answer again
    gives no reason.
abstention: no answer, but a refusal, a doubt, a referral to a doctor or a call for other examinations.
foreign_structure: a region whose type is not an option of the prompt.
negation_flip: an open answer that says the same as the expected one (the rest of `ask`) but for a negation: no, not,
    without, absence of, 无, 未, 没有, 不 or a word of their meaning. The expected answer in other words with the same
    meaning is none, nor is one that says less or more.
generic: text about a disease, a structure or a technique in general, and nothing about this image.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LABELS = (
    *("empty", "loop", "special_tokens", "template", "unknown_region", "unknown_stage", "contradiction"),
    *("unexplained", "abstention", "foreign_structure", "generic", "negation_flip"),
)


@dataclass(frozen=True)
class Labelled:
    """A labelled reply."""

    ask: str
    reply: str
    labels: frozenset[str]
    split: Literal["develop", "held_out"]
    finish: Literal["stop", "length"] = "stop"


def split_of(ask: str, reply: str) -> str:
    """Return the half that a reply belongs to."""
    return "develop" if hashlib.sha256(f"{ask}\n{reply}".encode()).digest()[0] < 128 else "held_out"


def labelled() -> list[Labelled]:
    """Return all labelled replies, in the order of the file."""
    lines = (Path(__file__).parent / "replies.jsonl").read_text("utf-8").splitlines()
    return [Labelled(**{**row, "labels": frozenset(row["labels"])}) for row in map(json.loads, lines)]
