"""The training that the checks examine: its configuration, module and data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lmod_train.core.types import Record
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.training.callbacks.tripwires import probe_of

DRAWN = 64
"""Number of records that are tokenised; drawn evenly from all tasks and answers."""


TRIED = 16
"""Number of pairs with the same pixels after which the search for a differing pair stops."""


@dataclass
class Subject:
    """A training that has not started.

    Attributes:
        config: The resolved configuration of `fit`.
        module: The `VisionLanguageModel`, its network not built yet; None if it could not be built.
        data: The `RecordsDataModule`, set up for `fit`; None if it could not be built.
        environment: Environment variables, among them those of a launcher.
        images: Number of images to decode, drawn evenly over the records; 0 for all.
    """

    config: Mapping[str, Any]
    module: Any = None  # a check that needs what is None is skipped
    data: Any = None
    environment: Mapping[str, str] = field(default_factory=dict)
    images: int = 0

    def lacks(self, needs: str) -> str:
        """Return why the first part that is not there is missing, or "".

        Args:
            needs: Some of data, records, images, pair, module and network, separated by spaces.
        """
        missing: dict[str, tuple[Callable[[], Any], str]] = {
            "data": (lambda: self.data, "the data could not be built"),
            "records": (self.records, "no training records"),
            "images": (lambda: any(r.image for r in self.records()), "no images"),
            "pair": (lambda: self.pair, "fewer than two images to compare"),
            "module": (lambda: self.module, "the module could not be built"),
            "network": (lambda: self.module is not None and self.module.model is not None, "no network"),
        }
        return next((why for there, why in map(missing.__getitem__, needs.split()) if not there()), "")

    @property
    def checkpoint(self) -> str:
        """The configured checkpoint, whether it exists or not; empty for a module without one."""
        model = self.config.get("model") or {}
        return str((model.get("init_args") or {}).get("checkpoint") or "")

    def records(self) -> list[Record]:
        """Return the training records, with replayed conversations; [] without data."""
        return self._records

    def asked(self) -> list[Record]:
        """Return the records of the splits val and test; [] without data."""
        return self._asked

    @cached_property
    def drawn(self) -> ChatBatch:
        """A training batch of some records, with their images.

        Raises:
            LmodError: The dialect refuses a record.
        """
        return ChatBatch.of(self.module.collate(probe_of(self.records(), DRAWN), self.data.images))

    @cached_property
    def pair(self) -> list[Record]:
        """Two training records of one task with as many images, of different pixels if such are found; [] if none."""
        first: dict[tuple[str, int], Record] = {}
        alike: list[list[Record]] = []
        for record in self.records():
            if not record.image or len(alike) == TRIED:
                continue
            known = first.setdefault((record.task, len(record.image)), record)
            if known.image == record.image:
                continue
            if not self.alike(known, record):
                return [known, record]
            alike.append([known, record])
        return alike[0] if alike else []

    def alike(self, one: Record, other: Record) -> bool:
        """Return whether the images of two records have the same pixels."""
        pairs = zip(map(self.data.images.rgb, one.image), map(self.data.images.rgb, other.image), strict=True)
        return all(own.size == theirs.size and own.tobytes() == theirs.tobytes() for own, theirs in pairs)

    @cached_property
    def _asked(self) -> list[Record]:
        return [*self.data.records("val"), *self.data.records("test")] if self.data else []

    @cached_property
    def _records(self) -> list[Record]:
        training = getattr(self.data, "training", None)  # of this package's, with conversations to replay
        return training() if training else list(self.data.records("train")) if self.data else []
