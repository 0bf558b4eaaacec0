"""The datamodule of drafts: records by which a model writes questions about the images of a curated folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.base import Task
from lmod_train.tasks.drafting.task import Drafting


class DraftData(RecordsDataModule):
    """Drafts to be written about the images of a curated folder, one for each stage with a truth.

    Args:
        curated: Folder written by `curate`.
        tasks: The task `Drafting`.
        eval_batch_size: Number of drafts in a batch, per device.
        stages: Stages to draft (IQA, AL, LC, DD, SG, CD); null for all.
        limit: Maximum number of drafts, the first in id order; 0 for all.
        workers: Number of processes that read images; 0 reads them in the main process.
        shard: Part of the images that this process asks about, ``i/n`` with i from 1 to n; empty for all.
    """

    def __init__(
        self,
        curated: Path,
        tasks: list[Task],
        eval_batch_size: int = 32,
        stages: list[str] | None = None,
        limit: int = 0,
        workers: int = 0,
        shard: str = "",
    ) -> None:
        super().__init__(
            curated, tasks, eval_batch_size=eval_batch_size, limit=limit, split="all", workers=workers, shard=shard
        )
        self._stages = stages

    def _read(self) -> list[Record]:
        """Return the records of the drafts, in id order.

        Raises:
            BadArgument: Nothing in the folder is a truth of a stage.
        """
        read_manifest(self.curated)
        drafting = [task for task in self.tasks.values() if isinstance(task, Drafting)]
        if len(drafting) != 1:
            expected = "the task lmod_train.tasks.drafting.task.Drafting"
            raise BadArgument("data.tasks", list(self.tasks), expected, "use the command `draft ask`")
        everything = drafting[0].records(read_records(self.curated / "records"), self._size)
        chosen = [r for r in everything if self._stages is None or r.chain_step in self._stages]
        if not chosen:
            stages = ", ".join(self._stages or ("IQA to CD",))
            expected = f"a folder with truths of stages {stages}: chains, diagnoses, "
            expected += "grades or boxes"
            cure = "curate with such tasks, e.g. `python -m lmod_train curate --config xpcr_own --raw RAW --out CHAINS`"
            raise BadArgument("curated", str(self.curated), expected, cure)
        return [self._with_hash(r) for r in chosen]

    def _size(self, record: Record) -> tuple[int, int]:
        """Return width and height of a record's original image in pixels."""
        width, height = self.images.size(record.image_plain[0])
        return round(width / record.scale), round(height / record.scale)

    def _with_hash(self, record: Record) -> Record:
        """Return a record with the SHA-256 of its plain image; its source may show the one with numbered boxes."""
        return replace(record, image_sha256=tuple(sha256_of(self.images.file(name)) for name in record.image))
