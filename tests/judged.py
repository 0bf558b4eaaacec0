"""A run of open-ended questions with known replies, and judges of it whose verdicts are known, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.run import Run
from lmod_train.core.types import Record, Reply
from lmod_train.extensions.drafting.judgement import AttackedJudgement, Judgement, drawn
from lmod_train.tasks.asked import asked
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.rescore import rescore
from tests.tasks.test_conversation import record

CLASS = f"{Conversation.__module__}.Conversation"


def records(count: int) -> list[Record]:
    """Return records of one question an image, of patients with two images each."""
    return [record(n, f"Pale disc {n}.", task_class=CLASS, group=f"p{n // 2}") for n in range(count)]


def make_run(folder: Path, texts: Sequence[str | None], model: str = "m") -> Run:
    """Write a run with a reply to each record, None for a failed request, and score it."""
    run, every = Run(folder), records(len(texts))
    write_run_records(run.records, every, {r.id: f"asked {r.id}" for r in every})
    answer(run, {r.id: text for r, text in zip(every, texts, strict=True)}, model)
    rescore(folder)
    return run


def answer(run: Run, texts: Mapping[str, str | None], model: str = "m") -> None:
    """Append replies to the records of a run."""
    add(run, [_reply(id, text, f"asked {id}", model) for id, text in texts.items()])


def make_judge(run: Run, name: str, texts: Mapping[str, str | None], task: Judgement | None = None) -> Run:
    """Write the folder that `judge` writes: what it would ask today, and the replies, by id of the judged record."""
    judge, task = run.judge(name), task or Judgement()
    every = task.records(read_predictions(run.predictions))
    hashes = {r.id: asked(r, [name], "", {}) for r in every}
    write_run_records(judge.records, every, hashes)
    arguments = {"labels": list(task.choices), "right": list(task.right), "prompt": task.prompt}
    kind = f"{Judgement.__module__}.Judgement"
    judge.write_config({"data": {"run": str(run.folder), "tasks": [{"class_path": kind, "init_args": arguments}]}})
    add(judge, [_reply(f"judgement/{id}", text, hashes[f"judgement/{id}"], name) for id, text in texts.items()])
    return judge


def make_attacks(run: Run, name: str, verdict: Callable[[Record], str | None], count: int = 0) -> Run:
    """Write the folder that `judge --attacks` writes, with the judge's replies by record; None for no reply yet."""
    at, task = run.judge(name).attacks, AttackedJudgement()
    every = task.records(drawn(read_predictions(run.predictions), count))
    hashes = {r.id: asked(r, [name], "", {}) for r in every}
    write_run_records(at.records, every, hashes)
    kind = f"{AttackedJudgement.__module__}.AttackedJudgement"
    at.write_config({"data": {"run": str(run.folder), "tasks": [{"class_path": kind, "init_args": {}}]}})
    replies = {r.id: verdict(r) for r in every}
    add(at, [_reply(id, text, hashes[id], name) for id, text in replies.items() if text is not None])
    return at


def add(run: Run, replies: Sequence[Reply]) -> None:
    file = ReplyFile(run.replies_of(0))
    file.append(replies)
    file.close()


def _reply(id: str, text: str | None, hash: str, model: str) -> Reply:
    failed = {"finish_reason": "error", "error": "HTTP 500"} if text is None else {}
    return Reply(id, text or "", asked=hash, model=model, **failed)  # type: ignore[arg-type]
