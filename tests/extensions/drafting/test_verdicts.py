"""Verdicts of people: read as those of a judge, or refused with the line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, JudgeConflict
from lmod_train.extensions.drafting.commands import SHEET, add_verdicts, read_verdicts, write_sheet
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.tasks.rescore import rescore
from tests.judged import answer, make_judge, make_run, records

IDS = [r.id for r in records(6)]
TASK = Judgement()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path / "run", ["pale", "pink\nand =SUM(1)", "pale", "", "pink", "pink"])


def table(path: Path, rows: list[str], head: str = "id,verdict") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def add(run: Run, path: Path, task: Judgement = TASK) -> list[str]:
    predictions = read_predictions(run.predictions)
    lines = [line for _, line in add_verdicts(run, predictions, task, read_verdicts(path, task), "people")]
    rescore(run.folder)
    return lines


def figures(run: Run) -> dict[str, tuple[int, float | None]]:
    return {s.metric: (s.n, s.value) for _, _, s in read_scores(run.scores) if s.subset == "all"}


def test_each_rater_is_a_judge_and_a_sample_has_its_own_n(run: Run, tmp_path: Path):
    rows = [f"{IDS[0]},true,ada", f"{IDS[1]},FALSE,ada", f"{IDS[0]},FALSE,bo", f"{IDS[2]},,bo", f"{IDS[3]},TRUE,bo"]
    lines = add(run, table(tmp_path / "v.csv", rows, "ID, Verdict ,rater"))
    assert lines == ["ada: 2 verdicts read", "bo: 1 verdicts read, 1 left out, on replies that are not judged"]
    scores = figures(run)
    assert scores["accuracy_judged_answered:ada"] == (2, 0.5)
    assert scores["accuracy_judged_answered:bo"] == (1, 0.0)
    assert scores["accuracy_judged:ada"] == (0, None), "a sample of the replies gives none over all records"
    assert scores["agreement_judged:ada:bo"] == (1, 0.0)


def test_a_complete_file_gives_the_accuracy_over_all_records(run: Run, tmp_path: Path):
    verdicts = {IDS[0]: "TRUE", IDS[1]: "FALSE", IDS[2]: "TRUE", IDS[4]: "FALSE", IDS[5]: "TRUE"}
    add(run, table(tmp_path / "v.csv", [f"{id},{v}" for id, v in verdicts.items()]))
    assert figures(run)["accuracy_judged:people"] == (6, 0.5), "the empty reply counts as wrong"


def test_people_are_the_reference_of_a_model(run: Run, tmp_path: Path):
    make_judge(run, "zz-model", dict.fromkeys([IDS[0], IDS[1], IDS[2], IDS[4], IDS[5]], "TRUE"))
    add(run, table(tmp_path / "v.csv", [f"{IDS[0]},TRUE", f"{IDS[1]},FALSE", f"{IDS[2]},TRUE"]))
    scores = figures(run)
    assert scores["sensitivity_judged:zz-model:people"] == (2, 1.0)
    assert scores["specificity_judged:zz-model:people"] == (1, 0.0)


def test_reading_a_file_again_adds_nothing_and_a_corrected_one_replaces(run: Run, tmp_path: Path):
    path = table(tmp_path / "v.csv", [f"{IDS[0]},TRUE", f"{IDS[1]},TRUE", f"{IDS[1]},TRUE"])
    add(run, path)
    replies = run.judge("people").replies_of(0)
    before = replies.read_bytes()
    assert add(run, path) == ["people: 2 verdicts read"]
    assert replies.read_bytes() == before
    add(run, table(path, [f"{IDS[1]},FALSE"]))
    assert figures(run)["accuracy_judged_answered:people"] == (2, 0.5)


def test_a_verdict_on_an_earlier_reply_is_stale_and_never_moves_to_the_new_one(run: Run, tmp_path: Path):
    path = table(tmp_path / "v.csv", [f"{IDS[0]},TRUE", f"{IDS[1]},TRUE"])
    add(run, path)
    answer(run, {IDS[0]: "pink after all"})
    rescore(run.folder)
    assert figures(run)["accuracy_judged_answered:people"] == (1, 1.0)
    assert add(run, path) == ["people: 1 verdicts read, 1 left out, on an earlier reply"]
    assert figures(run)["accuracy_judged_answered:people"] == (1, 1.0)
    again = table(tmp_path / "w.csv", [f"{IDS[0]},FALSE,pink after  all", f"{IDS[2]},TRUE,pink"], "id,verdict,given")
    assert add(run, again) == ["people: 1 verdicts read, 1 left out, on an earlier reply"]
    assert figures(run)["accuracy_judged_answered:people"] == (2, 0.5)


@pytest.mark.parametrize("earlier", ["TRUE", "FALSE"])
@pytest.mark.parametrize("order", [1, -1])
def test_verdicts_on_an_earlier_and_the_present_reply_may_stand_in_one_file(
    run: Run, tmp_path: Path, earlier: str, order: int
):
    """Only that on the present reply counts, in any order of the rows."""
    rows = [f"{IDS[0]},an earlier reply,{earlier}", f"{IDS[0]},pale,TRUE", f"{IDS[1]},another,{earlier}"][::order]
    assert add(run, table(tmp_path / "v.csv", rows, "id,given,verdict")) == [
        "people: 1 verdicts read, 2 left out, on an earlier reply"
    ]
    assert figures(run)["accuracy_judged_answered:people"] == (1, 1.0)


def test_the_sheet_is_filled_in_and_read_back(run: Run, tmp_path: Path):
    path = tmp_path / "sheet.csv"
    assert write_sheet(path, read_predictions(run.predictions)) == 5
    text = path.read_text(encoding="utf-8-sig")
    assert "\n=SUM" not in text and text.startswith(",".join(SHEET))
    rows = list(csv.DictReader(text.splitlines()))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*SHEET])
        writer.writeheader()
        writer.writerows(row | {"verdict": "TRUE"} for row in rows)
    assert add(run, path) == ["people: 5 verdicts read"]


@pytest.mark.parametrize(
    ("head", "rows", "problem"),
    [
        ("id,answer", ["x,TRUE"], "it has id, answer"),
        ("", [], "the columns id and verdict"),
        ("id,verdict", [f"{IDS[0]},maybe"], r"one of TRUE, FALSE \(.*v\.csv:2\)"),
        ("id,verdict", [f"{IDS[0]},TRUE", "no/such,TRUE"], "1, e.g. no/such in line 3"),
        ("id,verdict", [f"{IDS[0]},"], "no verdict"),
        ("id,verdict", [f"{IDS[0]},TRUE", f"{IDS[0]},FALSE"], r"v\.csv:2 says TRUE, .*v\.csv:3 FALSE"),
        ("id,verdict,rater", [f"{IDS[0]},TRUE,../ada"], "e.g. `--name reader_1`"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(
    run: Run, tmp_path: Path, head: str, rows: list[str], problem: str
):
    with pytest.raises(BadArgument, match=problem):
        add(run, table(tmp_path / "v.csv", rows, head))
    assert not run.judgements.exists()


ENCODINGS, DELIMITERS, ENDINGS = ("utf-8", "utf-8-sig", "utf-16"), ",;\t", ("\n", "\r\n", "\r")


@pytest.mark.parametrize(
    ("encoding", "delimiter", "ending"),
    [
        # every two of them together in the quick tests, all three in the slow ones
        pytest.param(e, d, ENDINGS[n], marks=() if (i + j + n) % 3 == 0 else pytest.mark.slow)
        for i, e in enumerate(ENCODINGS)
        for j, d in enumerate(DELIMITERS)
        for n in range(3)
    ],
)
def test_a_sheet_is_read_as_spreadsheets_save_it(run: Run, tmp_path: Path, encoding: str, delimiter: str, ending: str):
    path = tmp_path / "sheet.csv"
    write_sheet(path, read_predictions(run.predictions))
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, [*SHEET, "", "rater"], delimiter=delimiter, lineterminator=ending)
        writer.writeheader()
        writer.writerows(row | {"verdict": "TRUE", "rater": "李"} for row in rows)
    assert add(run, path) == ["李: 5 verdicts read"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"id,given,verdict\n{IDS[0]},pale, round,TRUE\n".encode(), r"v\.csv:2 has more values than columns \('TRUE'"),
        (f"id,verdict,verdict\n{IDS[0]},TRUE,FALSE\n".encode(), "each once"),
        (f'id,verdict\n"{IDS[0]},TRUE\n{IDS[1]},FALSE\n'.encode(), "v\\.csv:2 has a quotation mark is not closed"),
        (f"id,verdict,rater\n{IDS[0]},TRUE,李\n".encode("gb18030"), "CSV UTF-8"),
        (b"PK\x03\x04\x14\x00\x06\xff\xff", "CSV UTF-8"),
        (f"id,verdict,rater\n{IDS[0]},TRUE,Dr. Li\n".encode(), r"Dr\. Li.*line 2.*\n.*rename the rater"),
    ],
)
def test_a_damaged_file_is_refused_whole(run: Run, tmp_path: Path, content: bytes, problem: str):
    """None of its verdicts may be dropped, or read from another column."""
    path = tmp_path / "v.csv"
    path.write_bytes(content)
    with pytest.raises(BadArgument, match=problem):
        add(run, path)
    assert not run.judgements.exists()


@pytest.mark.parametrize("changed", [b"", b"id,verdict\n", b"notes of mine"])
def test_a_sheet_never_replaces_a_file_with_other_content(run: Run, tmp_path: Path, changed: bytes):
    path, predictions = tmp_path / "sheet.csv", read_predictions(run.predictions)
    write_sheet(path, predictions)
    assert write_sheet(path, predictions) == 5, "equal content is no loss"
    filled = changed or path.read_bytes().replace(b",\r\n", b",TRUE\r\n")
    path.write_bytes(filled)
    with pytest.raises(BadArgument, match="filled in"):
        write_sheet(path, predictions)
    assert path.read_bytes() == filled


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(BadArgument, match=r"nowhere\.csv"):
        read_verdicts(tmp_path / "nowhere.csv", TASK)


def test_other_labels_and_a_model_s_name_are_refused(run: Run, tmp_path: Path):
    path = table(tmp_path / "v.csv", [f"{IDS[0]},TRUE"])
    add(run, path)
    with pytest.raises(JudgeConflict, match="--name NAME"):
        add(run, table(tmp_path / "w.csv", [f"{IDS[0]},good"]), Judgement(["good", "bad"]))
    make_judge(run, "gpt", {IDS[0]: "TRUE"})
    rated = table(tmp_path / "x.csv", [f"{IDS[0]},TRUE,gpt"], "id,verdict,rater")
    with pytest.raises(JudgeConflict, match="a model"):
        add(run, rated)


ERRORS = Judgement(wording="error_types")


def test_error_types_exported_by_the_page_are_verdicts_of_a_judge_of_errors(tmp_path: Path):
    rows = [
        f"{IDS[0]},wrong,Loop",
        f"{IDS[1]},right,",
        f"{IDS[2]},wrong,",
        f"{IDS[3]},wrong,misinterpreted visual features",
    ]
    found = read_verdicts(table(tmp_path / "v.csv", rows, "id,verdict,error_type"), ERRORS)
    assert {v.id: v.label for v in found} == {
        IDS[0]: "text generation failure",
        IDS[1]: "no error",
        IDS[3]: "misinterpreted visual features",
    }
    kept = read_verdicts(table(tmp_path / "w.csv", [f"{IDS[0]},TRUE,Loop"], "id,verdict,error_type"), TASK)
    assert [v.label for v in kept] == ["TRUE"], "another judge reads its own column"


def test_an_unknown_error_type_is_refused_with_its_line(tmp_path: Path):
    path = table(tmp_path / "v.csv", [f"{IDS[0]},wrong,too short"], "id,verdict,error_type")
    with pytest.raises(BadArgument, match="misinterpreted visual features"):
        read_verdicts(path, ERRORS)


def test_types_are_kept_as_a_judge_of_the_run(run: Run, tmp_path: Path):
    add(run, table(tmp_path / "v.csv", [f"{IDS[0]},medical knowledge errors"]), ERRORS)
    assert figures(run)["share_judged_medical_knowledge_error:people"] == (6, pytest.approx(1 / 6, abs=1e-5))
