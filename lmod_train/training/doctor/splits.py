"""Check of what the splits have in common: patients, tasks, classes and pictures of training, val and test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from lmod_train.core.types import Record
from lmod_train.data.datamodules.balance import class_of
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.subject import Subject

MANY_KEYS, SHARE_OF_KEYS = 10, 0.05
"""Number and share of samples with the same picture from which it is a placeholder and no photograph of them."""
MANY_MISPLACED = 0.1
"""Share of records that show another sample's image from which the check fails."""
ENOUGH = 5
"""Number of records of a task in val from which it should have more than one class."""


def splits(subject: Subject) -> Iterator[CheckResult]:
    """Compare patients, tasks, classes and pictures of the training with those of val and test."""
    if subject.data is None:
        yield CheckResult("splits", "skip", "the data could not be built")
        return
    learnt, asked = subject.records(), subject.asked()
    problems = [
        *unlearnt(learnt, asked),
        *one_class(learnt, subject.data.records("val")),
        *same_patients(learnt, asked),
        *placeholders([*learnt, *asked]),
        *misplaced([*learnt, *asked]),
    ]
    yield from problems
    if not problems:
        patients = f"{len({r.group for r in learnt})} patients or families in training, none in val or test"
        yield CheckResult("splits", "ok", f"{patients}; every task and class that is asked is trained")


def _classes(records: Sequence[Record]) -> Mapping[str, set[str]]:
    """Return task -> classes, for the tasks whose records all list the same choices."""
    listed: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    found: dict[str, set[str]] = defaultdict(set)
    for record in records:
        listed[record.task].add(record.choices)
        found[record.task].add(class_of(record))
    return {task: words for task, words in found.items() if len(listed[task]) == 1 and "" not in words}


def unlearnt(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for tasks, and for classes of a task, that occur in val or test only."""
    known, later = {r.task for r in learnt}, {r.task for r in asked}
    trained, wanted = _classes(learnt), _classes(asked)
    absent = [f"the task {task}" for task in sorted(later - known)]
    absent += [
        f"{task}: {w}" for task in sorted(wanted) if task in trained for w in sorted(wanted[task] - trained[task])
    ]
    if absent:
        what = f"asked in val or test and absent in training: {', '.join(absent)}"
        why = "a model tuned on the other answers never gives these"
        cure = "curate again with more samples of them, or take the task out of data.tasks"
        yield CheckResult("splits", "warn", what, why, cure)


def one_class(learnt: Sequence[Record], val: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for tasks with several classes in training and one in val, which cannot show a collapse."""
    trained, seen = _classes(learnt), _classes(val)
    counted = {task: sum(r.task == task for r in val) for task in seen}
    alone = [t for t, words in seen.items() if len(words) == 1 < len(trained.get(t, ())) and counted[t] >= ENOUGH]
    if alone:
        what = "; ".join(f"{task}: all {counted[task]} records of val are {next(iter(seen[task]))!r}" for task in alone)
        why = "a model that always gives this answer is scored as perfect on it"
        yield CheckResult("splits", "warn", what, why, "curate again with more samples, or a larger share for val")


def same_patients(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for patients, or families of copies, of whom other photographs are trained on."""
    ids, known = {r.id for r in learnt}, {(r.source, r.group) for r in learnt if r.group}
    both = [r for r in asked if (r.source, r.group) in known and r.id not in ids and r.image]
    if both:
        patients = len({(r.source, r.group) for r in both})
        what = (
            f"{len(both)} of {len(asked)} records of val and test are of {patients} patients (or families of copies) "
        )
        what += f"in the training, e.g. {both[0].id}"
        why = "two photographs of a patient are alike: the score is higher than for new patients"
        yield CheckResult(
            "splits", "warn", what, why, "curate with `split_by: group`, or say with the score that patients overlap"
        )


def misplaced(records: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for records that show the image of another sample, though there is one of their own.

    Curation names images by source and key.
    """
    shown = {id(r): {str(PurePosixPath(name).with_suffix("")) for name in r.image_plain} for r in records}
    there = set().union(*shown.values()) if shown else set()
    wrong = [r for r in records if (own := f"images/{r.source}/{r.key}") in there and own not in shown[id(r)]]
    if wrong:
        level: Level = "fail" if len(wrong) >= MANY_MISPLACED * len(records) else "warn"
        what = f"{len(wrong)} of {len(records)} records show another sample's image, e.g. {wrong[0].id}: "
        what += wrong[0].image_plain[0]
        why = "their answers belong to other images"
        yield CheckResult("splits", level, what, why, "curate again, and do not edit the files of records/")


def placeholders(records: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for a picture that stands for many samples, such as "image not available"."""
    shown: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in records:
        for digest in record.image_sha256:
            shown[digest].add((record.source, record.key))
    samples = len(set().union(*shown.values())) if shown else 0
    digest, keys = max(shown.items(), key=lambda item: len(item[1]), default=("", set()))
    if len(keys) >= MANY_KEYS and len(keys) > SHARE_OF_KEYS * samples:
        example = next(r.image[r.image_sha256.index(digest)] for r in records if digest in r.image_sha256)
        what = f"{len(keys)} of {samples} samples have the same picture, e.g. {example}"
        why = "their answers differ and their picture does not: the model learns to ignore it"
        yield CheckResult("splits", "warn", what, why, "compare it with the raw files, leave these out, curate again")
