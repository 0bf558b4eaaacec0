"""What the questions alone, and filled regions alone, give away: small classifiers that never see the image.

A benchmark whose answers follow from the prompt, from the numbers drawn on the image or from who is asked measures
nothing. The blind baseline learns from the training split what it can (words and word pairs of the question, choices,
region ids and their place in the reference reply) and is tried on the others. Beside it stands what needs no learning:
the answer that was most frequent in training for the same kind of question (variant, modality, choices). An honest
benchmark leaves the two equal.

What names give away (keys and image paths, which often hold a class or a hospital's numbering) is reported apart: no
model sees them, so it is information for whoever handles the files and no verdict.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from lmod_train.core.artifacts.shortcuts import FILE, Shortcut, read_shortcuts, write_shortcuts
from lmod_train.core.curated import Curated
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Record, own_part
from lmod_train.data.audit.shortcut_classifiers import accuracy_row
from lmod_train.extensions.looking.scores import AS_IS, EVIDENCE, fill_of, variant_parts
from lmod_train.scoring.items import group_of
from lmod_train.scoring.macro import macro_mean
from lmod_train.scoring.status import chance_of

LEVEL = 0.01
"""Of the test by which words are reported to give answers away."""

LEAD = 0.2
"""The smallest lead that the test must be able to find: 20 points; with fewer records it gives no verdict."""

Clue = dict[str, float]
"""What is known of one thing asked, without its image."""


@dataclass(frozen=True, slots=True)
class Blind:
    """How far one task is answered without an image.

    Attributes:
        task: Name of the task.
        n: Things asked in val and test: records, or regions where the task asks about numbered regions.
        classes: Different answers among them.
        accuracy: Of the blind classifier; None where nothing can be tried (no training or no other records).
        low: Lower end of its 95 % Clopper-Pearson interval.
        high: Upper end.
        prior: Accuracy of the most frequent training answer to the same kind of question.
        chance: 1 / number of choices, averaged.
        p: Of the exact one-sided test that the classifier is right more often than `prior` and `chance`.
        names: Accuracy of the same classifier on keys and image paths alone, three letters at a time.
        by_split: For val and test: things asked, and how many of them the words, names and frequencies get right.
    """

    task: str
    n: int
    classes: int
    accuracy: float | None
    low: float | None
    high: float | None
    prior: float | None
    chance: float | None
    p: float | None
    names: float | None
    by_split: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def leaks(self) -> bool:
        """Whether the words give away more than the frequencies do, at a level of 1 %."""
        return self.p is not None and self.p < LEVEL

    @property
    def can_tell(self) -> bool:
        """Whether the test would have found a classifier that is right `LEAD` more often than `prior` and `chance`.

        That takes about 40 things where the answers are two; fewer where guessing is harder. Where guessing is right
        nearly always there is no room for such a lead, and being always right counts.

        Example:
            >>> few, enough = (Blind("sex", n, 2, 0.5, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5) for n in (20, 40))
            >>> few.can_tell, enough.can_tell
            (False, True)
        """
        if self.prior is None or self.chance is None:
            return False
        bar = _bar(self.prior, self.chance)
        hits = min(self.n, round((bar + LEAD) * self.n))
        return bool(binomtest(hits, self.n, bar, alternative="greater").pvalue < LEVEL)


def blind(records: Iterable[Record]) -> list[Blind]:
    """Return one account a task, in order of names; none for no records."""
    by_task: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(record)
    return [_blind(task, by_task[task]) for task in sorted(by_task)]


@dataclass(frozen=True, slots=True)
class _Thing:
    """One thing asked: its kind, the features of its words and of its names, and the answer."""

    record: Record
    kind: str
    words: Clue
    names: Clue
    answer: str


def _blind(task: str, records: Sequence[Record]) -> Blind:
    asked = [thing for r in sorted(records, key=lambda r: r.id) for thing in _things(r)]
    train = [thing for thing in asked if thing.record.split == "train"]
    held = [thing for thing in asked if thing.record.split != "train"]
    classes = len({thing.answer for thing in held})
    if not train or not held:
        return Blind(task, len(held), classes, None, None, None, None, None, None, None)
    truths = [thing.answer for thing in train], [thing.answer for thing in held]
    words = _right([thing.words for thing in train], [thing.words for thing in held], *truths)
    names = _right([thing.names for thing in train], [thing.names for thing in held], *truths)
    frequent = _most_frequent(train)
    expected = [frequent.get(thing.kind) == thing.answer for thing in held]
    chance = chance_of(thing.record.choices or ("",) for thing in held) or 0.0  # without choices there is one answer
    prior = sum(expected) / len(held)
    interval = binomtest(sum(words), len(held)).proportion_ci(0.95, "exact")
    right = {"words": words, "names": names, "most_frequent": expected}
    return Blind(
        task=task,
        n=len(held),
        classes=classes,
        accuracy=sum(words) / len(held),
        low=float(interval.low),
        high=float(interval.high),
        prior=prior,
        chance=chance,
        p=float(binomtest(sum(words), len(held), _bar(prior, chance), alternative="greater").pvalue),
        names=sum(names) / len(held),
        by_split={split: _of_split(held, right, split) for split in ("val", "test")},
    )


def _of_split(held: Sequence[_Thing], right: Mapping[str, Sequence[bool]], split: str) -> dict[str, int]:
    places = [i for i, thing in enumerate(held) if thing.record.split == split]
    return {"n": len(places), **{name: sum(of[i] for i in places) for name, of in right.items()}}


def _bar(prior: float, chance: float) -> float:
    """Return the accuracy that needs no learning."""
    return min(max(prior, chance), 1.0)


def _right(train: Sequence[Clue], held: Sequence[Clue], taught: Sequence[str], truths: Sequence[str]) -> list[bool]:
    """Return which of the held-out answers a linear classifier of clues gets right."""
    learner = LogisticRegression(max_iter=300) if len(set(taught)) > 1 else DummyClassifier()
    model = make_pipeline(DictVectorizer(), MaxAbsScaler(), learner).fit(train, taught)
    return [bool(predicted == truth) for predicted, truth in zip(model.predict(held), truths, strict=True)]


def _things(record: Record) -> list[_Thing]:
    """Return all that a record asks: each region, or the record as a whole."""
    words = " ".join(part.text for message in record.messages for part in message.parts).split()
    clue: Clue = {f"word {word}": 1.0 for word in words}
    clue |= {f"pair {one} {two}": 1.0 for one, two in itertools.pairwise(words)}
    clue |= {f"choice {place} {choice}": 1.0 for place, choice in enumerate(record.choices)}
    names = {f"key {part}": 1.0 for part in _threes(record.key)}
    names |= {f"image {part}": 1.0 for path in record.image for part in _threes(path)}
    options = options_in(record.messages)
    clue |= {f"option {option}": 1.0 for option in options.values()}
    listed = sorted(options.values()) or record.choices  # letters are shuffled, which makes no other kind of question
    kind = " ".join((record.variant, record.language, record.modality, *listed))
    if not record.regions:
        return [_Thing(record, kind, clue, names, _answer(record, options))]
    places = _places(record)
    return [
        _Thing(record, kind, {**clue, f"id {r.id}": 1.0, f"place {places[r.id]}": 1.0}, names, r.structure)
        for r in record.regions
    ]


def _answer(record: Record, options: Mapping[str, str]) -> str:
    """Return the answer of a record without regions; the option itself where the reference reply names its letter."""
    named = own_part(record.answer, record.choices)
    return options.get(named.removeprefix("Answer: "), named)


def _threes(name: str) -> list[str]:
    """Return every three letters in a row, ends marked."""
    marked = f"^{name}$"
    return [marked[i : i + 3] for i in range(len(marked) - 2)]


def _places(record: Record) -> dict[int, int]:
    """Return region id -> its place in the reference reply, from 0; those that it does not name come last."""
    named = [int(number) for number in re.findall(r"\d+", record.answer)]
    ids = [r.id for r in record.regions]
    order = sorted(ids, key=lambda i: named.index(i) if i in named else len(named))
    return {region: place for place, region in enumerate(order)}


def _most_frequent(train: Sequence[_Thing]) -> dict[str, str]:
    """Return for each kind of question in training its most frequent answer, the first by name of equal ones."""
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for thing in train:
        by_kind[thing.kind][thing.answer] += 1
    return {kind: min(c, key=lambda answer: (-c[answer], answer)) for kind, c in by_kind.items()}


def rows_of(found: Blind) -> Iterator[Shortcut]:
    """Yield what words, names, frequencies and chance give, split by split, and the verdict over both."""
    for split, counts in found.by_split.items():
        for shortcut in ("words", "names", "most_frequent"):
            yield accuracy_row(found.task, shortcut, split, counts["n"], counts.get(shortcut, 0))
    both = {"words": found.accuracy, "names": found.names, "most_frequent": found.prior}
    for shortcut, share in both.items():
        yield accuracy_row(found.task, shortcut, "val+test", found.n, round((share or 0) * found.n))
    yield Shortcut(found.task, "chance", "val+test", "accuracy", found.n, found.chance)
    yield Shortcut(found.task, "words", "val+test", "p", found.n, found.p)
    yield Shortcut(found.task, "words", "val+test", "can_tell", found.n, float(found.can_tell))
    yield Shortcut(found.task, "words", "val+test", "leaks", found.n, float(found.leaks))


# Whether a filled region still tells the answer: a small classifier that sees nothing but the filled crops.
NAME = "filled_crop"
"""Name of the rows in ``audit.csv``, followed by a point and the fill."""

METRIC = "balanced_accuracy"

FOLDS, SIDE = 5, 16
"""Folds of patients; side in pixels of the crops that the classifier sees."""

_CHANGED = 12  # difference of grey values above which a pixel was filled, and not only coded differently


def write_filled_crops(curated: Path, records: Iterable[Record]) -> list[Shortcut]:
    """Return the rows of `filled_crops`, after writing them to ``audit.csv`` in the place of earlier ones."""
    several = list(records)
    rows, tasks = filled_crops(curated, several), {record.task for record in several}
    kept = [row for row in read_shortcuts(curated) if not (row.shortcut.startswith(f"{NAME}.") and row.task in tasks)]
    if rows:
        write_shortcuts(curated / FILE, [*kept, *rows])
    return rows


def filled_crops(curated: Path, records: Iterable[Record]) -> list[Shortcut]:
    """Return the balanced accuracy for each task and fill, over all splits; an empty list without removed evidence.

    Args:
        curated: Folder with the images.
        records: Of that folder.

    Raises:
        CuratedDamaged: An image is missing or damaged.
    """
    whole: dict[tuple[str, ...], str] = {}
    filled: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        own, shown = variant_parts(record.variant)
        if shown == AS_IS and record.image:
            whole[_question(record, own)] = record.image[0]
        elif shown.startswith(f"{EVIDENCE}.") and record.choices:
            filled[record.task, fill_of(shown)].append(record)
    images = Curated(curated)
    return [
        _row(
            task, fill, [(r, _seen(images, whole[_question(r, variant_parts(r.variant)[0])], r.image[0])) for r in own]
        )
        for (task, fill), own in sorted(filled.items())
    ]


def _question(record: Record, own: str) -> tuple[str, ...]:
    return record.task, record.source, record.key, record.language, record.chain_step, own


def _seen(images: Curated, whole: str, filled: str) -> NDArray[np.float64]:
    """Return the colours of the filled region, and its place and size as shares of the image."""
    before, after = images.rgb(whole), images.rgb(filled)
    changed = np.abs(np.asarray(before, dtype=np.int16) - np.asarray(after, dtype=np.int16)).max(axis=2) > _CHANGED
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not len(rows):
        return np.zeros(3 * SIDE**2 + 4)
    box = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
    crop = np.asarray(after.crop(box).resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.float64).ravel()
    place = np.array([box[0] / after.width, box[1] / after.height, box[2] / after.width, box[3] / after.height])
    return np.concatenate([crop, 100 * place])


def _row(task: str, fill: str, seen: Sequence[tuple[Record, NDArray[np.float64]]]) -> Shortcut:
    truths = np.array([own_part(record.answer, record.choices) for record, _ in seen])
    groups = np.array([group_of(record) for record, _ in seen])
    name = f"{NAME}.{fill}"
    patients, patient = np.unique(groups, return_inverse=True)
    answers, answer = np.unique(truths, return_inverse=True)
    images = np.zeros((len(patients), len(answers)), dtype=int)
    np.add.at(images, (patient, answer), 1)
    with_answer = (images > 0).sum(axis=0)
    if len(answers) < 2 or min(with_answer) < FOLDS:
        return Shortcut(task, name, "all", METRIC, 0, None)
    features = np.array([values for _, values in seen])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))
    weights = len(answer) / len(answers) / (images[patient, answer] * with_answer[answer])
    found = cross_val_predict(
        model,
        features,
        truths,
        cv=PredefinedSplit(_folds(images)[patient]),
        params={"logisticregression__sample_weight": weights},
    )
    score = macro_mean(task, METRIC, (found == truths).astype(float).tolist(), truths.tolist(), groups.tolist())[0]
    return Shortcut(task, name, "all", METRIC, score.n, score.value, score.low, score.high)


def _folds(images: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the fold of each patient: those with the same answers are dealt out in turn.

    Args:
        images: Numbers of images, patients by answers.
    """
    drawn = np.random.default_rng(0).random(len(images))
    folds = np.empty(len(images), dtype=int)
    folds[np.lexsort((drawn, *(images > 0).T))] = np.arange(len(images)) % FOLDS
    return folds
