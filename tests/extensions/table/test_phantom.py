"""The clinic's table and photographs: what is curated of them is what was drawn."""

from pathlib import Path

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.extensions.table import phantom as clinic


def test_the_clinic_s_table_is_curated_with_its_truth_and_as_phantoms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinic.write(tmp_path / "D", 12, 3, workers=0)
    table = ["curate", "--table", "D/clinic/patients.xlsx", "--modality", "CFP", "--name", "clinic"]
    cli.main([*table, "--images", "D/clinic/photos", "--out", "C"])
    records = {record.key: record for record in read_records(Path("C/records")) if record.task == "four_way"}
    truths = {one.key: one for one in clinic.truths(12, 3)}
    assert {key: record.answer.removeprefix("DISEASE: ") for key, record in records.items()} == {
        key: one.labels["diagnosis"] for key, one in truths.items()
    }
    assert all(record.phantom and record.patient == truths[key].patient for key, record in records.items())
    assert len({record.group for record in records.values()}) == len({one.group for one in truths.values()}) == 6


def test_the_same_options_draw_the_same_people(tmp_path):
    assert clinic.truths(6, 1) == clinic.truths(6, 1) != clinic.truths(6, 2)
    assert [t.group for t in clinic.truths(5, 0)] == ["P001", "P001", "P002", "P002", "P003"]
    clinic.write(tmp_path, 0, 0, workers=0)
    assert not list((tmp_path / "clinic").glob("photos/*"))
