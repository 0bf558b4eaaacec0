"""Which samples belong together, and the split of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lmod_train.core.types import Dropped, Sample, Split
from lmod_train.data.curation.families import Likeness, contradictions, families, likenesses, same_files
from lmod_train.data.curation.leakage import Shown
from lmod_train.data.curation.prepare import Prepared
from lmod_train.data.curation.sharing import ImageIndex, grouped, pairs_to_join
from lmod_train.data.curation.splits import Place, split


@dataclass(frozen=True, slots=True)
class Divided:
    """The samples in the groups that were split, and their splits.

    Attributes:
        samples: All of them, each in the group of everything that belongs to it.
        images: Every image that they show, in the same groups.
        alike: Pairs of images that show one photograph.
        contradictory: Samples whose photograph carries two different labels; they are in no split.
        moved: Samples that are in another split than stated, which they keep.
        splits: Split of each sample, by source and key.
    """

    samples: list[Sample]
    images: list[Sample]
    alike: list[Likeness]
    contradictory: list[Dropped]
    moved: list[Dropped]
    splits: dict[Place, Split]


def divide(
    samples: Sequence[Sample],
    images: ImageIndex,
    prepared: Mapping[Place, Prepared],
    thumbnails: Mapping[Place, str],
    ratios: Sequence[float],
    seed: int,
    by: Literal["group", "image"],
) -> Divided:
    """Join what belongs together, and divide the samples into splits.

    Samples that share an image file or a chain of questions are joined in any case, samples that show copies of one
    photograph only where groups are split.

    Args:
        samples: Of all sources.
        images: That they show.
        prepared: What became of each image, by source and key.
        thumbnails: Of the images that have one, by which copies are found.
        ratios: Shares of train, val and test.
        seed: Of the splits.
        by: ``image`` is the published protocol, in which images of one patient may be in different splits.
    """
    sharing = list(pairs_to_join(samples, images))
    joined, _ = families(samples, sharing)
    shown = grouped(images, joined)
    alike = same_files(shown, {place: done.files[0] for place, done in prepared.items() if done.dropped is None})
    alike += likenesses(shown, thumbnails)
    contradictory = contradictions(shown, alike)
    out = {(d.source, d.key) for d in contradictory}
    if by == "group":
        copies = [(images.shown_by[a.first][0], images.shown_by[a.second][0]) for a in alike]
        joined, spanning = families(joined, copies)
        units, shown = joined, grouped(images, joined)
    else:  # each sample by itself, but for what it shares
        units, _ = families([replace(s, group=s.key) for s in samples], sharing)
        spanning = {}
    left = [s for s in units if (s.source, s.key) not in out]
    splits = split(left, ratios, seed=seed, spanning=spanning)
    return Divided(joined, shown, alike, contradictory, list(_moved(left, splits)), splits)


def _moved(samples: Iterable[Sample], splits: Mapping[Place, Split]) -> Iterator[Dropped]:
    """Yield a line for each sample that is in another split than its source states, with its group."""
    for sample in samples:
        placed = splits[sample.source, sample.key]
        if sample.split and sample.split != placed:
            detail = f"stated {sample.split}; in {placed}, as are the others of its patient or family"
            yield Dropped.of(sample, "split", "split of its group", detail, "part")


def shown_images(divided: Divided, images: ImageIndex, prepared: Mapping[Place, Prepared]) -> list[Shown]:
    """Return the images as the check of leaks sees them, those of samples dropped for their labels among them."""
    shown = []
    for image in divided.images:
        place = image.source, image.key
        if prepared[place].dropped is None:
            in_splits = (divided.splits[p] for p in images.shown_by[place] if p in divided.splits)
            placed: Split | Literal[""] = next(in_splits, "")
            labels = tuple(sorted(image.labels.items()))
            shown.append(Shown(*place, placed, image.group, prepared[place].files[0], labels))
    return shown
