"""Released drafts as a source of the one curation: the images of the folder they were drafted from, with questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Dropped, Need, Question, Record, Sample, SampleStream
from lmod_train.data.sources.base import Source
from lmod_train.tasks.drafting.review import Released
from lmod_train.tasks.drafts.facts import CHAIN, STAGES
from lmod_train.tasks.single_choice import reply_for, single_choice


class DraftedQuestions(Source):
    """Released drafts; keys are ``source/key`` of the images in the curated folder.

    The drafts of an image are ready questions of the task ``chain``, one a stage, each of which needs the earlier ones.
    Tags state the stage, the level, how it was reviewed (``review``) and the split of its image in the folder it was
    drafted from (``drafted_split``). Patients stay groups.

    Args:
        curated: Curated folder with the images.
        released: Drafts that a review has released.
        redistributable: Whether all images may be passed on.
        confidence: Whether the questions ask for a confidence, as in the task ``chain``.
    """

    name = "drafts"
    modality = ""
    licence = "that of the images"
    redistributable = False
    reference = "questions drafted by a model and reviewed by people"

    def __init__(
        self, curated: Path, released: Sequence[Released], redistributable: bool = False, confidence: bool = True
    ) -> None:
        super().__init__(curated)
        self.redistributable, self._confidence = redistributable, confidence
        self._released = sorted(released, key=lambda r: (_place(r.drafted.record), _order(r)))
        places = [_place(r.drafted.record) for r in reversed(self._released)]
        self._first = {(source, key): image for source, key, image in places}
        self.licence = "; ".join(sorted({r.drafted.record.licence for r in released})) or self.licence

    @property
    def is_phantom(self) -> bool:
        """Whether all images are phantoms."""
        return bool(self._released) and all(r.drafted.record.phantom for r in self._released)

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return False: drafts are named by the user."""
        return False

    def verify(self) -> None:
        """Check that there is a released draft.

        Raises:
            BadArgument: There is none.
        """
        if not self._released:
            raise BadArgument("--out", None, "at least one released draft", "see DRAFT/review.csv for the reasons")

    def inputs(self) -> Mapping[str, Any]:
        """Return the SHA-256 of all released drafts, and how many were reviewed, for the manifest."""
        texts = "\n".join(f"{r.drafted.id} {r.how} {r.drafted.draft.text}" for r in self._released)
        how = {word: sum(r.how == word for r in self._released) for word in sorted({r.how for r in self._released})}
        return {"sha256": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest(), "review": how}

    def samples(self) -> SampleStream:
        """Yield a sample an image with its questions; an image that has changed since is left out and listed."""
        images = Curated(self.root)
        for (source, key, image), several in groupby(self._released, key=lambda r: _place(r.drafted.record)):
            record, path = (own := list(several))[0].drafted.record, images.file(image)
            name = f"{source}/{key}" if self._first[source, key] == image else f"{source}/{key}/{Path(image).stem}"
            if not path.is_file() or (sha256_of(path),) != record.image_sha256:
                yield Dropped(self.name, name, image, "read", "image_changed", "not the image that was drafted about")
                continue
            yield Sample(
                source=self.name,
                key=name,
                modality=record.modality,
                image=path,
                group=f"{source}/{record.group or key}",
                licence=record.licence,
                patient=record.patient,
                phantom=record.phantom,
                asked=tuple(self._questions(name, own)),
            )

    def _questions(self, name: str, released: Sequence[Released]) -> Iterator[Question]:
        for place, one in enumerate(released):
            record, draft = one.drafted.record, one.drafted.draft
            tags = {**record.tags, "review": one.how, "drafted_split": record.split}
            yield Question(
                CHAIN,
                single_choice(draft.question, draft.options, confidence=self._confidence),
                draft.options,
                reply_for(draft.options, draft.right),
                chain=name,
                chain_step=one.drafted.stage,
                needs=tuple(Need(earlier.drafted.stage) for earlier in released[:place]),
                tags=tags,
            )


def _place(record: Record) -> tuple[str, str, str]:
    return record.source, record.key, record.image[0]


def _order(one: Released) -> int:
    return STAGES.index(one.drafted.stage)
