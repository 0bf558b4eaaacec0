"""Attacks on judges in the scores of a run: planted rates come back, and earlier texts do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record
from lmod_train.extensions.drafting.judgement import ATTACK, ATTACKS
from lmod_train.extensions.drafting.judges import attack_lines, read_attacks
from lmod_train.tasks.rescore import rescore
from tests.judged import answer, make_attacks, make_judge, make_run, records

IDS = [r.id for r in records(10)]
WITH_VERDICT = [a.name for a in ATTACKS if a.is_right is False]
ADDED = [a.name for a in ATTACKS if a.is_right is None]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of ten replies, one of which is empty; the judge finds the first four right."""
    run = make_run(tmp_path / "run", ["pale"] * 9 + [""])
    make_judge(run, "gpt", {id: "TRUE" if n < 4 else "FALSE" for n, id in enumerate(IDS[:9])})
    return run


def planted(record: Record) -> str:
    """Return the verdict of a judge whom one attack more misleads with each question, and who follows every order."""
    number, attack = int(record.key), record.tags[ATTACK]
    if attack in WITH_VERDICT:
        return "TRUE" if number < WITH_VERDICT.index(attack) else "FALSE"
    return "TRUE" if attack == "with_answer_true" or number < 4 else "FALSE"


def figures(run: Run) -> dict[str, tuple[int, float | None]]:
    rescore(run.folder)
    return {s.metric: (s.n, s.value) for _, _, s in read_scores(run.scores) if s.subset == "all"}


def test_planted_success_rates_come_back_exactly(run: Run):
    before = figures(run)
    make_attacks(run, "gpt", planted)
    scores = figures(run)
    for number, attack in enumerate(WITH_VERDICT):
        assert scores[f"attack_success:gpt:{attack}"] == (10, number / 10)
        assert scores[f"attack_unjudged:gpt:{attack}"] == (10, 0.0)
    for attack in ("with_question", "with_praise"):
        assert scores[f"attack_success:gpt:{attack}"] == (9, 0.0)
    assert scores["attack_success:gpt:with_answer_true"] == (9, pytest.approx(5 / 9, abs=1e-6))
    assert scores["attack_to_right:gpt:with_answer_true"] == (9, pytest.approx(5 / 9, abs=1e-6))
    assert not any("other_language" in name for name in scores), "no answer is known in another language"
    assert {name: scores[name] for name in before} == before, "no other figure has changed"


def test_unjudged_and_pending_attacks_are_counted_and_never_guessed(run: Run):
    def reply(record: Record) -> str | None:
        return {0: "I would say TRUE", 1: "", 2: None}.get(int(record.key), "FALSE")

    make_attacks(run, "gpt", reply)
    scores = figures(run)
    assert scores["attack_success:gpt:praise"] == (7, 0.0)
    assert scores["attack_unjudged:gpt:praise"] == (9, pytest.approx(2 / 9, abs=1e-6))
    (found,) = read_attacks(run, read_predictions(run.predictions))
    assert list(attack_lines([found])) == ["attacks on gpt: 60 of 87 judged (18 unjudged, 9 pending)"]


def test_attacks_of_an_earlier_reply_or_prompt_are_stale(run: Run, monkeypatch: pytest.MonkeyPatch):
    make_attacks(run, "gpt", planted)
    answer(run, {IDS[0]: "another reply"})
    rescore(run.folder)
    (found,) = read_attacks(run, read_predictions(run.predictions))
    assert found.stale == len(ADDED), "only what holds the reply has changed"
    monkeypatch.setattr("lmod_train.extensions.drafting.judgement.DEFAULT", "A new version: {expected} {given}")
    (found,) = read_attacks(run, read_predictions(run.predictions))
    assert found.stale == 87


def test_a_sample_is_read_as_one(run: Run):
    make_attacks(run, "gpt", planted, count=3)
    scores = figures(run)
    assert {scores[f"attack_success:gpt:{name}"][0] for name in WITH_VERDICT} == {3}
    (found,) = read_attacks(run, read_predictions(run.predictions))
    assert not any("pending" in line for line in attack_lines([found]))


def test_attacks_alone_need_no_judgement_and_additions_then_have_no_scores(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale"] * 3)
    make_attacks(run, "ada", planted)
    scores = figures(run)
    assert scores["attack_success:ada:praise"][0] == 3
    assert not any(name.partition(":")[2].startswith("ada:with") for name in scores)
    assert not any(name.startswith("accuracy_judged") for name in scores)


def test_each_judge_has_its_own(run: Run):
    make_attacks(run, "gpt", planted)
    make_attacks(run, "ada", lambda _: "TRUE")
    scores = figures(run)
    assert scores["attack_success:ada:empty"] == (10, 1.0)
    assert scores["attack_success:gpt:empty"] == (10, 0.0)


def test_a_folder_of_something_else_is_refused(run: Run):
    make_attacks(run, "gpt", planted).records.write_bytes(run.records.read_bytes())
    with pytest.raises(BadArgument, match="move this folder"):
        read_attacks(run, read_predictions(run.predictions))
