"""The commands that look at a curated folder: a representative subset, and the benchmark answered blind."""

import csv

import pytest

from lmod_train import cli
from tests.tiny import record, write_curated

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


@pytest.fixture
def folder(tmp_path):
    splits = ("train", "train", "train", "val", "test")
    records = [
        record(
            f"glaucoma/s/{i}",
            **{"task": "glaucoma", "source": "s", "key": str(i), "choices": WORDS, "split": splits[i % 5]},
            answer=WORDS[i // 5 % 2],
        )
        for i in range(100)
    ]
    return write_curated(tmp_path / "curated", records)


def test_subset_writes_ids_and_tells_the_strata(folder, capsys):
    assert cli.main(["subset", str(folder), "--n", "10", "--split", "test"]) == 0
    printed = capsys.readouterr().out
    (file,) = (folder / "subsets").iterdir()
    assert file.name == "representative-10-test-seed0.txt" and len(file.read_text().split()) == 10
    assert "    5  " in printed and "GLAUCOMA" in printed and f"wrote {file}: 10 records" in printed


def test_subset_says_how_many_strata_it_leaves_out(folder, capsys):
    assert cli.main(["subset", str(folder), "--n", "1"]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2 strata (modality, task, source, class) are left out: --n is too small" in printed
    assert "    1  " in printed and "    0  " not in printed and ": 1 records" in printed


def test_subset_refuses_what_cannot_be_drawn(folder, tmp_path, capsys):
    for arguments in ([str(folder), "--n", "0"], [str(folder), "--tasks", "sdrg"], [str(tmp_path / "none")]):
        assert cli.main(["subset", *arguments]) == 2
        assert "Next: " in capsys.readouterr().err


def test_blind_prints_and_writes_the_account(folder, tmp_path, capsys):
    assert cli.main(["blind", str(folder)]) == 0
    assert "glaucoma: words alone 0.500 [0.3" in (printed := capsys.readouterr().out) and "no leak found" in printed
    assert "n 40: no leak found; keys and paths alone 0." in printed and "(not shown to models)" in printed
    with (folder / "audit.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = {(r["shortcut"], r["split"], r["metric"]): r for r in csv.DictReader(file)}
    assert all(r["task"] == "glaucoma" for r in rows.values())
    words = rows["words", "val+test", "accuracy"]
    assert (words["n"], words["value"], rows["words", "val+test", "leaks"]["value"]) == ("40", "0.5", "0.0")
    assert rows["words", "val+test", "can_tell"]["value"] == "1.0" and "  source alone 0.500 [" in printed
    assert {shortcut for shortcut, _, _ in rows} >= {"chance", "names", "border_mask", "thumbnail", "thumbnail_forest"}
    assert not (folder / "blind.csv").exists()
    assert cli.main(["blind", str(tmp_path)]) == 2


def test_blind_does_not_say_no_leak_where_none_could_be_found(tmp_path, capsys):
    few = [
        record(f"glaucoma/s/{i}", task="glaucoma", choices=WORDS, split=("train", "test")[i == 9], answer=WORDS[i % 2])
        for i in range(10)
    ]
    assert cli.main(["blind", str(write_curated(tmp_path / "curated", few))]) == 0
    printed = capsys.readouterr().out
    assert "n 1: too few records to detect a leak" in printed and "no leak found" not in printed


def test_blind_names_the_image_that_is_gone_and_writes_nothing(folder, capsys):
    gone = min(folder.rglob("*.png"))
    gone.unlink()
    assert cli.main(["blind", str(folder)]) == 2
    said = capsys.readouterr().err
    assert str(gone) in said and "python -m lmod_train curate --raw RAW --out OTHER" in said
    assert not (folder / "audit.csv").exists()
