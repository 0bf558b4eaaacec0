"""The tables and the page of judged replies: each number beside its judge, and no markup of a reply in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.judges import Agreement, Judges, prompt_name
from lmod_train.report.report import write_report
from lmod_train.report.results import read_outcomes
from lmod_train.tasks.rescore import rescore
from tests.judged import answer, make_judge, make_run, records
from tests.report.shown import shown

IDS = [r.id for r in records(6)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = make_run(tmp_path / "judged", ["pale", "<script>alert('TRUE')</script>", "pale", "", "pink", "pink"])
    make_judge(made, "gpt", dict.fromkeys(IDS[:3] + IDS[4:], "TRUE") | {IDS[1]: "<b>TRUE</b> or FALSE"})
    own = Judgement(["good", "bad"], prompt="{expected} {given}")
    make_judge(made, "ada", dict.fromkeys(IDS[:3] + IDS[4:], "good") | {IDS[0]: "bad"}, own)
    rescore(made.folder)
    return made.folder


def test_each_judge_has_its_row_with_its_own_account(run: Path):
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown(Judges(), [run]).splitlines()[2:]]
    assert [row[2] for row in rows] == ["ada", "gpt"]
    assert rows[1][4:7] == ["lmod_train 1", "6", "0.667"] and rows[1][-3] == "16.7 %"
    assert rows[0][4].startswith("own ")
    pairs = [[c.strip() for c in line.split("|")[4:6]] for line in shown(Agreement(), [run]).splitlines()[2:]]
    rules = [[judge, rule] for judge in ("ada", "gpt") for rule in ("exact", "containment")]
    assert pairs == [["ada", "gpt"], *rules]


def test_a_prompt_of_your_own_is_named_by_its_hash(run: Path):
    names = {prompt_name(judge) for judge in read_outcomes(run).judged}
    assert len(names) == 2


def test_a_run_without_judgements_has_no_table(tmp_path: Path):
    made = make_run(tmp_path / "plain", ["pale"] * 3)
    assert (shown(Judges(), [made.folder]), shown(Agreement(), [made.folder])) == ("", "")


def test_the_report_shows_judges_in_tables_and_page_and_escapes_what_they_replied(run: Path, tmp_path: Path):
    page = write_report([run], tmp_path / "report", sections=[Judges(), Agreement()]).read_text(encoding="utf-8")
    tables = (tmp_path / "report" / "tables.md").read_text(encoding="utf-8")
    assert "## Judged replies" in tables and "## Agreement of judges" in tables
    assert ">Judged replies</h3>" in page and ">Agreement of judges</h3>" in page
    cards = (tmp_path / "report" / "pages" / "000001.html").read_text(encoding="utf-8")
    assert "<dt>judged by ada</dt><dd>bad</dd><dt>judged by gpt</dt><dd>TRUE</dd>" in cards
    assert "not judged yet" not in page + cards
    assert "<script>alert" not in page + cards and "&lt;script&gt;alert" in cards
    assert "accuracy_judged:gpt" in (tmp_path / "report" / "scores.csv").read_text(encoding="utf-8")


def test_missing_judgements_are_a_remark(run: Path, tmp_path: Path):
    from lmod_train.core.artifacts.run import Run

    answer(Run(run), {IDS[0]: "another reply"})
    rescore(run)
    said: list[str] = []
    write_report([run], tmp_path / "report", sections=[Judges()], log=said.append)
    assert "m: 1 of 5 replies are not judged by gpt as they are now (1 judgements are of an earlier text)" in said
