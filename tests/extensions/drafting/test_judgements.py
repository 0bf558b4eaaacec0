"""The records of judgements as a datamodule gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.model_runs import JudgementData
from lmod_train.tasks.conversation import Conversation
from tests.judged import make_run, records


def test_it_asks_for_every_reply_that_can_be_judged(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale", "", None, "pink"])
    data = JudgementData(run.folder, [Judgement()])
    data.setup("validate")
    ids = [r.id for r in records(4)]
    assert [r.id for r in data.asked("validate")] == [f"judgement/{ids[0]}", f"judgement/{ids[3]}"]
    few = JudgementData(run.folder, [Judgement()], limit=1)
    few.setup("validate")
    assert len(few.asked("validate")) == 1


def test_another_task_and_unknown_names_are_refused(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale"])
    with pytest.raises(BadArgument, match=r"drafting\.judgement\.Judgement"):
        JudgementData(run.folder, [Conversation()]).setup("validate")
    with pytest.raises(BadArgument, match="tasks of the run: conversation"):
        JudgementData(run.folder, [Judgement()], of=["sex"]).setup("validate")


def test_a_sample_is_asked_for_alone(tmp_path: Path):
    run = make_run(tmp_path / "run", ["pale"] * 9)
    data = JudgementData(run.folder, [Judgement()], sample=4)
    data.setup("validate")
    ids = [r.id for r in data.asked("validate")]
    assert len(ids) == 4 and ids == sorted(ids)
