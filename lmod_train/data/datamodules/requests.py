"""The datamodule of requests that are made before they are asked, such as questions to be written from captions."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.base import Task


class RequestData(RecordsDataModule):
    """Requests in text, all of one task.

    Args:
        requests: Parquet file with a record for each request.
        tasks: Their task.
        eval_batch_size: Number of requests in a batch, per device.
        shard: Part of the requests that this process asks, ``i/n`` with i from 1 to n; empty for all.
    """

    def __init__(self, requests: Path, tasks: list[Task], eval_batch_size: int = 32, shard: str = "") -> None:
        super().__init__(requests, tasks, eval_batch_size=eval_batch_size, split="all", shard=shard)

    def _read(self) -> list[Record]:
        """Return the requests in id order."""
        return sorted(read_records(self.curated), key=lambda r: r.id)
