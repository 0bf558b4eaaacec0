"""Is every record whole? One image file for each image place, turns in order, an answer to learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from PIL import Image
from tqdm import tqdm

from lmod_train.datamodules.balance import class_of
from lmod_train.doctor.finding import Finding, Level
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError
from lmod_train.pixels import open_rgb
from lmod_train.types import Record

SHOWN = 5
FLAT = 3
"""Difference of the brightest and the darkest value of a channel up to which it is of one colour."""
MANY_BLANK = 0.1
"""Share of blank images above which training is refused."""
MAJORITY = 0.6
"""A share of one answer within a task above which a model may learn to give nothing else."""


def records(subject: Subject) -> Iterator[Finding]:
    """Read every training record and open the images that they name: all, or as many as `Subject.images` says."""
    if subject.data is None:
        yield Finding("records", "skip", "the data could not be made")
        return
    asked = subject.records()
    if not asked:
        cure = "curate with more samples, or name another folder (data.curated)"
        yield Finding("records", "fail", "no record in the split train", "there is nothing to learn from", cure)
        return
    broken = [problem for record in asked for problem in problems(record)]
    yield from _refused(broken, "records that are not well formed", "a record would teach something else than it says")
    named = sorted({image for record in asked for image in record.image})
    opened = _evenly(named, subject.images)
    unread, blank = looked_at(subject.data.curated, opened)
    yield from _refused(unread, "images that cannot be read", "nothing is put in their place: the run would stop there")
    yield from _blank(blank, len(opened))
    if not broken and not unread:
        text = sum(not r.image for r in asked) / len(asked)
        images = str(len(opened)) if len(opened) == len(named) else f"{len(opened)} of {len(named)}"
        yield Finding("records", "ok", f"{len(asked)} records, {images} images decoded, {text:.0%} without an image")
        if text == 1:
            why = "a vision-language model that never sees an image learns to answer without looking"
            yield Finding("records", "warn", "no record has an image", why, "add tasks with images to data.tasks")


def problems(record: Record) -> list[str]:
    """Return what is wrong with a record, each with its id; [] for a sound one."""
    places = sum(p.type == "image" for m in record.messages for p in m.parts)
    roles = [m.role for m in record.messages if m.role != "system"]
    found = []
    if places != len(record.image):
        found.append(f"{record.id}: {places} image place(s) for {len(record.image)} image(s)")
    elif places > 1:
        found.append(f"{record.id}: {places} images; models here are tuned on one image a record, or none")
    if roles != [("user", "assistant")[i % 2] for i in range(len(roles))] or len(roles) % 2 == 0:
        found.append(f"{record.id}: turns {', '.join(roles) or 'none'}; user and assistant in turn, user last")
    if not record.answer.strip():
        found.append(f"{record.id}: no answer to learn")
    return found


def looked_at(root: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return those of the images below `root` that cannot be decoded, each with its reason, and those of one colour."""

    def problem(name: str) -> tuple[str, str]:
        try:
            return "", name if is_blank(open_rgb(root / name)) else ""
        except LmodError as error:
            return str(error).partition("\n")[0], ""

    with ThreadPoolExecutor(4) as pool:
        said = list(tqdm(pool.map(problem, names), total=len(names), desc="images", leave=False, disable=None))
    return [unread for unread, _ in said if unread], [blank for _, blank in said if blank]


def is_blank(picture: Image.Image) -> bool:
    """Return whether a picture is of one colour, but for what compression leaves.

    Example:
        >>> is_blank(Image.new("RGB", (4, 4), "grey")), is_blank(Image.linear_gradient("L").convert("RGB"))
        (True, False)
    """
    spread: Any = picture.convert("RGB").getextrema()
    return all(high - low <= FLAT for low, high in spread)


def _blank(blank: Sequence[str], opened: int) -> Iterator[Finding]:
    if blank:
        level: Level = "fail" if len(blank) > MANY_BLANK * opened else "warn"
        what = f"{len(blank)} of {opened} images are of one colour, e.g. {blank[0]}"
        why = "nothing is to be seen in them, and answers to them teach not to look"
        yield Finding("records", level, what, why, "compare them with the raw files, and curate again")


def _evenly(names: Sequence[str], most: int) -> Sequence[str]:
    """Return at most so many names, spread over all; every one where `most` is 0."""
    if not most or most >= len(names):
        return names
    return [names[i * len(names) // most] for i in range(most)]


def _refused(found: Sequence[str], what: str, why: str) -> Iterator[Finding]:
    if found:
        listed = "\n".join(found[:SHOWN]) + (f"\nand {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        cure = (
            "curate into a new folder (`python -m lmod_train curate --config CONFIG --raw RAW --out NEW`), which "
            "leaves broken files out and lists them"
        )
        yield Finding("records", "fail", f"{len(found)} {what}:\n{listed}", why, cure)


def balance(subject: Subject) -> Iterator[Finding]:
    """Look for a task in which one answer outweighs all others."""
    if subject.data is None:
        yield Finding("balance", "skip", "the data could not be made")
        return
    by_task: dict[str, Counter[str]] = {}
    for record in subject.records():
        by_task.setdefault(record.task, Counter())[" ".join(record.answer.lower().split())] += 1
    asked = (subject.config.get("data") or {}).get("balance", "none") not in ("none", "modality")
    even = {r.task for r in subject.records() if class_of(r)} if asked else set()  # a task of one class stays as it is
    lopsided = {}
    for task, answers in by_task.items():
        answer, count = answers.most_common(1)[0]
        if task not in even and len(answers) > 1 and count / answers.total() > MAJORITY:
            lopsided[task] = f"{task}: {count / answers.total():.0%} {answer[:60]!r}"
    if lopsided:
        why = "a model may learn to say the commonest answer always (LMOD appendix B: always non-glaucoma, 50 %)"
        left_out = "leave some of these records out; their answers are no classes to balance"
        cure = left_out if asked else "add `--data.balance class`"
        yield Finding("balance", "warn", "; ".join(lopsided.values()), why, cure)
    else:
        counted = sorted(by_task.items())
        said = (f"{t} {len(answers)} answers{', drawn evenly' if t in even else ''}" for t, answers in counted)
        yield Finding("balance", "ok", ", ".join(said))
