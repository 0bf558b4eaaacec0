"""Replies to the three kinds of question of OphthalWeChat, with what a person reads in them, written before the rules.

`bilingual.jsonl` holds one reply a line: the kind of question (`asked`, a name in `CHOICES`), the `reply`, and the
`answer` or the `outcome` without one: a reason, or ``none`` where the reason does not matter. The half ``develop`` is
for writing rules, ``held_out`` for measuring them; the split is a hash of question and reply. The labels follow those
of `tests.tasks.parsing.options`, and these:

- A reply is labelled without the statement that it judges: "There is no edema" alone judges nothing.
- An answer in the other language counts ("False" for 错).
- "Probably" commits, "possibly", "partially" and a condition do not; a denied denial ("not false") affirms.
- An answer to an open question is its whole text (``text``); one that only declines is ``refused``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Record, Reply, Unparsed
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from tests.tabled import stored
from tests.tasks.parsing.options import Labelled

CHOICES = stored(__file__, "bilingual.CHOICES")
"""Kind of question -> its choices."""
_TASKS = {
    "true_false": BinaryQuestion,
    "dui_cuo": BinaryQuestion,
    "en4": SingleChoiceQuestion,
    "zh4": SingleChoiceQuestion,
    "open_en": OpenQuestion,
    "open_zh": OpenQuestion,
}


@cache
def labelled() -> list[Labelled]:
    """Return all labelled replies, in the order of the file."""
    lines = (Path(__file__).parent / "bilingual.jsonl").read_text("utf-8").splitlines()
    return [Labelled(**json.loads(line)) for line in lines]


def outcome(asked: str, text: str) -> str:
    """Return what a task reads in a reply: a choice, a letter or ``text``; or the reason without an answer, after "?".

    Raises:
        ValueError: The answer is none of the choices.
    """
    choices = CHOICES[asked]
    answer = _TASKS[asked]().parse(Reply("a", text), _record(asked))
    if isinstance(answer, Unparsed):
        return f"?{answer.reason}"
    if not choices:
        return "text"
    if answer not in choices:
        raise ValueError(f"{text!r}: {answer!r} is none of {choices}")
    return LETTERS[choices.index(answer)] if len(choices) == 4 else str(answer)


def is_right(row: Labelled, found: str) -> bool:
    """Return whether a reading is that of the label; without an answer, any reason counts for ``none``."""
    if row.answer or row.outcome != "none":
        return found == (row.answer or f"?{row.outcome}")
    return found.startswith("?")


def measured(split: str) -> tuple[list[tuple[Labelled, str]], int]:
    """Return the replies of a half that are read wrongly, each with its reading, and how many the half has."""
    rows = [(row, outcome(row.asked, row.reply)) for row in labelled() if row.split == split]
    return [(row, found) for row, found in rows if not is_right(row, found)], len(rows)


def precision_and_recall(split: str, asked: str = "") -> tuple[int, int, int]:
    """Return how many replies of a half are read as an answer, how many of these rightly, and how many have one."""
    rows = [row for row in labelled() if row.split == split and asked in ("", row.asked)]
    found = [(row, outcome(row.asked, row.reply)) for row in rows]
    read = [(row, answer) for row, answer in found if not answer.startswith("?")]
    return len(read), sum(answer == row.answer for row, answer in read), sum(bool(row.answer) for row in rows)


def _record(asked: str) -> Record:
    return Record(
        id="a", task=asked, task_class="", task_version=1, source="s", key="k", modality="CFP", image=(),
        image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(),
        choices=CHOICES[asked], answer="",
    )  # fmt: skip
