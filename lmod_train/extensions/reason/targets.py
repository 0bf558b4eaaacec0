"""Explained targets for tuning: the answer, then one or two facts of this eye that the model's own tower shows.

A fact that the tower does not show teaches to invent: without the gate, a small model learned to name the thinnest
sector of the rim in 90 of 216 replies, right in 16 of 62, where its probe was below the majority.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from lightning_utilities.core.rank_zero import rank_zero_only
from numpy.typing import NDArray
from tqdm import tqdm

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.core.package_data import package_data
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record, Reply, Score
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.reason.claims import LARGE, SECTORS, SMALL
from lmod_train.scoring.intervals import Measure, compute_scores, ratio
from lmod_train.scoring.items import group_of

Floats = NDArray[np.float64]

Explain = Literal["measured", "none"]

FEWEST, MOST = 40, 1000
"""Images with a fact from which a probe is fitted, and at most are read, drawn by their ids."""

STEPS = (0.01, 0.02, 0.05, 0.1)
"""A number is rounded to the largest of these that its error reaches."""

FOLDS = 5


class ExplainedRecords(RecordsDataModule):
    """Records whose training targets are explained by facts of their image; what is asked and scored stays the same.

    Args:
        explain: ``measured`` adds one or two facts behind the answer; ``none`` teaches answers alone.
        gate: Whether only facts are taught that a probe on the model's own tower reads better than the answer tells.
        **settings: Arguments of `RecordsDataModule`.

    Raises:
        BadArgument: `explain` has another value; in `fit`, no fact is taught.
    """

    def __init__(self, explain: Explain = "measured", gate: bool = True, **settings: Any) -> None:
        super().__init__(**settings)
        check_one_of("data.explain", explain, ("measured", "none"), "leave it out for measured")
        self.explain, self.gate = explain, gate
        self._explained: dict[str, str] | None = None

    def _taught(self, records: list[Record]) -> list[Record]:
        if self.explain == "none":
            return records
        if self._explained is None:  # once, also where a schedule asks for the number of steps first
            self._explained = self._targets(records)
        return [replace(r, target=self._explained.get(r.id, "")) for r in records]

    def _targets(self, records: Sequence[Record]) -> dict[str, str]:
        """Return record id -> target of those that are explained, and say which facts are taught."""
        held = [r for r in records if r.facts]
        if not held:
            cure = "curate again, from a source whose outlines or masks measure facts: docs/extensions/reason.md"
            raise BadArgument("data.curated", str(self.curated), "training records with facts", cure)
        taught = {kind for r in held for kind in _kinds(r)}
        if self.gate:
            read = gated(held, vectors_of(self._module(), self, held))
            rank_zero_only(print)(
                "\n  ".join(["facts that the model's own tower shows:", *(one.line() for one in read)])
            )
            taught = {one.kind for one in read if one.passes}
        targets = {r.id: target for r in held if (target := self._target(r, taught))}
        rank_zero_only(print)(f"{len(targets)} of {len(records)} training records are explained")
        if not targets:
            expected = f"a fact that the tower shows, and none of {len(held)} images with facts has one"
            cure = "curate more images; or set data.gate to false, to teach what it may not show, or explain to none"
            raise BadArgument("data.explain", self.explain, expected, cure)
        return targets

    def _target(self, record: Record, taught: set[str]) -> str:
        """Return the target of a record; empty without a fact, or if its task would read another answer in it."""
        target = explained(record, taught, self._seed)
        task = self.tasks.get(record.task)
        if not target or task is None:
            return ""
        return target if task.parse(Reply(record.id, target), record) == task.truth(record) else ""


# What is taught: sentences about facts.


def explained(record: Record, taught: set[str], seed: int = 0) -> str:
    """Return the answer with sentences about one or two facts, in the language of the question; empty without a fact.

    Facts, their number and the wording are drawn by record and seed.

    Args:
        record: Of the training split.
        taught: Kinds of facts that may be taught.
        seed: Seed of the wording.

    Example:
        >>> from lmod_train.core.types import Fact
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> record = replace(Glaucoma().example(), answer="GLAUCOMA", facts=(Fact("vcdr", 0.74, "ratio", 0.07),))
        >>> "0.75" in explained(record, {"vcdr"}), explained(record, set())
        (True, '')
    """
    values = _kinds(record)
    kinds = sorted(values.keys() & taught, key=lambda kind: shuffle_key(seed, "fact", kind, record.id))
    if not kinds:
        return ""
    count = 1 + int(shuffle_key(seed, "facts", record.id), 16) % 2
    said = [_sentence(record, kind, values[kind], seed) for kind in kinds[:count]]
    stop = "。" if record.language == "zh" else ". "
    return stop.join([record.answer.rstrip(" .。"), *said]).strip() + stop.strip()


def _kinds(record: Record) -> dict[str, str | float]:
    """Return kind of each fact that can be taught -> its value: numbers rounded, none between bounds."""
    found: dict[str, str | float] = {}
    for fact in record.facts:
        if fact.name == "vcdr" and isinstance(fact.value, float):
            found["vcdr"] = _rounded(fact.value, fact.error)
            if not SMALL < fact.value < LARGE:
                found["cup"] = "large" if fact.value >= LARGE else "small"
        elif fact.name in _sentences() and isinstance(fact.value, str):
            found[fact.name] = fact.value
    return found


def _rounded(value: float, error: float) -> float:
    step = max((one for one in STEPS if one <= error), default=STEPS[0])
    return round(round(value / step) * step, 2)


def _sentence(record: Record, kind: str, value: str | float, seed: int) -> str:
    language = "zh" if record.language == "zh" else "en"
    if isinstance(value, float):
        own, word = _sentences()[kind]["number"][language], f"{value:.2f}"
    elif value in SECTORS:
        own, word = _sentences()[kind]["sector"][language], _sentences()["sectors"][value][language]
    else:
        own, word = _sentences()[kind][value][language], ""
    drawn = int(shuffle_key(seed, "wording", kind, record.id), 16) % len(own)
    return str(own[drawn]).replace("{value}", word)


def _sentences() -> Mapping[str, Any]:
    found: Mapping[str, Any] = package_data(__file__, "sentences.yaml")
    return found


# The gate: what probes on the model's own tower read.


@dataclass(frozen=True, slots=True)
class ReadFact:
    """What a probe reads of one kind of fact.

    Attributes:
        kind: Kind of the fact.
        images: Number of images.
        gain: How much better the probe is than the answer alone, by patient: by the distance of numbers from the mean
            of their answer, or by the share of words that are right above the most frequent one of their answer. No
            value if there are too few images.
    """

    kind: str
    images: int
    gain: Score | None = None

    @property
    def passes(self) -> bool:
        """Whether the lower end of the gain is above 0."""
        return self.gain is not None and self.gain.low is not None and self.gain.low > 0

    def line(self) -> str:
        """Return the gain and the decision in words."""
        if self.gain is None or self.gain.value is None or self.gain.low is None or self.gain.high is None:
            return f"{self.kind}: not taught, {self.images} images tell too little"
        said = f"{self.gain.value:+.3f} ({self.gain.low:+.3f} to {self.gain.high:+.3f}) better than the answer tells"
        return f"{self.kind}: {'taught' if self.passes else 'not taught'}, {said}, n {self.images}"


def vectors_of(module: Any, data: RecordsDataModule, records: Sequence[Record]) -> dict[str, Floats]:
    """Return image -> vector of the tower of the module's network, of at most `MOST` images.

    Raises:
        BadArgument: The module has no tower of a known family.
    """
    import torch

    from lmod_train.models.chat.chat_batch import ChatBatch
    from lmod_train.models.chat.encoding import Images
    from lmod_train.models.chat.image_vectors import image_vectors

    network = getattr(module, "network", None)
    if network is None or not hasattr(module, "dialect"):
        cure = "name one with a tower, `--model small_base_lora`, or teach without it: `gate: false` in the config"
        raise BadArgument("data.gate", "true", "a model whose tower can be read", cure)
    images = {r.image[0]: r for r in records if len(r.image) == 1}
    drawn = sorted(images, key=lambda name: shuffle_key(0, "gate", name))[:MOST]
    found = {}
    with module.whole(), torch.no_grad():
        for name in tqdm(drawn, desc="reading facts from the tower", disable=None):
            batch = ChatBatch.of(module.collate([images[name]], data.images).to(module.device))
            one = Images(batch.images.items[:1], batch.images.tokens and batch.images.tokens[:1])
            found[name] = image_vectors(network, one)[0]["tower"].double().cpu().numpy()
    return found


def gated(records: Sequence[Record], vectors: Mapping[str, Floats]) -> list[ReadFact]:
    """Return what probes read of each kind of fact, cross-fitted by patient, by name.

    Args:
        records: With facts; one of several about an image counts.
        vectors: Image -> vector of the tower.
    """
    images = {r.image[0]: r for r in records if len(r.image) == 1 and r.image[0] in vectors}
    kinds: defaultdict[str, list[Record]] = defaultdict(list)
    for record in images.values():
        for kind in _kinds(record):
            kinds[kind].append(record)
    return [_read(kind, kinds[kind], vectors) for kind in sorted(kinds)]


def _read(kind: str, own: Sequence[Record], vectors: Mapping[str, Floats]) -> ReadFact:
    patients = np.array([group_of(r) for r in own])
    if len(own) < FEWEST or len(set(patients.tolist())) < 2 * FOLDS:
        return ReadFact(kind, len(own))
    values, answers = [_kinds(r)[kind] for r in own], np.array([r.answer for r in own])
    features = np.stack([vectors[r.image[0]] for r in own])
    gains = (_numbers if isinstance(values[0], float) else _words)(features, np.array(values), answers, patients)
    columns = {"gain": gains, "items": np.ones(len(gains))}
    measure = Measure(
        "gain", lambda s: ratio(s["gain"], s["items"]), lambda s: s["items"], bounds=lambda _: (-1.0, 1.0)
    )
    return ReadFact(kind, len(own), compute_scores("", "all", columns, patients.tolist(), [measure])[0])


def _folds(patients: NDArray[np.str_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import GroupKFold

    yield from GroupKFold(FOLDS, shuffle=True, random_state=0).split(patients, groups=patients)


def _numbers(features: Floats, values: Floats, answers: NDArray[np.str_], patients: NDArray[np.str_]) -> Floats:
    """Return how much nearer to each number a ridge regression comes than the mean of its answer."""
    from sklearn.linear_model import RidgeCV

    from lmod_train.scoring.linear_probe import coordinates, products_of

    gains = np.zeros(len(values))
    for fit, read in _folds(patients):
        means = {a: values[fit][answers[fit] == a].mean() for a in set(answers[fit].tolist())}
        usual = np.array([means.get(a, values[fit].mean()) for a in answers.tolist()])
        fitted, reading = coordinates(products_of(features, fit), fit, read)
        model = RidgeCV(alphas=10.0 ** np.arange(-4, 3)).fit(fitted, values[fit] - usual[fit])
        made = usual[read] + model.predict(reading)
        gains[read] = np.abs(values[read] - usual[read]) - np.abs(values[read] - made)
    return gains


def _words(features: Floats, values: NDArray[np.str_], answers: NDArray[np.str_], patients: NDArray[np.str_]) -> Floats:
    """Return by how much a probe is righter about each word than the most frequent one of its answer: 1, 0 or -1."""
    from lmod_train.scoring.linear_probe import divided, probe

    names, classes = np.unique(values, return_inverse=True)
    try:
        own = divided(classes.astype(np.intp), patients.tolist())
    except BadArgument:
        return np.zeros(len(values))
    read = names[probe(features, own, len(names)).probabilities.argmax(axis=1)]
    gains = np.zeros(len(values))
    for fit, tested in own.folds:
        for answer in set(answers[tested].tolist()):
            here = tested[answers[tested] == answer]
            known = Counter(values[fit][answers[fit] == answer].tolist()) or Counter(values[fit].tolist())
            most = known.most_common(1)[0][0]
            gains[here] = (read[here] == values[here]).astype(float) - (values[here] == most)
    return gains
