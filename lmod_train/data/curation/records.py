"""Questions become records: here a task's words meet a sample's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lmod_train.core.artifacts.records import chain_id, record_id
from lmod_train.core.errors import LmodError
from lmod_train.core.perturbations import is_defect, parse_perturbation
from lmod_train.core.types import Dropped, Fact, Message, Question, Record, Sample, Split, class_path
from lmod_train.data.curation.balance import Candidate, Over, draw
from lmod_train.data.curation.prepare import SHOW_IMAGES, Prepared, image_path
from lmod_train.data.curation.splits import Place
from lmod_train.tasks.base import Task


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of the curated folder that goes with a question.

    Attributes:
        shown: Path of what is shown, relative to the curated folder.
        plain: Path of the same without markers; perturbed, if what is shown is.
        sha256: Of what is shown.
        scale: Curated pixels per original pixel.
        licence: Of the question's source, and of the image's where that is another.
        perturbation: Defect that it was given, e.g. ``blur-3``; empty for none.
    """

    shown: str
    plain: str
    sha256: str
    scale: float
    licence: str
    perturbation: str = ""


@dataclass(frozen=True, slots=True)
class PlacedQuestion:
    """A question with its place: the task that asks it, its sample and split, and the images that it shows.

    Attributes:
        task: The task.
        question: What it asks.
        sample: The sample as tasks see it.
        split: Of the sample.
        pictures: One for each image place of the messages, in their order; empty for a question without an image.
    """

    task: Task
    question: Question
    sample: Sample
    split: Split
    pictures: tuple[Picture, ...]

    @property
    def id(self) -> str:
        """Id of the record."""
        return self._id_of(self.question.task, self.question.chain_step, self.question.variant)

    @property
    def needs(self) -> tuple[str, ...]:
        """Ids of the records whose answers the question needs."""
        task = self.question.task
        return tuple(self._id_of(n.task or task, n.chain_step, n.variant) for n in self.question.needs)

    def _id_of(self, task: str, chain_step: str, variant: str) -> str:
        language = self.question.language
        stated = language == "en" or variant.endswith(f"-{language}")  # ids of a translation differ in the variant only
        return record_id(task, self.sample.source, self.sample.key, "" if stated else language, chain_step, variant)


def own_pictures(question: Question, sample: Sample, images: Mapping[Place, Prepared]) -> tuple[Picture, ...]:
    """Return the sample's images that stand at the question's image places, the own one as the question asks for it.

    Args:
        question: What is asked.
        sample: Of which.
        images: What became of every image, by source and key.

    Raises:
        LmodError: The messages have image places for which the sample has no image, or the image to perturb is none of
            those shown.
    """
    keys, places = sample.image_keys, image_places(question)
    shown = question.images or tuple(range(places))
    if len(shown) != places or not all(0 <= place < len(keys) for place in shown):
        raise LmodError(
            f"task {question.task!r}, sample {sample.source}/{sample.key}: {places} image places in the messages, "
            f"images={question.images}, but the sample has {len(keys)} images.\n"
            f"Next: give each image place one of the images 0 to {len(keys) - 1}, or leave `images` out for the first"
        )
    own = [place == 0 and sample.image is not None for place in shown]
    if question.perturbation and not any(own):
        raise LmodError(
            f"task {question.task!r}, sample {sample.source}/{sample.key}: perturbation={question.perturbation!r}, but "
            f"the sample's own image, which would be perturbed, is not shown.\n"
            f"Next: show image 0 of a sample with an image of its own, or leave `perturbation` out"
        )
    pictures = []
    for place, is_own in zip(shown, own, strict=True):
        done = images[sample.source, keys[place]]
        name = question.perturbation if is_own else ""
        plain = image_path(done.source, done.key, marked=False, perturbation=name)
        path = image_path(done.source, done.key, marked=is_own and question.marked, perturbation=name)
        pictures.append(Picture(path, plain, done.curated[path], done.scale, sample.licence, name))
    return tuple(pictures)


def image_places(question: Question) -> int:
    """Return how many image places the messages of a question have."""
    return sum(part.type == "image" for message in question.messages for part in message.parts)


def ask_all(
    tasks: Sequence[Task], samples: Iterable[Sample], splits: Mapping[Place, Split], images: Mapping[Place, Prepared]
) -> list[PlacedQuestion]:
    """Ask every task about every sample.

    Args:
        tasks: What to ask.
        samples: Of which, as tasks see them (`prepare.numbered`).
        splits: Split of each sample.
        images: What became of each image, by source and key.
    """
    return [
        PlacedQuestion(t, q, s, splits[s.source, s.key], own_pictures(q, s, images) if q.shows in SHOW_IMAGES else ())
        for s in samples
        for t in tasks
        for q in t.ask(s)
        if _can_show(q, s, images)
    ]


def _can_show(question: Question, sample: Sample, images: Mapping[Place, Prepared]) -> bool:
    """Return whether the image can be changed as a question asks for it; if not, curation has listed the sample."""
    if not question.perturbation or question.shows != "own":
        return True
    shown = image_path(sample.source, sample.key, marked=question.marked, perturbation=question.perturbation)
    return sample.image is None or shown in images[sample.source, sample.key].curated


def draw_balanced(
    asked: Sequence[PlacedQuestion], seed: int, over: Over
) -> tuple[list[PlacedQuestion], list[dict[str, Any]]]:
    """Return the questions drawn and the account of every cell; questions without a stratum all stay."""
    positions = [i for i, a in enumerate(asked) if a.question.stratum]
    candidates = [
        Candidate(
            task=a.question.task,
            language=a.question.language,
            split=a.split,
            variant="/".join(filter(None, (a.question.chain_step, a.question.variant))),
            stratum=a.question.stratum,
            source=a.sample.source,
            key=a.sample.key,
            group=a.sample.group,
            classes=a.question.choices if a.question.stratum in a.question.choices else (),
        )
        for a in (asked[i] for i in positions)
    ]
    drawn, accounts = draw(candidates, seed, over)
    out = set(positions) - {positions[i] for i in drawn}
    return [a for i, a in enumerate(asked) if i not in out], accounts


def left_out(accounts: Iterable[Mapping[str, Any]]) -> list[Dropped]:
    """Return a `Dropped` for every cell that the balance leaves out as a whole; its samples may serve other tasks."""
    found = []
    for account in (a for a in accounts if "left_out" in a):
        task, language, split, variant, source = account["cell"]
        asked = " ".join(part for part in (task, variant, language) if part)
        detail = f"{asked}, {split}: {sum(account['before'].values())} questions, as {account['left_out']}"
        found.append(Dropped(source, "", "", "balance", "source_without_all_classes", detail, extent="part"))
    return found


def records_of(asked: Iterable[PlacedQuestion]) -> list[Record]:
    """Return the records, sorted by id.

    Raises:
        LmodError: Two questions have one id.
    """
    records = sorted(map(_record, asked), key=lambda r: r.id)
    for one, other in pairwise(records):
        if one.id == other.id:
            raise LmodError(
                f"task {one.task!r} asks twice under the id {one.id!r}.\n"
                f"Next: give the questions different `variant`s or `chain_step`s"
            )
    return records


def _record(asked: PlacedQuestion) -> Record:
    question, sample, pictures = asked.question, asked.sample, asked.pictures
    kind = type(asked.task)
    return Record(
        id=asked.id,
        task=question.task,
        task_class=class_path(kind),
        task_version=kind.version,
        source=sample.source,
        key=sample.key,
        modality=sample.modality,
        image=tuple(p.shown for p in pictures),
        image_plain=tuple(p.plain for p in pictures),
        image_sha256=tuple(p.sha256 for p in pictures),
        split=asked.split,
        group=sample.group,
        language=question.language,
        messages=question.messages if pictures else without_images(question.messages),
        choices=question.choices,
        answer=question.answer,
        regions=question.regions,
        scale=pictures[0].scale if pictures else 1.0,
        chain=chain_id(sample.source, question.chain),
        chain_step=question.chain_step,
        needs=asked.needs,
        variant=question.variant,
        tags={**question.tags, **_defect(pictures)},
        phantom=sample.phantom,
        patient=sample.patient,
        licence="; ".join(dict.fromkeys(p.licence for p in pictures)) or sample.licence,
        facts=_facts(asked),
    )


def _facts(asked: PlacedQuestion) -> tuple[Fact, ...]:
    """Return the facts of the image that a question shows, without those that only the asked label states.

    A changed image has none, but for a defect of the photograph, and nor has another patient's.
    """
    question = asked.question
    shows_own = question.shows == "own" and len(asked.pictures) == 1
    if not shows_own or (question.perturbation and not is_defect(question.perturbation)):
        return ()
    label = f"label {asked.task.asked_label(question)}"
    return tuple(fact for fact in asked.sample.facts if fact.origin != label)


def _defect(pictures: Sequence[Picture]) -> dict[str, str]:
    """Return the tags of the defect of the images shown; none if none has one."""
    name = next((p.perturbation for p in pictures if is_defect(p.perturbation)), "")
    return dict(zip(("perturbation", "grade"), map(str, parse_perturbation(name)), strict=True)) if name else {}


def without_images(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without the places of images, word for word; a message of images alone goes.

    Example:
        >>> from lmod_train.core.types import Part
        >>> without_images([Message("user", (Part("image"), Part("text", "Glaucoma?")))])
        (Message(role='user', parts=(Part(type='text', text='Glaucoma?'),)),)
    """
    kept = (Message(m.role, tuple(p for p in m.parts if p.type != "image")) for m in messages)
    return tuple(m for m in kept if m.parts)


def count(asked: Sequence[PlacedQuestion]) -> dict[str, Any]:
    """Return for each split the number of records, samples, groups, and records by stratum, structure, image."""
    counts: dict[str, Any] = {}
    for split in sorted({a.split for a in asked}):
        here = [a for a in asked if a.split == split]
        counts[split] = {
            "records": len(here),
            "samples": len({(a.sample.source, a.sample.key) for a in here}),
            "groups": len({(a.sample.source, a.sample.group) for a in here}),
            "strata": dict(sorted(Counter(a.question.stratum for a in here if a.question.stratum).items())),
            "structures": dict(sorted(Counter(r.structure for a in here for r in a.question.regions).items())),
            "shows": dict(sorted(Counter(a.question.shows for a in here).items())),
        }
    return counts
