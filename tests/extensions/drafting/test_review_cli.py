"""The command `draft review`, from the drafts of a model to records of the task chain, through the front door."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.types import Record, Reply
from lmod_train.extensions.xpcr.tasks import Chain
from tests.drafted import TRUTHS, curated, good, make_drafts

IMAGES = 12
DRAFT, CURATED = Path("DRAFT"), Path("CURATED")


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Record]]:
    """The folder with the drafts and the curated photographs, which tests copy, and its records."""
    folder = tmp_path_factory.mktemp("drafted")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        return folder, make_drafts(DRAFT, curated(CURATED, IMAGES), IMAGES)


@pytest.fixture
def records(drafted: tuple[Path, list[Record]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    shutil.copytree(drafted[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return drafted[1]


def review(*arguments: str) -> int:
    return cli.main(["draft", "review", "DRAFT", "--curated", "CURATED", *arguments])


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: str, *, wrong: str = "", only: int | None = None, better: str = "") -> None:
    """Fill in a copy of the sheet as a reviewer who knows the truths.

    Args:
        path: File to write.
        wrong: Stage whose questions the reviewer answers with `none`.
        only: Number of rows to fill in; None for all.
        better: Correction of the first question.
    """
    table = rows("SHEET.csv")
    for row in table[:only]:
        options = {text[3:]: text[0] for text in row["choices"].split(" | ")}
        (truth,) = [stage for stage, words in TRUTHS.items() if words in options]
        row["answer"] = "none" if truth == wrong else options[TRUTHS[truth]].lower()
    if better:
        table[0]["question"] = better
    Path(path).write_bytes(csv_bytes([*table[0]], [list(row.values()) for row in table]))


def test_a_review_of_two_makes_records_of_the_chain_with_how_each_was_reviewed(records: list[Record], capsys):
    assert review("--blank", "SHEET.csv", "--share", "0.5") == 0
    assert "wrote SHEET.csv: 36 of 72 drafts to review" in capsys.readouterr().out
    fill("ada.csv", better="Which one is it, in your view?")
    fill("ben.csv")
    assert review("--sheets", "ada.csv", "ben.csv", "--out", "CHAINS") == 0
    printed = capsys.readouterr().out
    assert printed.count("passes (least kappa 0.85)") == 6 and "wrote CHAINS: 72 records of the task chain" in printed
    found = read_records(Path("CHAINS/records"))
    assert len(found) == 72 and {r.task for r in found} == {"chain"}
    assert [r.tags["review"] for r in found].count("reviewed") == 36
    assert sum("Which one is it, in your view?" in str(r.messages) for r in found) == 1
    task = Chain()
    for one in found:
        assert task.parse(Reply(one.id, one.answer), one) == TRUTHS[one.chain_step]
        assert (one.tags["level"], one.tags["stage"]) == ("R", one.chain_step)
        assert one.tags["drafted_split"] in ("train", "val", "test")
        before = list(TRUTHS)[: list(TRUTHS).index(one.chain_step)]
        assert [need.rpartition("/")[2] for need in one.needs] == before
    assert len({r.group for r in found}) == IMAGES
    assert read_manifest(Path("CHAINS"))["sources"]["drafts"]["redistributable"] is False
    account = rows("DRAFT/review.csv")
    assert {row["metric"] for row in account} >= {"kappa", "agreement", "kappa_draft:ada", "kappa_draft:ben"}
    assert [row["released"] for row in rows("DRAFT/reviewed.csv")] == ["True"] * 36


def test_the_sheet_does_not_give_away_letters_truths_or_names(records: list[Record]):
    assert review("--blank", "SHEET.csv", "--share", "1") == 0
    sheet = Path("SHEET.csv").read_text(encoding="utf-8-sig") + Path("SHEET/index.html").read_text(encoding="utf-8")
    assert "Right letter" not in sheet and "eye0" not in sheet and "phantom" not in sheet
    assert len({good(r).text.partition("Answer: ")[2] for r in records}) == 72
    assert not [r for r in records if good(r).answer in sheet]
    assert Path("SHEET/NOTICE").is_file()


def test_a_stage_below_the_kappa_is_refused_and_none_is_released_without_a_review(records: list[Record], capsys):
    review("--blank", "SHEET.csv", "--share", "1")
    fill("ada.csv")
    fill("ben.csv", wrong="DD")
    assert review("--sheets", "ada.csv", "ben.csv", "--out", "CHAINS") == 0
    assert "DD: refused: kappa 0.00 is below 0.85" in capsys.readouterr().out
    assert {r.chain_step for r in read_records(Path("CHAINS/records"))} == {*TRUTHS} - {"DD"}
    fill("carl.csv", only=3)
    assert review("--sheets", "ada.csv", "carl.csv", "--out", "OTHERS") == 2
    assert "expected at least one released draft" in capsys.readouterr().err
    assert not Path("OTHERS/manifest.json").exists()


def test_a_draft_that_the_model_has_changed_since_is_not_released(records: list[Record], capsys):
    review("--blank", "SHEET.csv", "--share", "0.5")
    fill("ada.csv")
    fill("ben.csv")
    sampled = {row["id"] for row in rows("DRAFT/reviewed.csv")} if Path("DRAFT/reviewed.csv").exists() else set()
    assert not sampled
    plan = Path("DRAFT/review.json").read_text(encoding="utf-8")
    sample = plan.partition('"sample"')[2]
    victim = next(r for r in records if r.id not in sample)
    shutil.rmtree("DRAFT/replies")
    make_drafts(DRAFT, CURATED, IMAGES, {victim.id: good(victim).text.replace("Answer: ", "Answer: now ", 1)})
    assert review("--sheets", "ada.csv", "ben.csv", "--out", "CHAINS") == 0
    found = read_records(Path("CHAINS/records"))
    faulty_or_changed = [r for r in found if r.key == f"phantom/{victim.key}" and r.chain_step == victim.chain_step]
    assert faulty_or_changed == [] and len(found) == 71


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected one of `--blank SHEET.csv`"),
        (["--sheets", "a.csv", "--blank", "SHEET.csv"], "--blank, --sheets='both'"),
        (["--blank", "SHEET.csv", "--share", "0"], "expected a share above 0, up to 1"),
        (["--sheets", "a.csv", "b.csv"], "no sheet of these drafts was written"),
        (["--sheets", "a.csv", "x/a.csv"], "expected files of different names"),
    ],
)
def test_errors_name_the_option_and_a_cure(records: list[Record], capsys, arguments: list[str], message: str):
    assert review(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error and "\nNext: " in error


def test_a_second_sheet_with_another_sample_is_refused_and_the_same_is_written_again(records: list[Record], capsys):
    assert review("--blank", "SHEET.csv") == 0
    assert review("--blank", "SHEET.csv") == 0
    assert review("--blank", "OTHER.csv", "--seed", "1") == 2
    assert "expected the drafts, share, seed and judgements of the review that has begun" in capsys.readouterr().err
