"""Checks of the reference answers as replies: read by the task's own parser, and not cut off by a stop word."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from lmod_train.core.types import Record, Unparsed
from lmod_train.tasks.base import Task
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.subject import Subject

FAIL_SHARE = 0.1
"""Share of a task's reference answers that cannot be read or are cut off, from which the check fails."""


def references(subject: Subject) -> Iterator[CheckResult]:
    """Parse every reference answer of the training and of val and test by its task, and compare it with the truth."""
    if subject.data is None:
        yield CheckResult("references", "skip", "the data could not be built")
        return
    tasks, everything = subject.data.tasks, [*subject.records(), *subject.asked()]
    own = [r for r in everything if r.task in tasks]
    model: Mapping[str, Any] = (subject.config.get("model") or {}).get("init_args") or {}
    prompt: Mapping[str, Any] = model.get("prompt") or {}
    problems = [
        *_unread(tasks, own),
        *_cut_off(prompt.get("stop") or (), everything),
        *_named(prompt.get("system_prompt") or "", own),
    ]
    yield from problems
    if not problems:
        yield CheckResult("references", "ok", f"{len(own)} reference answers, each read by its task's parser")


def misread(task: Task, record: Record) -> str:
    """Return why the parser of a task does not give back the truth of a record's reference answer; "" if it does.

    The truth is the word among the record's choices, or the structure of each of its regions.
    """
    try:
        answer = task.truth(record)
    except Exception as error:  # a task may come from outside this package
        return f"{type(error).__name__}: {error}"
    if isinstance(answer, Unparsed):
        return f"unparsed ({answer.reason})"
    if isinstance(answer, Mapping) and record.regions:
        truth = {region.id: region.structure for region in record.regions}
        return "" if set(answer) == set(truth) else f"read as regions {sorted(answer)} of {sorted(truth)}"
    if isinstance(answer, str) and record.choices and answer not in (*record.choices, *task.choices):
        return f"read as {answer[:60]!r}, which is none of its choices"
    return ""


def _unread(tasks: Mapping[str, Task], asked: Sequence[Record]) -> Iterator[CheckResult]:
    known: dict[Hashable, str] = {}
    found: dict[str, list[tuple[Record, str]]] = defaultdict(list)
    for record in asked:
        regions = tuple((region.id, region.structure) for region in record.regions)
        key = record.task, record.language, record.answer, record.choices, regions, record.variant
        if key not in known:
            known[key] = misread(tasks[record.task], record)
        if known[key]:
            found[record.task].append((record, known[key]))
    counted = Counter(r.task for r in asked)
    for task, wrong in found.items():
        (first, reason), number = wrong[0], counted[task]
        what = f"{task}: {len(wrong)} of {number} reference answers are not read by the task's own parser, "
        what += f"e.g. {first.id}: {first.answer[:60]!r} {reason}"
        why = "a model that learns these answers is scored as wrong"
        cure = "correct the answers (source or task), or the parser, and curate again"
        yield CheckResult("references", _level(len(wrong), number), what, why, cure)


def _level(wrong: int, of: int) -> Level:
    return "fail" if wrong >= FAIL_SHARE * of else "warn"


def _cut_off(stop: Sequence[str], learnt: Sequence[Record]) -> Iterator[CheckResult]:
    cut = [r for r in learnt if any(word in r.answer.strip() for word in stop)]
    if cut:
        what = f"{len(cut)} of {len(learnt)} reference answers contain a stop word ({list(stop)}), e.g. {cut[0].id}"
        why = "replies end at a stop word, so that a model that learnt these answers is cut off"
        cure = "remove the word from model.init_args.prompt.stop"
        yield CheckResult("references", _level(len(cut), len(learnt)), what, why, cure)


def _named(system: str, asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a warning where the system text names some choices of a task and leaves out others."""
    listed = {(r.task, r.choices) for r in asked if len(r.choices) > 1}
    words = [w.strip(".,:;!?()'\"") for w in system.split()]
    for task, choices in sorted(listed):
        said = [c for c in choices if c in system and (" " in c or c in words)]
        if said and len(said) < len(choices):
            what = f"the system text names {', '.join(said)} of the {len(choices)} answers of {task}"
            why = "every prompt suggests this answer, and the model need not look at the image"
            yield CheckResult("references", "warn", what, why, "take it out of model.init_args.prompt.system_prompt")
            return
