"""The training that the checks examine: its configuration, module and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lmod_train.core.types import Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.chat.batch import ChatBatch
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.training.callbacks.tripwires import probe_of

DRAWN = 64
"""Number of records that are tokenised; drawn evenly from all tasks and answers."""


@dataclass
class Subject:
    """A training that has not started.

    Attributes:
        config: The resolved configuration of `fit`.
        module: The module, its network not built yet; None if it could not be built.
        data: The data module, set up for `fit`; None if it could not be built.
        environment: Environment variables, among them those of a launcher.
        images: Number of images to decode, drawn evenly over the records; 0 for all.
    """

    config: Mapping[str, Any]
    module: VisionLanguageModel | None = None
    data: RecordsDataModule | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    images: int = 0

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
    def drawn(self) -> ChatBatch | None:
        """A training batch of some records, with their images; None without a module or records.

        Raises:
            LmodError: The dialect refuses a record.
        """
        if self.module is None or self.data is None or not self.records():
            return None
        return ChatBatch.of(self.module.collate(probe_of(self.records(), DRAWN), self.data.images))

    @cached_property
    def _asked(self) -> list[Record]:
        return [*self.data.records("val"), *self.data.records("test")] if self.data else []

    @cached_property
    def _records(self) -> list[Record]:
        return self.data.training() if self.data else []
