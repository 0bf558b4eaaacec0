"""Image files that several samples show: each is opened and written once, and samples that share one stay together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lmod_train.core.types import Dropped, ImageFile, Sample
from lmod_train.core.vocabulary.modalities import combined, words_of
from lmod_train.data.curation.prepare import Prepared
from lmod_train.data.curation.splits import Place


@dataclass(frozen=True, slots=True)
class ImageIndex:
    """Every image that samples show, once.

    Attributes:
        samples: One for each image, of the image's key: the sample whose own image it is, or for an image that is only
            shared a bare sample without labels, masks and questions.
        shown_by: Source and key of each image -> places of the samples that show it, in their order.
    """

    samples: list[Sample]
    shown_by: dict[Place, list[Place]]


def images_of(samples: Sequence[Sample]) -> ImageIndex:
    """Return the images of samples, sorted by source and key; `key_conflicts` finds none among these samples."""
    shown_by: defaultdict[Place, list[Place]] = defaultdict(list)
    images = {(s.source, s.key): s for s in samples if s.image is not None}
    for sample in samples:
        for key in dict.fromkeys(sample.image_keys):
            shown_by[sample.source, key].append((sample.source, sample.key))
        for shared in sample.shared_images:
            images.setdefault((sample.source, shared.key), bare(sample, shared))
    return ImageIndex([images[place] for place in sorted(images)], dict(shown_by))


def bare(sample: Sample, shared: ImageFile) -> Sample:
    """Return an image file as a sample of its own, without anything to ask about it."""
    return Sample(
        source=sample.source,
        key=shared.key,
        modality=combined(words_of(shared.modality or sample.modality)),
        image=shared.path,
        group=sample.group,
        licence=sample.licence,
        cut=shared.cut,
        phantom=sample.phantom,
    )


def key_conflicts(samples: Sequence[Sample]) -> Iterator[Dropped]:
    """Yield the line for each sample that names a shared image by a key which another file has."""
    files = {(s.source, s.key): (s.image, s.cut) for s in samples if s.image is not None}
    for sample in samples:
        for shared in sample.shared_images:
            file = shared.path, shared.cut
            if files.setdefault((sample.source, shared.key), file) != file:
                detail = f"its image {shared.path.name} has the key {shared.key!r}, which is another file's"
                yield Dropped.of(sample, "read", "image_key_repeated", detail)
                break


def pairs_to_join(samples: Iterable[Sample], images: ImageIndex) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of samples that one split must hold: those that share an image file, or a chain of questions."""
    for places in images.shown_by.values():
        yield from ((places[0], other) for other in places[1:])
    firsts: dict[Place, Place] = {}
    for sample in samples:
        own = sample.source, sample.key
        for chain in dict.fromkeys(q.chain for q in sample.asked if q.chain):
            first = firsts.setdefault((sample.source, chain), own)
            if first != own:
                yield first, own


def grouped(images: ImageIndex, samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples of the images in the groups of the samples that show them."""
    groups = {(s.source, s.key): s.group for s in samples}
    return [replace(i, group=groups[images.shown_by[i.source, i.key][0]]) for i in images.samples]


def prepared_sample(sample: Sample, prepared: Mapping[Place, Prepared]) -> Prepared:
    """Return what became of a sample: of its own image, and dropped where one of its shared images could not be read.

    Args:
        sample: With or without an image of its own.
        prepared: What became of every image, by source and key.
    """
    nothing = Prepared(sample.source, sample.key)
    own = prepared[sample.source, sample.key] if sample.image is not None else nothing
    failed = next((d for s in sample.shared_images if (d := prepared[sample.source, s.key].dropped)), None)
    return own if failed is None or own.dropped else replace(own, dropped=replace(failed, key=sample.key))
