"""Unknown words of a sample cost their own value alone, in every source, and each is listed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Patient, Sample
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.curation.inputs import with_known_values
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.curation.pipeline import curate
from lmod_train.tasks.four_way import FourWay
from tests.data.curation.world import Folders

PLAIN = Sample("clinic", "1", "CFP", None, "p", "CC0")


@pytest.mark.parametrize(
    ("labels", "patient", "kept", "lines"),
    [
        ({"diagnosis": "poag"}, Patient(), {}, ["diagnosis 'poag'"]),
        ({"diagnosis": "glaucoma", "glaucoma": "ja"}, Patient(), {"diagnosis": "glaucoma"}, ["glaucoma 'ja'"]),
        ({"icdr": "5", "sdrg": "4"}, Patient(), {"sdrg": "4"}, ["icdr '5'"]),
        ({"optic cup": "1"}, Patient(), {}, ["optic cup '1'"]),
        ({}, Patient(sex="F", laterality="OD", age=131), {}, ["sex 'F'", "laterality 'OD'", "age 131"]),
        ({}, Patient(sex="female", laterality="left", age=0, camera="any", quality="any"), {}, []),
        ({"table/Visus": "0,8", "my own": "x"}, Patient(), {"table/Visus": "0,8", "my own": "x"}, []),
    ],
)
def test_a_word_that_is_not_known_costs_its_value(labels, patient, kept, lines):
    known, lost = with_known_values(replace(PLAIN, labels=labels, patient=patient))
    assert known.labels == kept and [line.detail.partition(":")[0] for line in lost] == lines
    assert {line.extent for line in lost} <= {"part"}
    assert with_known_values(known) == (known, []), "nothing is left to lose"


def test_every_word_of_the_vocabulary_is_known():
    labels = {term.name: word for term in CONDITIONS for word in ("yes", "no")}
    for scale in SCALES:
        for level in scale.levels:
            sample = replace(PLAIN, labels={**labels, scale.name: level, "diagnosis": CONDITIONS[-1].name})
            assert with_known_values(sample) == (sample, [])


def test_a_photograph_with_an_unknown_sex_is_curated_and_listed(tmp_path: Path):
    class Clinic(Folders):
        def samples(self):
            for sample in super().samples():
                yield replace(sample, patient=Patient(sex="F", laterality="OD"))

    source = Clinic.write(tmp_path / "raw", 8)
    curate([source], [FourWay()], tmp_path / "out", workers=1, progress=False, balance=())
    records = read_records(tmp_path / "out" / "records")
    assert len(records) == 8 and {(r.patient.sex, r.patient.laterality) for r in records} == {(None, None)}
    lost = [line for line in read_dropped(tmp_path / "out" / "dropped.csv") if line.reason == "unknown word"]
    assert len(lost) == 16 and {line.extent for line in lost} == {"part"}
