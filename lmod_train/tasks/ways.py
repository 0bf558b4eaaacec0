"""The ways in which each question of an evaluation is asked: wordings, orders, system messages, examples, repeats."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part, Record
from lmod_train.scoring.ways import FACTORS, PLAIN, asked_id, question_of, values_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.orders import count_orders, reordered
from lmod_train.tasks.shots import Examples, with_examples
from lmod_train.tasks.wordings import count_wordings, reworded

MOST_ORDERS = 120
"""Maximum number of orders of one question: those of five options."""

_NAME = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)  # the parser of arguments reads a default from its `__dict__`
class Ways:
    """Ways in which each evaluated question is asked; by default once, as curated.

    Every combination is asked. Training, and the validation in `fit`, are not affected. A question has fewer wordings
    or orders if its task has no more.

    Attributes:
        wordings: Number of wordings of a prompt: the published one and its paraphrases; ``all`` for all that its task
            has.
        orders: Number of orders of the options that a prompt lists: its own, the reverse, then drawn ones; ``all`` for
            every permutation, of at most five options.
        system_prompts: Name -> text of a system message before the question, each asked; ``none: ""`` asks without one.
        shots: Number of answered training questions that precede the question, with their images.
        repeats: Number of times that the same is asked, for decoding that samples.
        seed: Seed of the drawn orders and of the examples.
    """

    wordings: int | Literal["all"] = 1
    orders: int | Literal["all"] = 1
    system_prompts: dict[str, str] | None = None
    shots: int = 0
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers, and the names of the system messages, which are a part of record ids."""
        for name, least in (("wordings", 1), ("orders", 1), ("shots", 0), ("repeats", 1)):
            value = getattr(self, name)
            if value != "all" and value < least:
                cure = f"leave data.asking.{name} out to ask as curated"
                raise BadArgument(f"data.asking.{name}", value, f"a number from {least}", cure)
        for name, text in (self.system_prompts or {}).items():
            if not _NAME.fullmatch(name) or (name == PLAIN["system"]) != (not text):
                expected = "names of letters, digits and dashes, each with a text; `none` alone has an empty one"
                raise BadArgument("data.asking.system_prompts", {name: text}, expected, "e.g. `expert: You are a ...`")

    @property
    def factors(self) -> tuple[str, ...]:
        """Factors that its records state, in the order of `FACTORS`."""
        stated = (self.wordings != 1, self.orders != 1, bool(self.system_prompts), self.shots > 0, self.repeats > 1)
        return tuple(factor for factor, is_stated in zip(FACTORS, stated, strict=True) if is_stated)


AS_CURATED = Ways()


def is_greedy(settings: Mapping[str, Any]) -> bool:
    """Return whether a responder's settings (`Identity.settings`) state that equal questions have equal replies.

    Example:
        >>> is_greedy({"decoding": '{"do_sample": false}'}), is_greedy({"temperature": 0.0}), is_greedy({})
        (True, True, False)
    """
    try:
        decoding = json.loads(str(settings.get("decoding", "{}")))
    except ValueError:
        decoding = {}
    return settings.get("temperature") == 0 or (isinstance(decoding, dict) and decoding.get("do_sample") is False)


def in_every_way(
    records: Sequence[Record], tasks: Mapping[str, Task], ways: Ways, training: Iterable[Record]
) -> list[Record]:
    """Return a record for each way of asking each question, in the order of the questions.

    Of a way, only messages, images, id and tags differ from the curated record: choices, answer and regions stay, so
    that replies are parsed and likelihoods computed as before. Of options listed with letters, another order gives each
    text another letter: then the reference reply is its new letter, and replies are read by the letters of the prompt.
    The curated record itself is among them, with its id, unless it has a system message or examples in every way.

    Args:
        records: The questions, as curated.
        tasks: Name -> task of the records.
        ways: The ways.
        training: The training split, from which examples are drawn.

    Raises:
        BadArgument: A way cannot be asked: there are too few examples, too many orders, the record has a system message
            or a tag of its own with the name of a factor; or nothing of what was requested exists for any question.
    """
    if not ways.factors:
        return list(records)
    examples = Examples(training, ways.seed) if ways.shots else None
    asked = [way for record in records for way in _ways_of(record, tasks[record.task], ways, examples)]
    for factor, number in (("wording", ways.wordings), ("order", ways.orders)):
        if records and number != 1 and len(values_of(((r.id, r.tags) for r in asked), factor)) < 2:
            cure = "leave it out, or add paraphrases to the task (`Task.wordings`)"
            found = f"tasks of which a prompt has another {factor}; of {', '.join(sorted(tasks))} none has"
            raise BadArgument(f"data.asking.{factor}s", number, found, cure)
    return asked


def _ways_of(record: Record, task: Task, ways: Ways, examples: Examples | None) -> Iterator[Record]:
    """Yield the record of each way of one question."""
    if taken := sorted(set(record.tags) & set(FACTORS)):
        raise BadArgument(f"tags of {record.id}", taken, f"other names than {', '.join(FACTORS)}", "rename the tag")
    drawn = examples.draw(record, ways.shots) if examples else []
    for wording in range(_number(ways.wordings, count_wordings(record, task.wordings))):
        for order in range(_orders(record, task, wording, ways)):

            def as_asked(one: Record, wording: int = wording, order: int = order) -> Record:
                other = reworded(one, task.wordings, wording)
                return reordered(other, task.listed(one), order, ways.seed) if order else other

            asked = as_asked(record)
            asked = with_examples(asked, drawn, as_asked) if drawn else asked
            for name, text in (ways.system_prompts or {PLAIN["system"]: ""}).items():
                for repeat in range(1, ways.repeats + 1):
                    values = (str(wording), str(order), name, str(ways.shots), str(repeat))
                    yield _named(_with_system(asked, text), ways, dict(zip(FACTORS, values, strict=True)))


def _number(wanted: int | Literal["all"], there: int) -> int:
    return there if wanted == "all" else min(wanted, there)


def _orders(record: Record, task: Task, wording: int, ways: Ways) -> int:
    if ways.orders == 1:
        return 1
    options = task.listed(record)
    there = count_orders(reworded(record, task.wordings, wording), options)
    number = _number(ways.orders, there)
    if number > MOST_ORDERS:
        expected = f"at most {MOST_ORDERS} orders; {record.id} lists {len(options)} options"
        raise BadArgument("data.asking.orders", ways.orders, expected, "name a number, e.g. `--data.asking.orders 4`")
    return number


def _with_system(record: Record, text: str) -> Record:
    if not text:
        return record
    if any(m.role == "system" for m in record.messages):
        cure = "leave out data.asking.system_prompts, or the task"
        raise BadArgument(f"messages of {record.id}", "a system message", "none of its own", cure)
    return replace(record, messages=(Message("system", (Part("text", text),)), *record.messages))


def _named(record: Record, ways: Ways, way: Mapping[str, str]) -> Record:
    stated = {factor: way[factor] for factor in ways.factors}
    return replace(record, id=asked_id(record.id, way), tags={**record.tags, **stated})


def summary(records: Sequence[Record]) -> list[str]:
    """Return a line for each task with the number of its questions and ways; empty if all are asked as curated.

    Example:
        >>> from dataclasses import fields
        >>> blank = {f.name: () for f in fields(Record)} | {"task": "glaucoma"}
        >>> ways = {"a": {"wording": "0"}, "a/wording-1": {"wording": "1"}}
        >>> summary([Record(**blank | {"id": id, "tags": tags}) for id, tags in ways.items()])
        ['glaucoma: 1 question, 2 records (2 of wording)']
    """
    lines = []
    for task in dict.fromkeys(r.task for r in records):
        own = [(r.id, r.tags) for r in records if r.task == task]
        asked = Counter(question_of(id, tags) for id, tags in own)
        counts = {factor: len(values_of(own, factor)) for factor in FACTORS}
        stated = [f"{n} of {factor}" for factor, n in counts.items() if n]
        if stated:
            counted = f"{_plural(len(asked), 'question')}, {_plural(len(own), 'record')}"
            lines.append(f"{task}: {counted} ({', '.join(stated)})")
    return lines


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
