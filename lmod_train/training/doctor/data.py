"""Checks of the training records: image placeholders, order of turns, the curated images, balance of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from PIL import Image
from tqdm import tqdm

from lmod_train.core.curated import Curated
from lmod_train.core.errors import LmodError
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Record
from lmod_train.data.datamodules.balance import Balance, cells_of, class_of, shares
from lmod_train.training.doctor.check_result import CheckResult, Level
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
    if subject.data is None:
        yield CheckResult("records", "skip", "the data could not be built")
        return
    asked = subject.records()
    if not asked:
        cure = "curate with more samples, or name another folder (data.curated)"
        yield CheckResult("records", "fail", "no record in the split train", "there is nothing to train on", cure)
        return
    broken = [problem for record in asked for problem in problems(record)]
    yield from _failed(broken, "records that are not well formed", "the model would be trained on a wrong conversation")
    named = sorted({image for record in asked for image in record.image})
    opened = _evenly(named, subject.images)
    unread, blank, small = unreadable_blank_and_small(subject.data.images, opened)
    yield from _failed(unread, "images that cannot be read", "the run would stop at the first of them")
    yield from _blank(blank, len(opened))
    yield from _small(small, len(opened))
    changed = other_files(subject.data.images, asked, set(opened) if not unread else set())
    why = "they may be those of other records, with other answers (files renamed or written again)"
    yield from _failed(changed, "images that are not the files that were curated", why)
    if not broken and not unread and not changed:
        text = sum(not r.image for r in asked) / len(asked)
        images = str(len(opened)) if len(opened) == len(named) else f"{len(opened)} of {len(named)}"
        yield CheckResult(
            "records", "ok", f"{len(asked)} records, {images} images decoded, {text:.0%} without an image"
        )
        if text == 1:
            why = "a vision-language model trained without images learns to answer without looking"
            yield CheckResult("records", "warn", "no record has an image", why, "add tasks with images to data.tasks")


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


def unreadable_blank_and_small(images: Curated, names: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return why images cannot be decoded, and the names of those of one colour and of the small ones."""

    def problem(name: str) -> tuple[str, str, str]:
        try:
            picture = images.rgb(name)
        except LmodError as error:
            return str(error).partition("\n")[0], "", ""
        return "", name if is_blank(picture) else "", name if min(picture.size) < SMALL else ""

    with ThreadPoolExecutor(4) as pool:
        found = list(tqdm(pool.map(problem, names), total=len(names), desc="images", leave=False, disable=None))
    unread, blank, small = ([row[i] for row in found if row[i]] for i in range(3))
    return unread, blank, small


def other_files(images: Curated, records: Sequence[Record], names: Collection[str]) -> list[str]:
    """Return those of some images whose file has another SHA-256 than its records state, with one record.

    An image whose record states none is passed over.
    """
    stated = {n: (d, r.id) for r in records for n, d in zip(r.image, r.image_sha256, strict=False) if n in names and d}
    with ThreadPoolExecutor(4) as pool:
        read = pool.map(lambda name: sha256_of(images.file(name)), stated)
        return [
            f"{name} (record {id})"
            for (name, (digest, id)), own in zip(stated.items(), read, strict=True)
            if own != digest
        ]


def is_blank(picture: Image.Image) -> bool:
    """Return whether a picture has one colour, up to compression noise.

    Example:
        >>> is_blank(Image.new("RGB", (4, 4), "grey")), is_blank(Image.linear_gradient("L").convert("RGB"))
        (True, False)
    """
    spread: Any = picture.convert("RGB").getextrema()
    return all(high - low <= FLAT for low, high in spread)


def _blank(blank: Sequence[str], opened: int) -> Iterator[CheckResult]:
    if blank:
        level: Level = "fail" if len(blank) > MANY_BLANK * opened else "warn"
        what = f"{len(blank)} of {opened} images have a single colour, e.g. {blank[0]}"
        why = "they show nothing, and training on them teaches the model to ignore the image"
        yield CheckResult("records", level, what, why, "compare them with the raw files, and curate again")


def _small(small: Sequence[str], opened: int) -> Iterator[CheckResult]:
    if len(small) > MANY_SMALL * opened:
        what = f"{len(small)} of {opened} images are narrower or lower than {SMALL} pixels, e.g. {small[0]}"
        why = "they are thumbnails: enlarged to the size of the tower they show no lesion"
        yield CheckResult("records", "warn", what, why, "name the folder of the full images (--raw), and curate again")


def _evenly(names: Sequence[str], most: int) -> Sequence[str]:
    """Return at most `most` names at even distances; all names if `most` is 0."""
    if not most or most >= len(names):
        return names
    return [names[i * len(names) // most] for i in range(most)]


def _failed(found: Sequence[str], what: str, why: str) -> Iterator[CheckResult]:
    if found:
        listed = "\n".join(found[:SHOWN]) + (f"\nand {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        cure = (
            "curate into a new folder (`python -m lmod_train curate --config CONFIG --raw RAW --out NEW`): curation "
            "drops broken files and lists them"
        )
        yield CheckResult("records", "fail", f"{len(found)} {what}:\n{listed}", why, cure)


def balance(subject: Subject) -> Iterator[CheckResult]:
    """Check that no answer of a task is much more frequent than all others."""
    if subject.data is None:
        yield CheckResult("balance", "skip", "the data could not be built")
        return
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
        why = "the model may learn to always give the most frequent answer (LMOD appendix B: always non-glaucoma, 50 %)"
        fewer = "remove some of these records: the task has no classes that `--data.balance` could draw evenly"
        cure = fewer if asked else "add `--data.balance class`"
        yield CheckResult("balance", "warn", "; ".join(lopsided.values()), why, cure)
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
        why = "the model learns these pictures by heart and not the class"
        cure = "add samples of this class, take it out, or train with `--data.balance none`"
        yield CheckResult("balance", "warn", what, why, cure)
