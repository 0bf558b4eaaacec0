"""Regimes in which the questions of a chain are asked: each alone, or with the answers to earlier ones as context.

X-PCR (supplement, section 4.1) asks each stage alone (IND), and with the model's own answer to the preceding stage as
context (CAS). The true answers as context, and planted wrong ones, are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import REGIME, Answer, Message, Record, Unparsed
from lmod_train.tasks.base import Task
from lmod_train.tasks.filled import filled, plain_text, unfilled

Regime = Literal["independent", "cas_last", "cas_all", "oracle", "planted"]
"""``independent``: each question alone. ``cas_last``: after the model's own answer to the preceding question of its
chain. ``cas_all``: after its own answers to all earlier ones. ``oracle``: after the true answers to all earlier ones.
``planted``: after a wrong option as answer to the preceding question."""

PLANTED = "planted"
"""Tag of the records of the regime ``planted``: the wrong answer in their words."""

IMPLIED = "implied"
"""Tag of those records whose options the wrong answer implies some of: these options, one a line."""


def in_regime(
    records: Sequence[Record], tasks: Mapping[str, Task], regime: Regime, everything: Mapping[str, Record]
) -> list[Record]:
    """Return the records as they are asked in a regime, in their order.

    The sentences with earlier answers (`Task.states`) stand before the question, in its last
    turn. In ``cas_last`` and ``cas_all`` they hold placeholders, which are filled when the answers are there
    (`lmod_train.tasks.cascade`). Words that hold placeholders of their own keep them, and have no further sentence.
    Questions without needs are asked as they are. Id, choices, reference reply and images do not change.

    Args:
        records: Records as curated.
        tasks: Name -> task, whose parser reads the true answers.
        regime: The regime.
        everything: Id -> record, for all records that `records` need.

    Raises:
        BadArgument: Words hold answers to earlier questions, and the regime is ``independent``; or a record needs the
            answer to a question that is not among `everything`, or of a task that is not among `tasks`.
    """
    if regime == "independent":
        return _independent(records)
    missing = sorted(need for r in records for need in r.needs if need not in everything)
    if missing:
        expected = f"data.tasks with the questions of whole chains; {missing[0]} is not among them"
        raise BadArgument("data.regime", regime, expected, "name the task of that question too, and no variant")
    return [_IN[regime](r, tasks, everything) if r.needs else r for r in records]


def _independent(records: Sequence[Record]) -> list[Record]:
    found = sorted(r.id for r in records if unfilled(r))
    if found:
        expected = f"another regime for questions that hold answers to earlier ones; {len(found)} do, e.g. {found[0]}"
        cure = (
            "`--data.regime cas_all` asks them after the model's own answers, `--data.regime oracle` after the true "
            "ones, as `fit` needs; or leave them out with `--data.variant`"
        )
        raise BadArgument("data.regime", "independent", expected, cure)
    return list(records)


def _cas_last(record: Record, tasks: Mapping[str, Task], everything: Mapping[str, Record]) -> Record:
    if unfilled(record):
        return _tagged(record, "cas_last")
    last = _last(record, tasks, everything)
    return _tagged(replace(_before(record, [_states(last, "{answer 1}", tasks, record)]), needs=(last.id,)), "cas_last")


def _cas_all(record: Record, tasks: Mapping[str, Task], everything: Mapping[str, Record]) -> Record:
    if unfilled(record):
        return _tagged(record, "cas_all")
    facts = [_states(everything[need], f"{{answer {n}}}", tasks) for n, need in enumerate(record.needs, 1)]
    return _tagged(_before(record, facts), "cas_all")


def _oracle(record: Record, tasks: Mapping[str, Task], everything: Mapping[str, Record]) -> Record:
    truths = {need: truth_of(everything[need], tasks) for need in record.needs}
    asked = _cas_all(record, tasks, everything)
    return _tagged(replace(asked, messages=filled(asked, truths), needs=()), "oracle")


def _planted(record: Record, tasks: Mapping[str, Task], everything: Mapping[str, Record]) -> Record:
    last = _last(record, tasks, everything)
    wrong = _wrong(last, tasks)
    if wrong is None:  # nothing to plant: an open answer
        return _oracle(record, tasks, everything)
    truths: dict[str, Answer | Unparsed] = {need: truth_of(everything[need], tasks) for need in record.needs}
    asked = _cas_last(record, tasks, everything)
    asked = replace(asked, messages=filled(asked, truths | {last.id: wrong}), needs=())
    stated = {everything[need].chain_step: str(answer) for need, answer in (truths | {last.id: wrong}).items()}
    implied = tasks[record.task].implied(record, stated)
    tags = {REGIME: "planted", PLANTED: plain_text(wrong)} | ({IMPLIED: "\n".join(implied)} if implied else {})
    return replace(asked, tags={**asked.tags, **tags})


_IN: Mapping[str, Callable[[Record, Mapping[str, Task], Mapping[str, Record]], Record]] = {
    regime.__name__.removeprefix("_"): regime for regime in (_cas_last, _cas_all, _oracle, _planted)
}


def truth_of(record: Record, tasks: Mapping[str, Task]) -> Answer:
    """Return the true answer of a record: what its task reads in the reference reply.

    Raises:
        BadArgument: Its task is not among the tasks, or cannot read its own reference reply.
    """
    if record.task not in tasks:
        cure = f"add the task {record.task} to data.tasks"
        raise BadArgument("data.tasks", sorted(tasks), f"the task of {record.id}, whose answer others need", cure)
    answer = tasks[record.task].truth(record)
    if isinstance(answer, Unparsed):
        expected = f"a reference reply that task {record.task!r} reads (its reason: {answer.reason})"
        raise BadArgument(f"answer of {record.id}", record.answer, expected, "curate it again")
    return answer


def _wrong(record: Record, tasks: Mapping[str, Task]) -> str | None:
    """Return a wrong choice of a record, the same in every run; None if it has no other choice."""
    truth = truth_of(record, tasks) if record.choices else None
    others = [choice for choice in record.choices if choice != truth]
    return min(others, key=lambda choice: shuffle_key("planted", record.id, choice), default=None)


def _last(record: Record, tasks: Mapping[str, Task], everything: Mapping[str, Record]) -> Record:
    """Return the needed record of the latest step; where the task does not order the steps, the last one named."""
    steps = tasks[record.task].steps if record.task in tasks else ()
    order = {name: place for place, name in enumerate(steps)}
    return max((everything[need] for need in record.needs), key=lambda r: order.get(r.chain_step, 0))


def _states(earlier: Record, answer: str, tasks: Mapping[str, Task], before: Record | None = None) -> str:
    """Return the sentence that states an earlier answer, in the words of the earlier question's task."""
    return tasks.get(earlier.task, Task).states(earlier, answer, before)


def _before(record: Record, sentences: Iterable[str]) -> Record:
    """Return the record with sentences before the last text of its last turn."""
    *earlier, asked = record.messages
    place = max(n for n, part in enumerate(asked.parts) if part.type == "text")
    parts = list(asked.parts)
    parts[place] = replace(parts[place], text="\n".join([" ".join(sentences), parts[place].text]))
    return replace(record, messages=(*earlier, Message(asked.role, tuple(parts))))


def _tagged(record: Record, regime: Regime) -> Record:
    return replace(record, tags={**record.tags, REGIME: regime})
