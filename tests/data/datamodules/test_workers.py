"""Processes that read: they stay over epochs, draw what one process draws, and are as many as are needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from lmod_train.data.datamodules import loader
from lmod_train.data.datamodules.loader import RecordLoader, workers_for
from lmod_train.data.datamodules.order import ImageBatches, by_image
from lmod_train.models.vision.augmentation import Augmentation
from lmod_train.models.vision.whole_image import WholeImages
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=Glaucoma.choices[i % 2]) for i in range(9)]


class Noted(WholeImages):
    """Notes the process that collates in the first pixel of a batch."""

    def __call__(self, records, root):
        made = super().__call__(records, root)
        made.process = os.getpid()
        return made


def loaded(folder: Path, workers: int) -> RecordLoader:
    batches = ImageBatches(by_image(RECORDS, 4), 2, shuffle=True, seed=5)
    dialect = Noted(Glaucoma.choices, size=32, augmentation=Augmentation())
    return RecordLoader(list(RECORDS), batches, dialect, folder, workers)


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_curated(tmp_path_factory.mktemp("curated"), RECORDS, side=40)


def test_processes_stay_and_augment_as_one_process_does(curated: Path) -> None:
    alone, together = loaded(curated, 0), loaded(curated, 2)
    seen, first = set(), None
    for epoch in range(3):
        ours, theirs = list(alone), list(together)
        assert [r.id for b in ours for r in b.records] == [r.id for b in theirs for r in b.records]
        assert all(torch.equal(a.images, b.images) for a, b in zip(ours, theirs, strict=True))
        pixels = {r.id: b.images[i] for b in ours for r, i in zip(b.records, b.image_of, strict=True)}
        if epoch:
            assert not all(torch.equal(pixels[name], first[name]) for name in pixels), "each epoch augments anew"
        seen, first = seen | {b.process for b in theirs}, first or pixels
    assert len(seen) == 2 and os.getpid() not in seen


def test_a_continued_epoch_augments_as_the_stopped_one(curated: Path) -> None:
    whole = loaded(curated, 0)
    list(whole)  # the first epoch
    wanted = list(whole)
    again = loaded(curated, 2)
    again.load_state_dict({"epoch": 1, "done": 2, "of": len(wanted), "at_once": 2})
    found = list(again)
    assert len(found) == len(wanted) - 2
    assert all(torch.equal(a.images, b.images) for a, b in zip(found, wanted[2:], strict=True))


@pytest.mark.parametrize(
    ("cores", "ranks", "batches", "expected"),
    [
        *[(2, 1, 127, 0), (2, 1, 128, 1), (2, 1, 10_000, 1), (16, 1, 10_000, 8), (16, 1, 256, 2), (16, 8, 10_000, 1)],
        *[(1, 1, 10_000, 0), (8, 8, 10_000, 0), (9, 1, 10_000, 8), (8, 1, 10_000, 7)],
    ],
)
def test_there_are_as_many_as_cores_and_work_ask_for(cores, ranks, batches, expected, monkeypatch) -> None:
    monkeypatch.setattr(loader.os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    made = ImageBatches([[i] for i in range(batches * ranks)], 1, shuffle=True, ranks=ranks)
    assert len(made) == batches
    assert workers_for(made) == expected
