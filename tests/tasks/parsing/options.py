"""Replies to single-choice questions with the option that a person reads in them, written before the parser's rules.

`options.jsonl` holds one reply a line: the list of options (`asked`, a name in `OPTIONS`), the `reply`, and the
`answer`, a letter, or the `outcome` without one: a reason, or ``none`` where the reason does not matter. The half
``develop`` is for writing rules, ``held_out`` for measuring them; the split is a hash of question and reply. The
labels follow these definitions:

- The option that the reply commits to in the end is its answer; a correction or a final answer replaces earlier ones.
- A preference is a commitment ("most likely B", "B is more likely than A"); a mere possibility is none ("could be B").
- Two options without a preference are ``ambiguous``; so is a letter with the text of another option.
- Answers to several questions are ``ambiguous`` unless a line names the answer.
- Denied options leave no answer, even where only one option remains.
- A letter that no option has is ``out_of_range``. "A" and "I" as words of a sentence are no letters.
- A part of an option's text, or its number in the list, is no answer.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from tests.tabled import stored

OPTIONS = stored(__file__, "options.OPTIONS")
"""Name -> options of a question."""


@dataclass(frozen=True)
class Labelled:
    """A labelled reply; either `answer` or `outcome` is empty."""

    asked: str
    reply: str
    answer: str = ""
    outcome: str = ""

    @property
    def split(self) -> str:
        """The half it belongs to."""
        first = hashlib.sha256(f"{self.asked}\n{self.reply}".encode()).digest()[0]
        return "develop" if first < 128 else "held_out"


def labelled() -> list[Labelled]:
    """Return all labelled replies, in the order of the file."""
    lines = (Path(__file__).parent / "options.jsonl").read_text("utf-8").splitlines()
    return [Labelled(**json.loads(line)) for line in lines]
