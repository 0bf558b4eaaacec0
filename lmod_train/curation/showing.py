"""Which image goes with a question: the sample's own, none, another sample's, or a photograph that is not an eye."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from lmod_train.curation.foreign import Photograph
from lmod_train.curation.records import Asked, Picture, own_picture
from lmod_train.lots import lot
from lmod_train.types import Dropped, own_part


def show_all(
    asked: Sequence[Asked], photographs: Callable[[], Sequence[Photograph]], seed: int
) -> tuple[list[Asked], list[Dropped]]:
    """Give every question the image that it shows.

    ``another`` is drawn by lot among the samples that are asked the same (task, language, variant), in the same split
    and modality, whose class (stratum; answer where a question has none) differs and whose image is not a copy. One of
    the same source is taken where there is one, so that neither camera nor licence changes with the image. ``foreign``
    is drawn by lot among the photographs; both hang on the sample, so that all languages show the same.

    Args:
        asked: Questions with their samples' own images.
        photographs: Called once if a question shows a foreign photograph.
        seed: Draws the lots.

    Returns:
        The questions in the same order, and a `Dropped` for each that finds no other image: those are left out.
    """
    shown: list[Asked] = []
    dropped: list[Dropped] = []
    others = _Others([a for a in asked if a.question.shows == "another"], seed)
    foreign = photographs() if any(a.question.shows == "foreign" for a in asked) else ()
    for one in asked:
        if one.question.shows == "own":
            shown.append(one)
        elif one.question.shows == "none":
            shown.append(replace(one, picture=None))
        elif one.question.shows == "foreign":
            place = _lot(seed, "foreign", one) % len(foreign)
            chosen = foreign[place]
            licence = f"{one.sample.licence}; image: {chosen.licence}"
            picture = Picture(chosen.image, chosen.image, chosen.sha256, chosen.scale, licence)
            shown.append(replace(one, picture=picture))
        elif (other := others.of(one)) is not None:
            shown.append(replace(one, picture=_plain(other, one)))
        else:
            sample, said = one.sample, f"{one.question.task} {one.question.variant}, {sample_class(one)}"
            dropped.append(
                Dropped(sample.source, sample.key, str(sample.image), "show", "no_image_of_another_class", said, "part")
            )
    return shown, dropped


def sample_class(asked: Asked) -> str:
    """Return what "another" must differ in."""
    return asked.question.stratum or own_part(asked.question.answer, asked.question.choices)


def _plain(other: Asked, one: Asked) -> Picture:
    picture, licences = own_picture(other.sample, other.done, marked=False), (one.sample.licence, other.sample.licence)
    return replace(picture, licence="; image: ".join(dict.fromkeys(licences)))


def _lot(seed: int, what: str, asked: Asked) -> int:
    return int(lot(seed, what, asked.sample.source, asked.sample.key), 16)


class _Others:
    """Samples to choose another one from, in lists sorted by class, so that a choice takes no walk through them all."""

    def __init__(self, asked: Sequence[Asked], seed: int) -> None:
        self._seed = seed
        pools: defaultdict[tuple[str, ...], list[Asked]] = defaultdict(list)
        for one in asked:
            for pool in self._pools(one):
                pools[pool].append(one)
        self._sorted = {
            pool: sorted(members, key=lambda a: (sample_class(a), a.sample.source, a.sample.key))
            for pool, members in pools.items()
        }
        self._classes = {pool: [sample_class(a) for a in members] for pool, members in self._sorted.items()}

    def of(self, one: Asked) -> Asked | None:
        """Return another sample's question; None where every sample is of the same class."""
        for pool in self._pools(one):
            members, classes = self._sorted[pool], self._classes[pool]
            begin, end = (bisect(classes, sample_class(one)) for bisect in (bisect_left, bisect_right))
            left = len(members) - (end - begin)
            first = _lot(self._seed, "another", one)
            for place in ((first + step) % left for step in range(left)):  # the first, but for copies of the own image
                other = members[place if place < begin else place + end - begin]
                if other.done.plain != one.done.plain:
                    return other
        return None

    @staticmethod
    def _pools(one: Asked) -> tuple[tuple[str, ...], tuple[str, ...]]:
        question, sample = one.question, one.sample
        wide = (question.task, question.language, question.variant, one.split, sample.modality)
        return (*wide, sample.source), wide
