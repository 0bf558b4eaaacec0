"""A judge behind an endpoint that fails in every known way: the account equals the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.replies import has_failed, read_replies
from lmod_train.core.artifacts.scores import read_scores
from tests.judged import make_run
from tests.models.backends.endpoint.server import STATUS, Plan, serving

COUNT = 60
LABELS = ["TRUE", "FALSE"]
FATES = dict.fromkeys(STATUS, 1.0) | {"right": 8.0, "wrong": 4.0}
PACE = {"timeout": "2.5", "longest_wait": "0.2", "attempts": "2"}
OPTIONS = ["--model.backend.model", "org/judge-7b", "--trainer.accelerator", "cpu", "--trainer.logger", "false"]
OPTIONS += ["--trainer.enable_progress_bar", "false"]
OPTIONS += [word for key, value in PACE.items() for word in (f"--model.backend.pace.{key}", value)]


def test_the_account_of_a_failing_judge_is_exact_and_nothing_is_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = make_run(Path("run"), [f"pale #{n}" for n in range(COUNT)])
    plan = Plan(answers=[LABELS[n % 3 == 0] for n in range(COUNT)], choices=LABELS, fates=FATES, fault=0.2, seed=3)
    fates = [plan.fate(n) for n in range(COUNT)]
    with serving(plan) as server:
        for _ in range(8):
            address = ["--model", "openai", "--model.backend.base_url", server.url]
            assert cli.main(["judge", "run", *address, *OPTIONS]) == INCOMPLETE, "some are always refused"
            replies = read_replies(run.judge("judge-7b").replies).values()
            if sum(map(has_failed, replies)) == fates.count("rejected"):
                break
        sent = server.stats()["sent"]
    judged = [p for p in read_predictions(run.judge("judge-7b").predictions) if p.status == "answered"]
    right = sum((fate == "right") == (n % 3 != 0) for n, fate in enumerate(fates) if fate in ("right", "wrong"))
    verdicts = fates.count("right") + fates.count("wrong")
    assert len(judged) == verdicts == plan.truth()["answered"]
    scores = {s.metric: s.value for _, _, s in read_scores(run.scores) if s.subset == "all"}
    assert scores["accuracy_judged:judge-7b"] is None, "some judgements are to come"
    lost = fates.count("rejected")
    assert scores["share_pending:judge-7b"] == pytest.approx(lost / COUNT, abs=1e-6)
    assert scores["accuracy_judged_answered:judge-7b"] == pytest.approx(right / verdicts, abs=1e-6)
    assert scores["share_unjudged:judge-7b"] == pytest.approx(1 - (verdicts + lost) / COUNT, abs=1e-6)
    assert {count for n, count in sent.items() if n >= 0} == {1}, "no verdict was paid for twice"


def test_a_killed_judge_would_lose_at_most_what_may_be_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = make_run(Path("run"), [f"pale #{n}" for n in range(COUNT)])
    file = (run.judge("judge-7b").replies / "rank-0.jsonl").resolve()
    with serving(Plan(answers=["TRUE"] * COUNT, choices=LABELS, written=str(file))) as server:
        address = ["--model", "openai", "--model.backend.base_url", server.url]
        assert cli.main(["judge", "run", *address, *OPTIONS, "--model.backend.pace.concurrency", "2"]) == 0
        stats = server.stats()
    assert len(read_replies(file.parent)) == COUNT and stats["unwritten"] in (1, 2)
