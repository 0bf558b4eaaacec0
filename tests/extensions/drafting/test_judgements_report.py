"""Judgements in the scores of a run: only those of the replies as they are now, with an account of all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.judges import judge_lines, read_judged
from lmod_train.report.origin import remarks
from lmod_train.report.results import read_outcomes
from lmod_train.scoring.status import PENDING
from lmod_train.tasks.rescore import rescore
from tests.judged import CLASS, answer, make_judge, make_run, records
from tests.tasks.test_conversation import record

IDS = [r.id for r in records(10)]
TEXTS = ["pale", "pink", "pale", "pink", "pale", "pink", "", None, "I decline.", "pale"]
VERDICTS = ["TRUE", "FALSE", "TRUE", "TRUE", "FALSE", "TRUE or FALSE", "-", "-", None, "TRUE"]
"""The reply 6 is empty and 7 failed, so that no judge is asked; the judge's own request for 8 failed."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path / "run", TEXTS)


def verdicts() -> dict[str, str | None]:
    return {id: text for id, text in zip(IDS, VERDICTS, strict=True) if text != "-"}


def figures(run: Run) -> dict[str, tuple[int, float | None]]:
    rescore(run.folder)
    return {s.metric: (s.n, s.value) for _, _, s in read_scores(run.scores) if s.subset == "all"}


def test_the_scores_of_a_run_are_those_counted_from_the_files(run: Run):
    make_judge(run, "gpt", verdicts())
    right = sum(text == "TRUE" for text in VERDICTS)
    read = sum(text in ("TRUE", "FALSE") for text in VERDICTS)
    scores = figures(run)
    assert right == 4 and scores["accuracy_judged:gpt"] == (0, None), "a judgement has failed, and is to come"
    assert scores["accuracy_judged_answered:gpt"] == (read, pytest.approx(right / read)) == (6, pytest.approx(4 / 6))
    assert scores["share_unjudged:gpt"] == (9, pytest.approx(1 / 9)), "an ambiguous reply of the judge"
    shares = scores["share_not_sent:gpt"], scores["share_pending:gpt"]
    assert shares == ((9, pytest.approx(1 / 9)), (9, pytest.approx(1 / 9)))
    assert scores["share_failed"] == (10, 0.1), "no reply, which no score contains"


def test_what_is_judged_does_not_change_the_other_scores(run: Run):
    before = figures(run)
    make_judge(run, "gpt", verdicts())
    after = figures(run)
    assert {name: after[name] for name in before} == before
    of_judge = {"gpt", "gpt:exact", "gpt:containment"}
    assert {name.partition(":")[2] for name in after.keys() - before.keys()} == of_judge


def test_a_judgement_of_an_earlier_reply_is_stale_until_it_is_judged_again(run: Run):
    make_judge(run, "gpt", verdicts())
    answer(run, {IDS[0]: "pink, on a second look"})
    rescore(run.folder)
    (found,) = read_judged(run, read_predictions(run.predictions))
    assert (found.stale, found.pending, found.verdicts[IDS[0]]) == (1, 1, PENDING)
    assert list(judge_lines([found])) == [
        "judged by gpt: 5 of 8 replies of conversation (1 unjudged, 1 failed, 1 pending, 1 stale; the same `judge` "
        "command judges the rest)"
    ]
    scores = figures(run)
    assert scores["accuracy_judged:gpt"] == (0, None), "no figure over all records while one is not judged"
    assert scores["accuracy_judged_answered:gpt"] == (5, pytest.approx(3 / 5))
    make_judge(run, "gpt", {IDS[0]: "FALSE"})
    assert figures(run)["accuracy_judged:gpt"] == (0, None), "the judge's request for 8 has failed"
    make_judge(run, "gpt", {IDS[8]: "FALSE"})
    assert figures(run)["accuracy_judged:gpt"] == (9, pytest.approx(3 / 9))


def test_the_same_text_again_keeps_its_judgement(run: Run):
    make_judge(run, "gpt", verdicts())
    answer(run, {IDS[0]: "<think>really?</think> pale"})
    assert figures(run)["accuracy_judged_answered:gpt"] == (6, pytest.approx(4 / 6))


def test_another_reference_answer_or_prompt_makes_judgements_stale(run: Run, monkeypatch: pytest.MonkeyPatch):
    make_judge(run, "gpt", verdicts())
    predictions = read_predictions(run.predictions)
    monkeypatch.setattr("lmod_train.extensions.drafting.judgement.DEFAULT", "A new version: {expected} {given}")
    (found,) = read_judged(run, predictions)
    assert (found.stale, found.pending) == (8, 8)


def test_two_judges_both_show_and_are_compared(run: Run):
    make_judge(run, "gpt", verdicts())
    make_judge(run, "ada", {id: "TRUE" for id in IDS if VERDICTS[IDS.index(id)] != "-"})
    scores = figures(run)
    assert scores["accuracy_judged:gpt"] == (0, None)
    assert scores["accuracy_judged:ada"] == (9, pytest.approx(8 / 9))
    assert scores["agreement_judged:ada:gpt"] == (6, pytest.approx(4 / 6))
    assert scores["kappa_judged:ada:gpt"] == (6, pytest.approx(0.0, abs=1e-6))


def test_labels_of_your_own_count_as_they_say(run: Run):
    task = Judgement(["correct", "partly", "wrong"], ["correct", "partly"])
    words = ["correct", "partly", "wrong", "WRONG", "Partly.", "maybe", "", "", "wrong", "wrong"]
    labels = dict(zip(IDS, words, strict=True))
    make_judge(run, "gpt", {id: text for id, text in labels.items() if text}, task)
    scores = figures(run)
    assert scores["accuracy_judged:gpt"] == (9, pytest.approx(3 / 9))
    partly, wrong = scores["share_judged_partly:gpt"], scores["share_judged_wrong:gpt"]
    assert (partly, wrong) == ((9, pytest.approx(2 / 9)), (9, pytest.approx(4 / 9)))


def test_closed_questions_are_compared_with_the_parser(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale", "pink"])
    closed = [
        record(
            n, word, id=f"glaucoma/talk/{n}", task="glaucoma", task_class="lmod_train.tasks.glaucoma.Glaucoma",
            choices=("GLAUCOMA", "NON-GLAUCOMA"), group=f"g{n}",
        )
        for n, word in enumerate(["GLAUCOMA", "NON-GLAUCOMA"] * 2)
    ]  # fmt: skip
    every = [*records(2), *closed]
    write_run_records(run.records, every, {r.id: f"asked {r.id}" for r in every})
    texts = ["GLAUCOMA", "GLAUCOMA", "A large cup.", "NON-GLAUCOMA"]
    answer(run, {r.id: text for r, text in zip(closed, texts, strict=True)})
    rescore(run.folder)
    make_judge(run, "gpt", {r.id: v for r, v in zip(closed, ["TRUE", "TRUE", "TRUE", "TRUE"], strict=True)})
    rescore(run.folder)
    scores = {(s.task, s.metric): (s.n, s.value) for _, _, s in read_scores(run.scores) if s.subset == "all"}
    assert scores["glaucoma", "accuracy_judged:gpt"] == (4, 1.0)
    assert scores["glaucoma", "agreement_judged:gpt:parser"] == (3, pytest.approx(2 / 3))
    assert ("conversation", "agreement_judged:gpt:parser") not in scores


def test_a_run_without_judgements_has_none_and_a_strange_folder_is_refused(run: Run):
    assert read_judged(run, read_predictions(run.predictions)) == []
    odd = record(1, "x", task_class=CLASS)
    write_run_records(run.judgements / "odd" / "records.parquet", [odd], {odd.id: "hash"})
    with pytest.raises(BadArgument, match="the folder of a judge"):
        read_judged(run, read_predictions(run.predictions))


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "parser", "exact", "containment", "a:b", "x" * 200])
def test_names_that_no_folder_or_metric_can_have_are_refused(run: Run, name: str):
    with pytest.raises(BadArgument, match=r"e\.g\. `--name reader_1`"):
        run.judge(name)


def test_the_judges_own_folder_is_a_run(run: Run):
    judge = make_judge(run, "gpt", verdicts())
    rescore(judge.folder)
    found = {p.record.id: p.answer for p in read_predictions(judge.predictions)}
    assert found[f"judgement/{IDS[8]}"] == Unparsed("failed", "HTTP 500")
    own = {s.metric: s.value for _, _, s in read_scores(judge.scores) if s.subset == "all"}
    assert own["share_answered"] == pytest.approx(6 / 7)
    assert (own["share_unparsed"], own["share_failed"]) == (pytest.approx(1 / 7), pytest.approx(1 / 8))


def test_a_judge_of_its_own_replies_is_a_line_and_a_remark(run: Run, tmp_path: Path):
    at = "http://localhost:8000/v1"
    judge = make_judge(run, "gpt", verdicts())
    for one, weights in ((run, f"{at} org/gpt"), (judge, "https://else.where/v1 org/gpt")):
        one.write_config(one.read_config() | {"provenance": {"weights": {weights: weights}}})
    warning = "gpt judges its own replies; models tend to prefer these"
    assert f"warning: {warning}" in rescore(run.folder)
    assert f"m: {warning}" in remarks({"m": read_outcomes(run.folder)})
    judge.write_config(judge.read_config() | {"provenance": {"weights": {"other": f"{at} org/ada"}}})
    assert not any("its own" in line for line in rescore(run.folder))
    assert not any("its own" in line for line in remarks({"m": read_outcomes(run.folder)}))
