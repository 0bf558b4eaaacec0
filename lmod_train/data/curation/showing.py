"""Which image goes with a question: the sample's own, none, another sample's, or a photograph that is not an eye."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Dropped, own_part
from lmod_train.data.curation.foreign import Photograph
from lmod_train.data.curation.records import Picture, PlacedQuestion, image_places


def show_all(
    asked: Sequence[PlacedQuestion], photographs: Callable[[], Sequence[Photograph]], seed: int
) -> tuple[list[PlacedQuestion], list[Dropped]]:
    """Give every question the image that it shows.

    ``another`` is drawn by seed among the samples that are asked the same (task, language, step, variant, number of
    images), in the same split and modality (a combination is a modality of its own), whose class (stratum; answer where
    a question has none) differs and whose images are no copies. One of the same source is taken where there is one, so
    that neither camera nor licence changes with the image. ``foreign`` is drawn by seed among the photographs; both
    depend on the sample alone, so that all languages show the same. A question of several images shows as many others.

    Args:
        asked: Questions with their samples' own images.
        photographs: Called once if a question shows a foreign photograph.
        seed: Of the draw.

    Returns:
        The questions in the same order, and a `Dropped` for each that finds no other image: those are left out.
    """
    shown: list[PlacedQuestion] = []
    dropped: list[Dropped] = []
    others = _Others([a for a in asked if a.question.shows == "another"], seed)
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
        elif (other := others.of(one)) is not None:
            shown.append(replace(one, pictures=tuple(_borrowed(picture, one) for picture in other.pictures)))
        else:
            sample, detail = one.sample, f"{one.question.task} {one.question.variant}, {sample_class(one)}"
            dropped.append(Dropped.of(sample, "show", "no_image_of_another_class", detail, "part"))
    return shown, dropped


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

    def of(self, one: PlacedQuestion) -> PlacedQuestion | None:
        """Return another sample's question; None where every sample is of the same class, or no image is shown."""
        if not one.pictures:
            return None
        own = {p.sha256 for p in one.pictures}
        for pool in self._pools(one):
            members, classes = self._sorted[pool], self._classes[pool]
            begin, end = (bisect(classes, sample_class(one)) for bisect in (bisect_left, bisect_right))
            left = len(members) - (end - begin)
            first = _draw(self._seed, "another", one)
            for place in ((first + step) % left for step in range(left)):  # the first, but for copies of the own image
                other = members[place if place < begin else place + end - begin]
                if not {p.sha256 for p in other.pictures} & own:
                    return other
        return None

    @staticmethod
    def _pools(one: PlacedQuestion) -> tuple[tuple[str, ...], tuple[str, ...]]:
        question, sample = one.question, one.sample
        same = question.task, question.language, question.chain_step, question.variant
        wide = (*same, one.split, sample.modality, str(image_places(question)))
        return (*wide, sample.source), wide
