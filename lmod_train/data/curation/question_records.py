"""Ask every task of every sample: questions with their images, balanced and checked, and the mean image."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lmod_train.core.artifacts.records import chain_id
from lmod_train.core.curated import Curated
from lmod_train.core.errors import LmodError
from lmod_train.core.option_letters import options_in
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Dropped, Patient, Sample, Split, own_part
from lmod_train.data.curation import foreign as abroad
from lmod_train.data.curation.copies import ORIENTATIONS, SURE
from lmod_train.data.curation.families import Likeness, place_of
from lmod_train.data.curation.foreign import Photograph
from lmod_train.data.curation.image_files import write_image
from lmod_train.data.curation.prepare import Plan, Prepared, numbered
from lmod_train.data.curation.records import Picture, PlacedQuestion, ask_all, draw_balanced, image_places, left_out
from lmod_train.data.curation.splits import Place
from lmod_train.tasks.filled import placeholders


@dataclass(frozen=True, slots=True)
class Questions:
    """What was asked.

    Attributes:
        by_task: Task -> its questions after the balance.
        balanced: Task -> account of its balance, for the manifest.
        dropped: Questions that are left out, and foreign photographs that could not be read.
        photographs: Foreign photographs that were curated.
        joined: Samples of one photograph in two parts of a source, which tasks that join parts ask as one.
        accounts: Task and language -> what the task states of the samples, for the manifest.
    """

    by_task: dict[str, list[PlacedQuestion]] = field(default_factory=dict)
    balanced: dict[str, Any] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    photographs: list[abroad.Photograph] = field(default_factory=list)
    joined: list[Joined] = field(default_factory=list)
    accounts: dict[str, Any] = field(default_factory=dict)


def ask(
    plan: Plan,
    samples: Sequence[Sample],
    done: Mapping[Place, Prepared],
    splits: Mapping[Place, Split],
    images: Mapping[Place, Prepared],
    settings: Mapping[str, Any],
    foreign: Path | None,
    alike: Sequence[Likeness] = (),
) -> Questions:
    """Ask every task, choose the images of probes, balance, and leave out questions whose needs are not asked.

    Args:
        plan: Tasks, seed and output folder.
        samples: To be asked about.
        done: What became of each sample, by source and key.
        splits: Split of each sample.
        images: What became of each image, by source and key.
        settings: Those of the balance.
        foreign: Folder of photographs that are not eyes; None for those that come with scikit-learn.
        alike: Pairs of images that show one photograph, by which parts of a source are joined for tasks that ask so.
    """
    made = ((s, done.get((s.source, s.key))) for s in samples)
    ready = [numbered(s, one) for s, one in made if one is not None and one.dropped is None]
    whole, joined = join_parts(ready, alike) if any(t.joins_parts for t in plan.tasks) else (ready, [])
    asked = Questions(joined=joined)

    def photographs() -> list[abroad.Photograph]:
        if not asked.photographs:
            curated, unreadable = abroad.curate_foreign(abroad.photographs_in(foreign), plan.out, plan.longest_side)
            asked.photographs.extend(curated)
            asked.dropped.extend(unreadable)
        return asked.photographs

    for name in sorted({t.name for t in plan.tasks}):
        tasks = [t for t in plan.tasks if t.name == name]
        own = [q for t in tasks for q in ask_all([t], whole if t.joins_parts else ready, splits, images)]
        own, imageless = show_all(balance_places(own, plan.seed), photographs, plan.seed, plan.out)
        asked.dropped.extend(imageless)
        if settings["balance"] is None or name in settings["balance"]:
            own, asked.balanced[name] = draw_balanced(own, plan.seed, settings["balance_over"])
            asked.dropped.extend(left_out(asked.balanced[name]))
        asked.by_task[name] = own
    accounts = {f"{t.name}/{t.language}": t.account(whole if t.joins_parts else ready) for t in plan.tasks}
    asked.accounts.update({name: account for name, account in accounts.items() if account})
    complete, incomplete = with_needs(asked.by_task)
    asked.by_task.update(complete)
    asked.dropped.extend(incomplete)
    check_chains(chain.from_iterable(complete.values()))
    return asked


@dataclass(frozen=True, slots=True, order=True)
class Joined:
    """Two samples that are asked as one.

    Attributes:
        source: Source of both.
        first: Key under which they are asked.
        second: Key of the other.
        correlation: Of the two photographs, from `SURE` to 1; 1 for the same file.
    """

    source: str
    first: str
    second: str
    correlation: float


def join_parts(samples: Sequence[Sample], alike: Iterable[Likeness]) -> tuple[list[Sample], list[Joined]]:
    """Return the samples, each pair of parts as one sample, and the pairs.

    Two samples of one source are parts if they show one photograph (same file, or a correlation of `SURE`, in the same
    orientation), have no kind of label in common, and at least one has labels: IDRiD outlines lesions in one part and
    grades in another. The first keeps its key, image and boxes, and gets labels and patient data that it lacks from the
    second; boxes of structures that it lacks only if both photographs have the same size. A sample is joined once.

    Args:
        samples: As tasks see them.
        alike: Pairs of images that show one photograph; the best ones are joined first.
    """
    by_place = {place_of(sample): sample for sample in samples}
    joined: list[Joined] = []
    out: set[Place] = set()
    taken: set[Place] = set()
    for one in sorted(alike, key=lambda a: (-a.correlation, a.first, a.second)):
        first, second = (by_place.get(place) for place in sorted((one.first, one.second)))
        if first and second and not taken & {one.first, one.second} and _are_parts(first, second, one):
            taken |= {one.first, one.second}
            out.add(place_of(second))
            by_place[place_of(first)] = _together(first, second)
            joined.append(Joined(first.source, first.key, second.key, one.correlation))
    return [by_place[place_of(s)] for s in samples if place_of(s) not in out], sorted(joined)


def _are_parts(first: Sample, second: Sample, likeness: Likeness) -> bool:
    same = likeness.orientation == ORIENTATIONS[0] and likeness.correlation >= SURE
    labels = first.labels.keys() | second.labels.keys()
    return same and first.source == second.source and bool(labels) and not first.labels.keys() & second.labels.keys()


def _together(first: Sample, second: Sample) -> Sample:
    """Return the first sample with what only the second states."""
    own = {region.structure for region in first.regions}
    further = [region for region in second.regions if region.structure not in own and first.size == second.size]
    return replace(
        first,
        labels={**second.labels, **first.labels},
        regions=(*first.regions, *further),
        too_small=tuple(dict.fromkeys((*first.too_small, *second.too_small))),
        facts=tuple({fact.name: fact for fact in (*second.facts, *first.facts)}.values()),
        patient=Patient(**asdict(second.patient) | {k: v for k, v in asdict(first.patient).items() if v is not None}),
    )


def balance_places(asked: Sequence[PlacedQuestion], seed: int) -> list[PlacedQuestion]:
    """Return the questions, in the same order, with the right options of lettered lists spread evenly over the letters.

    The questions of a task, language, step and number of options take the letters in turn, split after split, source
    after source, and within a source in an order drawn by seed: so the counts of two letters differ by at most one in
    the whole set, in every split, and in every source of a split. Which sample gets which letter depends on its key,
    not on the answer. Questions without lettered options, and those whose order is not the task's own
    (`Task.placed`), stay as they are. A probe has the letters of the question that it probes (`Task.asks_as`).
    """
    found = list(asked)
    turns: Counter[tuple[str, ...]] = Counter()
    places: dict[tuple[str, ...], int] = {}
    for at in sorted(range(len(found)), key=lambda at: _turn(found[at], seed)):
        one = found[at]
        options = len(options_in(one.question.messages))
        task, variant = one.task.asks_as(one.question)
        cell = (task, one.question.language, one.question.chain_step, str(options))
        name = (*cell, one.sample.source, one.sample.key, variant)
        if options:
            question = one.task.placed(one.sample, one.question, places.get(name, turns[cell]) % options)
            if question is not one.question and name not in places:
                places[name] = turns[cell]
                turns[cell] += 1
            found[at] = replace(one, question=question)
    return found


def _turn(one: PlacedQuestion, seed: int) -> tuple[str, ...]:
    """Return the sort key of a question: its split and source, then a draw by seed."""
    key = (one.sample.source, one.sample.key, one.question.chain_step, one.task.asks_as(one.question)[1])
    return one.split, one.sample.source, shuffle_key(seed, "places", *key), *key


def show_all(
    asked: Sequence[PlacedQuestion], photographs: Callable[[], Sequence[Photograph]], seed: int, out: Path = Path()
) -> tuple[list[PlacedQuestion], list[Dropped]]:
    """Give every question the image that it shows.

    ``another`` is drawn by seed among the samples that are asked the same (task, language, step, variant, number of
    images), in the same split and modality (a combination is a modality of its own), whose class (stratum; answer where
    a question has none) differs and whose images are no copies. One of the same source is taken where there is one, so
    that neither camera nor licence changes with the image. ``foreign`` is drawn by seed among the photographs; both
    depend on the sample alone, so that all languages show the same. A question of several images shows as many others.
    ``same_answer`` and ``other_answer`` are drawn like ``another``, of other patients with the same choices, one of the
    same camera where there is one; the answer becomes theirs. All of these are shown about equally often, as an image
    that is shown to many says little about the others. ``blank`` is the mean image of the questions' images of
    the same source and modality.

    Args:
        asked: Questions with their samples' own images.
        photographs: Called once if a question shows a foreign photograph.
        seed: Of the draw.
        out: The curated folder, for mean images.

    Returns:
        The questions in the same order, and a `Dropped` for each that finds no other image: those are left out.
    """
    shown: list[PlacedQuestion] = []
    dropped: list[Dropped] = []
    others = _Others([a for a in asked if a.question.shows in _FROM_OTHERS], seed)
    means = _means(asked, out)
    foreign = photographs() if any(a.question.shows == "foreign" for a in asked) else ()
    for one in asked:
        if one.question.shows == "own":
            shown.append(one)
        elif one.question.shows == "none":
            shown.append(replace(one, pictures=()))
        elif one.question.shows == "foreign":
            first = _draw(seed, "foreign", one)
            chosen = [foreign[(first + place) % len(foreign)] for place in range(image_places(one.question))]
            shown.append(replace(one, pictures=tuple(_foreign(photograph, one) for photograph in chosen)))
        elif one.question.shows == "blank":
            mean = means.get((one.sample.source, one.sample.modality))
            if mean is None:
                detail = f"{one.question.task}: a mean image is of at least {FEWEST} of a source and modality"
                dropped.append(Dropped.of(one.sample, "show", "too_few_for_a_mean", detail, "part"))
                continue
            shown.append(replace(one, pictures=(mean,) * image_places(one.question)))
        elif (other := others.of(one)) is not None:
            own = one.question  # of same_answer and other_answer with the answer about the image that it shows
            own = own if own.shows == "another" else replace(own, answer=other.question.answer)
            pictures = tuple(_borrowed(picture, one) for picture in other.pictures)
            shown.append(replace(one, question=own, pictures=pictures))
        else:
            sample, detail = one.sample, f"{one.question.task} {one.question.variant}, {sample_class(one)}"
            reason = "no_image_of_the_class" if one.question.shows == "same_answer" else "no_image_of_another_class"
            dropped.append(Dropped.of(sample, "show", reason, detail, "part"))
    return shown, dropped


_FROM_OTHERS = ("another", "same_answer", "other_answer")


def _means(asked: Sequence[PlacedQuestion], out: Path) -> dict[tuple[str, str], Picture]:
    """Return the mean image of each source and modality of which a question shows one, if it has enough images."""
    shown: defaultdict[tuple[str, str], list[Picture]] = defaultdict(list)
    for one in asked:
        if one.question.shows == "own" and not one.question.perturbation:
            shown[one.sample.source, one.sample.modality] += one.pictures
    wanted = {(a.sample.source, a.sample.modality) for a in asked if a.question.shows == "blank"}
    means = {}
    for source, modality in sorted(wanted & shown.keys()):
        path, first = mean_path(source, modality), shown[source, modality][0]
        images = {p.plain for p in shown[source, modality]}
        if len(images) < FEWEST:
            continue
        sha256 = write_mean_image(out, path, sorted(images))
        means[source, modality] = Picture(path, path, sha256, first.scale, first.licence)
    return means


def sample_class(asked: PlacedQuestion) -> str:
    """Return what "another" must differ in."""
    return asked.question.stratum or own_part(asked.question.answer, asked.question.choices)


def _borrowed(picture: Picture, one: PlacedQuestion) -> Picture:
    licences = one.sample.licence, picture.licence
    return replace(picture, licence="; image: ".join(dict.fromkeys(licences)))


def _foreign(photograph: Photograph, one: PlacedQuestion) -> Picture:
    licence = f"{one.sample.licence}; image: {photograph.licence}"
    return Picture(photograph.image, photograph.image, photograph.sha256, photograph.scale, licence)


def _draw(seed: int, what: str, asked: PlacedQuestion) -> int:
    return int(shuffle_key(seed, what, asked.sample.source, asked.sample.key), 16)


class _Others:
    """Samples to choose another one from, in lists sorted by class, so that a choice takes no walk through them all."""

    def __init__(self, asked: Sequence[PlacedQuestion], seed: int) -> None:
        self._seed = seed
        pools: defaultdict[tuple[str, ...], list[PlacedQuestion]] = defaultdict(list)
        for one in asked:
            for pool in self._pools(one):
                pools[pool].append(one)
        self._sorted = {
            pool: sorted(members, key=lambda a: (sample_class(a), a.sample.source, a.sample.key))
            for pool, members in pools.items()
        }
        self._classes = {pool: [sample_class(a) for a in members] for pool, members in self._sorted.items()}
        self._ranks = {pool: self._ranked(members) for pool, members in self._sorted.items()}

    def of(self, one: PlacedQuestion) -> PlacedQuestion | None:
        """Return another sample's question; None where every sample is of the same class, or no image is shown."""
        if not one.pictures:
            return None
        own, is_probe = {p.sha256 for p in one.pictures}, one.question.shows == "another"
        for pool in self._pools(one):
            members, classes = self._sorted[pool], self._classes[pool]
            begin, end = (bisect(classes, sample_class(one)) for bisect in (bisect_left, bisect_right))
            if one.question.shows == "same_answer":
                members, begin, end = members[begin:end], 0, 0
            left = len(members) - (end - begin)
            if is_probe:
                first = _draw(self._seed, one.question.shows, one)
            else:  # one after the other, so that none is shown to many while others are shown to none
                first = self._ranks[pool][one.id] * left // (end - begin or left)
            for place in ((first + step) % left for step in range(left)):  # the first, but for copies of the own image
                other = members[place if place < begin else place + end - begin]
                if not {p.sha256 for p in other.pictures} & own and (is_probe or _other_patient(one, other)):
                    return other
        return None

    def _ranked(self, members: Sequence[PlacedQuestion]) -> dict[str, int]:
        """Return the id of each question -> its place among those of its class, in an order drawn by seed."""
        drawn = sorted(members, key=lambda a: _draw(self._seed, a.question.shows, a))
        seen: Counter[str] = Counter()
        ranks = {}
        for one in drawn:
            ranks[one.id] = seen[sample_class(one)]
            seen[sample_class(one)] += 1
        return ranks

    @staticmethod
    def _pools(one: PlacedQuestion) -> tuple[tuple[str, ...], ...]:
        """Return the names of the lists from which another is chosen, the most alike samples first."""
        question, sample = one.question, one.sample
        same = question.task, question.language, question.chain_step, question.variant
        wide: tuple[str, ...] = (*same, one.split, sample.modality, str(image_places(question)))
        if question.shows == "another":
            return (*wide, sample.source), wide
        wide = (*wide, *question.choices)
        camera = ((*wide, sample.source, f"camera {sample.patient.camera}"),) if sample.patient.camera else ()
        return *camera, (*wide, sample.source), wide


def _other_patient(one: PlacedQuestion, other: PlacedQuestion) -> bool:
    return (one.sample.source, one.sample.group) != (other.sample.source, other.sample.group)


Asked = Mapping[str, Sequence[PlacedQuestion]]


def with_needs(asked: Asked) -> tuple[dict[str, list[PlacedQuestion]], list[Dropped]]:
    """Return the questions all of whose needs are asked, by task, and the line for each that is left out.

    A question is left out where no question of its sample has the step, task and variant that it needs, where that one
    is left out itself (by the balance, for one), and where questions need each other in a circle.

    Raises:
        LmodError: Words hold a placeholder of a need that the question does not have.
    """
    everything = [one for questions in asked.values() for one in questions]
    for one in everything:
        _check_placeholders(one)
    kept = {one.id for one in everything if not one.needs}
    waiting = [one for one in everything if one.needs]
    while ready := [one for one in waiting if kept.issuperset(one.needs)]:
        kept.update(one.id for one in ready)
        waiting = [one for one in waiting if one.id not in kept]
    left = {task: [one for one in questions if one.id in kept] for task, questions in asked.items()}
    return left, [_left_out(one, kept) for one in waiting]


def _left_out(one: PlacedQuestion, kept: set[str]) -> Dropped:
    lacking = ", ".join(need for need in one.needs if need not in kept)
    return Dropped.of(one.sample, "needs", "needed_question_missing", f"{one.id} needs {lacking}", "part")


def _check_placeholders(one: PlacedQuestion) -> None:
    beyond = sorted(n for n in placeholders(one.question.messages) if one.needs and not 1 <= n <= len(one.needs))
    if beyond:
        raise LmodError(
            f"question {one.id!r}: placeholder {{answer {beyond[0]}}}, but it needs {len(one.needs)} answers.\n"
            f"Next: number the placeholders from 1 in the order of the question's `needs`"
        )


def check_chains(asked: Iterable[PlacedQuestion]) -> None:
    """Check that all questions of a chain are in one split.

    Raises:
        LmodError: A chain is in two; its questions are of different samples that the split did not know to belong
            together.
    """
    splits: defaultdict[str, set[Split]] = defaultdict(set)
    for one in asked:
        chain = chain_id(one.sample.source, one.question.chain)
        if chain:
            splits[chain].add(one.split)
            if len(splits[chain]) > 1:
                raise LmodError(
                    f"chain {chain!r} of task {one.question.task!r} is in the splits {sorted(splits[chain])}.\n"
                    f"Next: name each chain uniquely within its source, e.g. by the sample's key, or give its samples "
                    f"one `group`"
                )


# The mean image of a source and modality: what is shown where nothing of one eye may be seen.
MOST = 200
"""Images of which the mean is taken, drawn by their names."""

FEWEST = 5
"""Images of which there is a mean: that of fewer shows each of them."""


def mean_path(source: str, modality: str) -> str:
    """Return the path of the mean image of a source and modality, relative to the curated folder.

    Example:
        >>> mean_path("refuge", "CFP")
        'images/refuge/CFP.mean.jpg'
    """
    return f"images/{source}/{modality or 'images'}.mean.jpg"


def write_mean_image(out: Path, path: str, images: Sequence[str]) -> str:
    """Write the mean of curated images, each in the size that most of them have; return the SHA-256 of the file.

    Args:
        out: The curated folder.
        path: Of `mean_path`.
        images: Paths of plain images, at least `FEWEST`; of more than `MOST`, these are drawn.
    """
    curated = Curated(out)
    drawn = sorted(set(images), key=lambda name: shuffle_key(0, "mean", name))[:MOST]
    size = Counter(curated.rgb(name).size for name in drawn).most_common(1)[0][0]
    total = np.zeros((size[1], size[0], 3))
    for name in drawn:
        total += np.asarray(curated.rgb(name).resize(size, Image.Resampling.BOX), dtype=np.float64)
    mean = Image.fromarray(np.round(total / len(drawn)).astype(np.uint8))
    return write_image(out / path, mean)
