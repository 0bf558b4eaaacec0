"""Checks of the training records: placeholders, turns, images, balance of answers, and leaks between splits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from PIL import Image
from tqdm import tqdm

from lmod_train.core.curated import Curated
from lmod_train.core.errors import LmodError
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Record
from lmod_train.data.datamodules.class_balance import Balance, cells_of, class_of, shares
from lmod_train.training.doctor.check_result import CheckResult, Level, problem
from lmod_train.training.doctor.subject import Subject

SHOWN = 5
"""Number of examples listed in a result."""

FLAT = 3
"""Largest difference (0 to 255) between the brightest and the darkest value of a channel in a blank image."""

MANY_BLANK = 0.1
"""Share of blank images above which the check fails."""

SMALL, MANY_SMALL = 32, 0.1
"""Shorter side in pixels of an image that shows no lesion (towers take 224 and more), and share of such images above
which the check warns."""

MOST_REPEATED = 20
"""Times that a record of a rare class is repeated in an epoch above which it is learnt by heart."""

MAJORITY = 0.6
"""Share of one answer within a task above which a model may learn to give only this answer."""


def records(subject: Subject) -> Iterator[CheckResult]:
    """Check every training record and decode its images; of these all, or as many as `Subject.images`."""
    asked = subject.records()
    if not asked:
        yield problem("records.none", "fail", "no record in the split train")
        return
    broken = [one for record in asked for one in problems(record)]
    yield from _failed("malformed", broken, "records that are not well formed")
    named = sorted({image for record in asked for image in record.image})
    opened = _evenly(named, subject.images)
    seen = looked_at(subject.data.images, opened)
    unread = [why for why, *_ in seen.values() if why]
    yield from _failed("unread", unread, "images that cannot be read")
    yield from _blank([name for name, one in seen.items() if one.blank], len(opened))
    yield from _small([name for name, one in seen.items() if one.small], len(opened))
    changed = [] if unread else other_files(asked, seen)
    yield from _failed("changed", changed, "images that are not the files that were curated")
    if not broken and not unread and not changed:
        text = sum(not r.image for r in asked) / len(asked)
        images = str(len(opened)) if len(opened) == len(named) else f"{len(opened)} of {len(named)}"
        what = f"{len(asked)} records, {images} images decoded, {text:.0%} without an image"
        yield CheckResult("records", "ok", what)
        if text == 1:
            yield problem("records.no_image", "warn", "no record has an image")


def problems(record: Record) -> list[str]:
    """Return the problems of a record, each beginning with its id; [] for a valid record."""
    places = sum(p.type == "image" for m in record.messages for p in m.parts)
    roles = [m.role for m in record.messages if m.role != "system"]
    found = []
    if places != len(record.image):
        found.append(f"{record.id}: {places} image placeholder(s) for {len(record.image)} image(s)")
    if roles != [("user", "assistant")[i % 2] for i in range(len(roles))] or len(roles) % 2 == 0:
        turns = ", ".join(roles) or "none"
        found.append(f"{record.id}: turns {turns}; expected user and assistant alternating, user first and last")
    if not record.answer.strip():
        found.append(f"{record.id}: no reference answer")
    return found


class Seen(NamedTuple):
    """Why an image cannot be decoded or "", its file's SHA-256, and whether it has one colour or is small."""

    unread: str = ""
    sha256: str = ""
    blank: bool = False
    small: bool = False


def looked_at(images: Curated, names: Sequence[str]) -> dict[str, Seen]:
    """Return name -> what the image shows.

    Of a JPEG the whole file is read, and of each block of 8 pixels the mean computed; where these could be of one
    colour, all pixels are.
    """

    def seen(name: str) -> Seen:
        try:
            picture = images.rgb(name, coarse=SMALL)
            if blank := is_blank(picture, 2 * FLAT):
                blank = is_blank(images.rgb(name))
        except LmodError as error:
            return Seen(str(error).partition("\n")[0])
        return Seen("", sha256_of(images.file(name)), blank, min(picture.size) < SMALL)

    with ThreadPoolExecutor(4) as pool:
        found = tqdm(pool.map(seen, names), total=len(names), desc="images", leave=False, disable=None)
        return dict(zip(names, found, strict=True))


def other_files(records: Sequence[Record], seen: Mapping[str, Seen]) -> list[str]:
    """Return those of some images whose file has another SHA-256 than its records state, with one record.

    An image whose record states none is passed over.
    """
    stated = {n: (d, r.id) for r in records for n, d in zip(r.image, r.image_sha256, strict=False) if n in seen and d}
    return [f"{name} (record {id})" for name, (digest, id) in stated.items() if seen[name].sha256 != digest]


def is_blank(picture: Image.Image, flat: int = FLAT) -> bool:
    """Return whether a picture has one colour, up to compression noise: no channel has a larger difference than `flat`.

    Example:
        >>> is_blank(Image.new("RGB", (4, 4), "grey")), is_blank(Image.linear_gradient("L").convert("RGB"))
        (True, False)
    """
    spread: Any = picture.convert("RGB").getextrema()
    return all(high - low <= flat for low, high in spread)


def _blank(blank: Sequence[str], opened: int) -> Iterator[CheckResult]:
    if blank:
        level: Level = "fail" if len(blank) > MANY_BLANK * opened else "warn"
        yield problem("records.blank", level, f"{len(blank)} of {opened} images have a single colour, e.g. {blank[0]}")


def _small(small: Sequence[str], opened: int) -> Iterator[CheckResult]:
    if len(small) > MANY_SMALL * opened:
        what = f"{len(small)} of {opened} images are narrower or lower than {SMALL} pixels, e.g. {small[0]}"
        yield problem("records.small", "warn", what)


def _evenly(names: Sequence[str], most: int) -> Sequence[str]:
    """Return at most `most` names at even distances; all names if `most` is 0."""
    if not most or most >= len(names):
        return names
    return [names[i * len(names) // most] for i in range(most)]


def _failed(name: str, found: Sequence[str], what: str) -> Iterator[CheckResult]:
    if found:
        listed = "\n".join(found[:SHOWN]) + (f"\nand {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        yield problem(f"records.{name}", "fail", f"{len(found)} {what}:\n{listed}")


def balance(subject: Subject) -> Iterator[CheckResult]:
    """Check that no answer of a task is much more frequent than all others."""
    by_task: dict[str, Counter[str]] = {}
    for record in subject.records():
        by_task.setdefault(record.task, Counter())[" ".join(record.answer.lower().split())] += 1
    asked = (subject.config.get("data") or {}).get("balance", "none") not in ("none", "modality")
    even = {r.task for r in subject.records() if class_of(r)} if asked else set()  # tasks drawn evenly over classes
    yield from repeated(subject)
    lopsided = {}
    for task, answers in by_task.items():
        answer, count = answers.most_common(1)[0]
        if task not in even and len(answers) > 1 and count / answers.total() > MAJORITY:
            lopsided[task] = f"{task}: {count / answers.total():.0%} {answer[:60]!r}"
    if lopsided:
        yield problem(f"balance.{'no_classes' if asked else 'lopsided'}", "warn", "; ".join(lopsided.values()))
    else:
        counted = sorted(by_task.items())
        per_task = (f"{t} {len(answers)} answers{', drawn evenly' if t in even else ''}" for t, answers in counted)
        yield CheckResult("balance", "ok", ", ".join(per_task))


def repeated(subject: Subject) -> Iterator[CheckResult]:
    """Yield a result where `data.balance` repeats the records of a rare class many times in an epoch."""
    kind: Balance = (subject.config.get("data") or {}).get("balance") or "none"
    cells = cells_of(subject.records(), kind)
    counted = Counter(cells)
    times = {cell: drawn / counted[cell] for cell, drawn in shares(cells).items()}
    most = max(times, key=lambda cell: times[cell], default=None)
    if most is not None and times[most] > MOST_REPEATED:
        named = ", ".join(part for part in (most.task, most.word, most.modality) if part)
        what = f"{named}: each of {counted[most]} records is drawn {times[most]:.0f} times an epoch"
        yield problem("balance.repeated", "warn", what)


# Check of what the splits have in common: patients, tasks, classes and pictures of training, val and test.
MANY_KEYS, SHARE_OF_KEYS = 10, 0.05
"""Number and share of samples with the same picture from which it is a placeholder and no photograph of them."""

MANY_MISPLACED = 0.1
"""Share of records that show another sample's image from which the check fails."""

ENOUGH = 5
"""Number of records of a task in val from which it should have more than one class."""


def splits(subject: Subject) -> Iterator[CheckResult]:
    """Compare patients, tasks, classes and pictures of the training with those of val and test."""
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
        yield problem("splits.unlearnt", "warn", f"asked in val or test and absent in training: {', '.join(absent)}")


def one_class(learnt: Sequence[Record], val: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for tasks with several classes in training and one in val, which cannot show a collapse."""
    trained, seen = _classes(learnt), _classes(val)
    counted = {task: sum(r.task == task for r in val) for task in seen}
    alone = [t for t, words in seen.items() if len(words) == 1 < len(trained.get(t, ())) and counted[t] >= ENOUGH]
    if alone:
        what = "; ".join(f"{task}: all {counted[task]} records of val are {next(iter(seen[task]))!r}" for task in alone)
        yield problem("splits.one_class", "warn", what)


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
        yield problem("splits.same_patients", "warn", what)


def misplaced(records: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for records that show the image of another sample, though there is one of their own.

    Curation names images by source and key.
    """
    shown = {id(r): {str(PurePosixPath(name).with_suffix("")) for name in r.image_plain} for r in records}
    there = set().union(*shown.values()) if shown else set()
    wrong = [r for r in records if (own := f"images/{r.source}/{r.key}") in there and own not in shown[id(r)]]
    if wrong:
        what = f"{len(wrong)} of {len(records)} records show another sample's image, e.g. {wrong[0].id}: "
        what += wrong[0].image_plain[0]
        yield problem("splits.misplaced", len(wrong) >= MANY_MISPLACED * len(records), what)


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
        yield problem("splits.placeholders", "warn", what)
