"""`report --pack` and `report --verify`, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from tests.report import packs
from tests.tabled import stored


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("packs")
    place = packs.curated(root / "curated")
    packs.run(root / "good", place)
    packs.run(root / "perfect", place, reply=lambda r: r.answer)
    return root


def test_packs_are_written_verified_and_listed(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name in ("good", "perfect"):
        assert cli.main(["report", "--pack", str(made / name)]) == 0
    assert "wrote good.lmodpack: 48 of 48 predictions" in capsys.readouterr().out
    Path("other.lmodpack").write_bytes(b"no pack")
    files = ["good.lmodpack", "other.lmodpack", "perfect.lmodpack"]
    assert cli.main(["report", "--verify", *files, "--curated", str(made / "curated"), "--out", "board"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("| perfect |") < printed.index("| good    |")
    assert "refused: other.lmodpack: is no pack that can be read" in printed and "verified: 2 of 3 packs" in printed
    names = {f"{name}.{ending}" for name in ("leaderboard", "refused") for ending in ("csv", "tex")}
    assert {f.name for f in Path("board").iterdir()} == {"leaderboard.md", *names}


def test_a_pack_is_written_to_the_named_file_and_over_packs_only(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "paper" / "a.lmodpack"
    for _ in range(2):
        assert cli.main(["report", "--pack", str(made / "good"), "--out", str(out)]) == 0
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    assert cli.main(["report", "--pack", str(made / "good"), "--out", str(notes)]) == 2
    assert "one that ends with .lmodpack" in capsys.readouterr().err and notes.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    stored(__file__, "packs.what_is_missing_or_too_much_is_named"),
)
def test_what_is_missing_or_too_much_is_named(
    arguments: list[str], problem: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    places = {"{curated}": str(made / "curated"), "{out}": str(tmp_path / "out")}
    assert cli.main(["report", *(places.get(a, a) for a in arguments)]) == 2
    error = capsys.readouterr().err
    assert problem in error and "\nNext: " in error
