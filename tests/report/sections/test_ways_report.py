"""The table of the spread, the remark, and the page: the numbers are those of scores.csv."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.tables import Table
from lmod_train.report.figures.lines import lines
from lmod_train.report.origin import not_as_published, remarks
from lmod_train.report.paired_runs import joint, paired, pairs
from lmod_train.report.report import write_report
from lmod_train.report.results import Outcomes, read_results
from lmod_train.report.sections.ways import Ways
from lmod_train.scoring.comparison import cochran_q
from lmod_train.scoring.items import items_of
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from tests.report.shown import shown
from tests.tasks.test_spread import by_wording, predictions, questions


def spread_rows(run):
    return [row for row in table_rows(run) if "over" in row]


def table_rows(run):
    return [row for part in Ways().parts(read_results([run])) if isinstance(part, Table) for row in lines(part)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "WORDINGS"
    folder.mkdir()
    made = predictions(questions(10, phantom=True), by_wording, wordings=3)
    replies = {p.record.id: replace(p.reply, model="base") for p in made}
    found = parse_replies(Glaucoma(), [p.record for p in made], replies)
    write_records(folder / "records.parquet", [p.record for p in found])
    write_predictions(folder / "predictions.parquet", found)
    write_scores(folder / "scores.csv", "WORDINGS", "base", scores_of([Glaucoma()], found))
    (folder / "config.yaml").write_text("{}")
    return folder


def test_the_table_has_the_spread_of_scores_csv_and_cochrans_test(run):
    (row,) = spread_rows(run)
    right = [[i < limit for limit in (10, 6, 8)] for i in range(10)]
    assert row["p"] == pytest.approx(cochran_q(right)[1])
    assert [row[head] for head in ("over", "ways", "n", "least", "most")] == ["wording", 3, 10, 0.6, 1.0]
    line = shown(Ways(), [run]).splitlines()[-1]
    low, high = row["95 % interval"]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        *("glaucoma", "base", "wording", "3", "10", "0.800", f"{low:.3f}-{high:.3f}"),
        *("0.600", "1.000", "0.200", "60.0 %", "0.050"),
    ]  # fmt: skip


def test_repeats_have_a_table_of_the_vote_its_ties_and_pass_at_k(tmp_path):
    """Of ten questions with four replies each, three are right four times, four twice, and three never."""

    def right(record):
        number, repeat = int(record.id.split("/")[2]), int(record.tags["repeat"])
        return number < 3 or (number < 7 and repeat <= 2)

    found = predictions(questions(10, phantom=True), right, repeats=4)
    scores = scores_of([Glaucoma()], found)
    values = {s.metric: s.value for s in scores if s.subset == "all"}
    assert values["accuracy_vote_over_repeat"] == pytest.approx((3 + 4 / 2) / 10)
    assert values["share_tied_over_repeat"] == pytest.approx(0.4)
    assert values["pass_at_1"] == pytest.approx(0.5) == values["accuracy_strict"]
    assert values["pass_at_2"] == pytest.approx((3 + 4 * 5 / 6) / 10) and values["pass_at_4"] == pytest.approx(0.7)
    assert not [s for s in scores_of([Glaucoma()], predictions(questions(4), right, repeats=2, wordings=2))
                if s.metric.startswith("pass_at_4")]  # fmt: skip
    write_records(tmp_path / "records.parquet", [p.record for p in found])
    write_predictions(tmp_path / "predictions.parquet", found)
    write_scores(tmp_path / "scores.csv", "RUN", "base", scores)
    (tmp_path / "config.yaml").write_text("{}")
    named = {row["measure"]: (row["n"], row["value"]) for row in table_rows(tmp_path) if "measure" in row}
    assert list(named) == ["majority vote", "ties of the vote", "pass@1", "pass@2", "pass@4"]
    assert named["majority vote"] == (10, pytest.approx(0.5)) and named["pass@4"] == (10, pytest.approx(0.7))


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param({"repeats": 2}, marks=pytest.mark.slow),
        pytest.param({"repeats": 5}, marks=pytest.mark.slow),
        {"orders": 2},
        {"orders": 2, "repeats": 3},
    ],
)
def test_asking_again_with_the_same_outcome_is_no_more_evidence(ways, tmp_path):
    """No p value changes if each question is asked in further ways that have the same reply."""

    def tested(name, **more):
        made = {f"{name}{seed}": predictions(questions(10), rule, wordings=3, **more) for seed, rule in RULES.items()}
        found = []
        for one, own in made.items():
            folder = tmp_path / one
            folder.mkdir()
            write_records(folder / "records.parquet", [p.record for p in own])
            write_predictions(folder / "predictions.parquet", own)
            write_scores(folder / "scores.csv", one, one, scores_of([Glaucoma()], own))
            found += [row["p"] for row in spread_rows(folder) if row["over"] == "wording"]
        items = {one: {"glaucoma": items_of(own, lambda p: p.record.answer)} for one, own in made.items()}
        ((_, _, n, *q),) = joint(paired(items))
        both = pairs(paired(items))
        return (found, [(pair.test.n, pair.test.p) for pair in both], n, q), [pair.p for pair in both]

    (exact, once), (again, often) = tested("once"), tested("often", **ways)
    assert exact == again
    assert often == pytest.approx(once, rel=0.2)


RULES = {
    0: by_wording,
    1: lambda record: int(record.id.split("/")[2]) % 3 == 0,
    2: lambda record: int(record.id.split("/")[2]) < 7 + int(record.tags["wording"]),
}


def test_tables_and_page_show_the_spread_and_say_that_scores_are_over_all_ways(run, tmp_path):
    lines: list[str] = []
    page = write_report([run], tmp_path / "report", sections=[Ways()], log=lines.append).read_text(encoding="utf-8")
    tables = (tmp_path / "report" / "tables.md").read_text(encoding="utf-8")
    assert "base: the questions were asked in these ways, and the scores are over all: wording 0, 1, 2" in lines
    assert "## Spread over ways of asking" in tables and ">Spread over ways of asking</h3>" in page
    assert "60.0 %" in tables and re.search(r'<td class="n[^>]*>60.0 %', page)


def test_a_run_that_asked_once_has_no_such_table(tmp_path):
    found = predictions(questions(4), lambda r: True)
    write_records(tmp_path / "records.parquet", [p.record for p in found])
    write_predictions(tmp_path / "predictions.parquet", found)
    write_scores(tmp_path / "scores.csv", "ONCE", "base", scores_of([Glaucoma()], found))
    assert spread_rows(tmp_path) == []


def test_runs_that_ask_each_question_once_are_paired_by_question_whatever_the_way(tmp_path):
    """Zero-shot, with a system message, and in three wordings: paired on the ten questions."""
    asked = {
        "plain": predictions(questions(10), lambda r: int(r.id.split("/")[2]) < 5),
        "expert": predictions(questions(10), lambda r: True, system_prompts={"expert": "You are."}),
        "worded": predictions(questions(10), by_wording, wordings=3),
    }
    items = paired({name: {"glaucoma": items_of(found, lambda p: p.record.answer)} for name, found in asked.items()})
    first, second, third = pairs(items)
    assert (first.test.n, first.test.only_first, first.test.only_second) == (10, 0, 5)
    assert (second.test.n, second.test.only_second) == (10, 5), "with the published wording, right for all ten"
    assert third.test.n == 10
    ((_, runs, n, *_),) = joint(items)
    assert (runs, n) == (3, 10)
    outcomes = {name: Outcomes(tuple(found), {}, {}, None) for name, found in asked.items() if name != "worded"}
    assert not any("different records" in remark for remark in remarks(outcomes))


def test_published_scores_stand_beside_published_wordings_only():
    plain, worded = (predictions(questions(4), lambda r: True, **ways) for ways in ({}, {"wordings": 2}))
    outcomes = [Outcomes(tuple(found), {}, {}, None) for found in (plain, worded)]
    assert not_as_published({"plain": outcomes[0]}) == set()
    assert not_as_published({"worded": outcomes[1]}) == {"glaucoma"}
    assert not_as_published({"plain": outcomes[0], "worded": outcomes[1]}) == set()
