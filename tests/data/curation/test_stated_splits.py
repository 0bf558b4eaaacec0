"""A split that a source states is kept; a patient of several splits is in one, and that is listed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Sample
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.splits import split
from lmod_train.tasks.four_way import FourWay
from tests.data.curation.world import Folders


def sample(key: str, group: str, stated: str = "") -> Sample:
    return Sample("clinic", key, "CFP", None, group, "CC0", split=stated)  # type: ignore[arg-type]


def test_stated_splits_are_kept_and_the_others_are_divided():
    stated = [sample(f"s{n}", f"p{n}", "test") for n in range(30)]
    free = [sample(f"f{n}", f"q{n}") for n in range(100)]
    placed = split([*stated, *free])
    assert {placed["clinic", s.key] for s in stated} == {"test"}
    assert {placed["clinic", s.key] for s in free} == {"train", "val", "test"} - {"test"}, "test has its share already"
    assert split([*free, *reversed(stated)]) == placed


def test_a_patient_of_several_splits_is_in_that_of_most():
    placed = split([sample("1", "p", "test"), sample("2", "p", "train"), sample("3", "p", "train"), sample("4", "p")])
    assert set(placed.values()) == {"train"}
    assert set(split([sample("1", "p", "val"), sample("2", "p", "test")]).values()) == {"test"}, "not lost for training"


def test_a_moved_sample_is_listed(tmp_path: Path):
    class Clinic(Folders):
        def samples(self):
            for n, one in enumerate(super().samples()):
                yield replace(one, group=f"p{n // 3}", split=("train", "train", "test")[n % 3])

    source = Clinic.write(tmp_path / "raw", 9)
    curate([source], [FourWay()], tmp_path / "out", workers=1, progress=False, balance=())
    assert {r.split for r in read_records(tmp_path / "out" / "records")} == {"train"}
    lost = [line for line in read_dropped(tmp_path / "out" / "dropped.csv") if line.reason == "split of its group"]
    assert len(lost) == 3 and "stated test; in train" in lost[0].detail
