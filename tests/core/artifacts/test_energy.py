"""Lines of energy, whole and cut."""

from lmod_train.core import raw
from lmod_train.core.artifacts.energy import Energy, append_energy, read_energy


def test_the_last_measurement_of_a_record_counts_and_a_cut_line_is_none(tmp_path):
    file = tmp_path / "energy" / "rank-0.jsonl"
    append_energy(file, ["a", "b"], 4.0, "x")
    with file.open("a") as cut:
        cut.write('\n{"gpu": "x", "joules": 9, "i')
    append_energy(file, ["b"], 7.0, "x")
    with file.open("a") as cut:
        cut.write('\n[1, 2]\n{"ids": [], "joules": 1, "gpu": "x"}\n{"ids": 5, "joules": 1, "gpu": "x"}')
    assert read_energy(tmp_path / "energy") == {"a": Energy(2.0, "x"), "b": Energy(7.0, "x")}
    assert read_energy(tmp_path / "nowhere") == {}


def test_a_line_that_is_too_long_is_no_measurement(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MOST_LINE", 1000)
    file = tmp_path / "energy" / "rank-0.jsonl"
    for ids in (["a"], ["b", "x" * 2000], ["c"]):
        append_energy(file, ids, 4.0, "x")
    assert set(read_energy(tmp_path / "energy")) == {"a", "c"}
