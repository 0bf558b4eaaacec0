"""What the questions alone give away: a classifier that reads every word of a record and never sees its image.

A benchmark whose answers follow from the prompt, from the numbers drawn on the image or from who is asked measures
nothing. The blind baseline learns from the training split what it can (words and word pairs of the question, choices,
region ids) and is tried on the others. Beside it stands what needs no learning: the answer that
was most frequent in training for the same kind of question (variant, modality, choices). An honest benchmark leaves
the two equal.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from lmod_train.artifacts import record_id
from lmod_train.curation.classes import own_part
from lmod_train.types import Record

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

    @property
    def leaks(self) -> bool:
        """Whether the words give away more than the frequencies do, at a level of 1 %."""
        return self.p is not None and self.p < 0.01


def blind(records: Iterable[Record]) -> list[Blind]:
    """Return one account a task, in order of names; none for no records."""
    by_task: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(record)
    return [_blind(task, by_task[task]) for task in sorted(by_task)]


def _blind(task: str, records: Sequence[Record]) -> Blind:
    asked = [(r, *thing) for r in sorted(records, key=lambda r: r.id) for thing in _things(r)]
    train = [(kind, clue, answer) for r, kind, clue, answer in asked if r.split == "train"]
    held = [(kind, clue, answer, r) for r, kind, clue, answer in asked if r.split != "train"]
    if not train or not held:
        return Blind(task, len(held), len({h[2] for h in held}), None, None, None, None, None, None)
    learner = LogisticRegression(max_iter=300) if len({t[2] for t in train}) > 1 else DummyClassifier()
    model = make_pipeline(DictVectorizer(), MaxAbsScaler(), learner)
    model.fit([clue for _, clue, _ in train], [answer for *_, answer in train])
    said = model.predict([clue for _, clue, _, _ in held])
    hits = sum(int(one == answer) for one, (_, _, answer, _) in zip(said, held, strict=True))
    frequent = _most_frequent(train)
    expected = sum(frequent.get(kind) == answer for kind, _, answer, _ in held) / len(held)
    chance = sum(1 / max(1, len(r.choices)) for *_, r in held) / len(held)
    interval = binomtest(hits, len(held)).proportion_ci(0.95, "exact")
    bar = min(max(expected, chance), 1.0)
    return Blind(
        task=task,
        n=len(held),
        classes=len({answer for _, _, answer, _ in held}),
        accuracy=hits / len(held),
        low=float(interval.low),
        high=float(interval.high),
        prior=expected,
        chance=chance,
        p=float(binomtest(hits, len(held), bar, alternative="greater").pvalue),
    )


def _things(record: Record) -> list[tuple[str, Clue, str]]:
    """Return kind, clue and answer of all that a record asks: of each region, or of the record as a whole."""
    words = " ".join(part.text for message in record.messages for part in message.parts).split()
    clue: Clue = {f"word {word}": 1.0 for word in words}
    clue |= {f"pair {one} {two}": 1.0 for one, two in itertools.pairwise(words)}
    clue |= {f"choice {place} {choice}": 1.0 for place, choice in enumerate(record.choices)}
    variant = record.id.removeprefix(record_id(record.task, record.source, record.key))
    kind = " ".join((variant, record.modality, *record.choices))
    if not record.regions:
        return [(kind, clue, own_part(record.answer, record.choices))]
    return [(kind, {**clue, f"id {r.id}": 1.0}, r.structure) for r in record.regions]


def _most_frequent(train: Sequence[tuple[str, Clue, str]]) -> dict[str, str]:
    """Return for each kind of question in training its most frequent answer, the first by name of equal ones."""
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, _, answer in train:
        by_kind[kind][answer] += 1
    return {kind: min(c, key=lambda answer: (-c[answer], answer)) for kind, c in by_kind.items()}
