"""Rescoring: the files a run would write come from saved replies alone, the newest of each record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.core.types import Reply, Score, Unparsed
from tests.core.test_lock import end, hold
from tests.tasks.test_reading import Shout, record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Four records, three with replies: of two steps, one of them failed and later answered."""
    folder = tmp_path / "tuned"
    module = Shout.__module__
    records = [
        record(i, answer, task_class=f"{module}.Shout") for i, answer in zip("abcd", ["YES", "NO"] * 2, strict=False)
    ]
    write_run_records(folder / "records.parquet", records, {r.id: f"asked {r.id}" for r in records})
    for rank, replies in enumerate(
        [
            [Reply("a", "no", step=0, model="m"), Reply("b", "no", step=100, model="m")],
            [Reply("a", "yes", step=100, model="m"), Reply("c", "", error="timeout", step=100, model="m")],
        ]
    ):
        file = ReplyFile(folder / "replies" / f"rank-{rank}.jsonl")
        file.append(replace(reply, asked=f"asked {reply.id}") for reply in replies)
        file.close()
    return folder


def rescore(run: Path) -> int:
    return cli.main(["rescore", str(run), "--trust", Shout.__module__])


def scores(run: Path) -> list[tuple[str, str, str, int, float | None]]:
    return [(name, model, s.metric, s.n, s.value) for name, model, s in read_scores(run / "scores.csv")]


def test_predictions_and_scores_are_those_of_the_newest_replies(run: Path, capsys: pytest.CaptureFixture[str]):
    assert rescore(run) == 0
    predictions = read_predictions(run / "predictions.parquet")
    assert {p.record.id: p.answer for p in predictions} == {"a": "YES", "b": "NO", "c": Unparsed("failed", "timeout")}
    assert scores(run) == [
        ("tuned", "m", "accuracy", 2, 1.0),
        ("tuned", "m", "share_failed", 3, pytest.approx(1 / 3, abs=1e-6)),
        ("tuned", "m", "share_not_asked", 4, 0.25),
    ]
    assert f"{run}: 2 of 4 records have a reply, 1 failed, 1 not asked" in capsys.readouterr().out


def test_rescoring_again_changes_nothing_and_names_the_folder_and_the_model_that_replied(run: Path):
    write_scores(run / "scores.csv", "my run", "my model", [Score("shout", "all", "x", 1, 0.0)])
    assert rescore(run) == 0
    once = [(run / name).read_bytes() for name in ("scores.csv", "predictions.parquet")]
    assert [row[:3] for row in scores(run)] == [
        ("tuned", "m", metric) for metric in ("accuracy", "share_failed", "share_not_asked")
    ]
    assert rescore(run) == 0
    assert [(run / name).read_bytes() for name in ("scores.csv", "predictions.parquet")] == once


def test_several_steps_and_another_task_version_are_said(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    ReplyFile(run / "replies" / "rank-2.jsonl").append([Reply("d", "no", step=0, asked="asked d")])
    monkeypatch.setattr(Shout, "version", 2)
    assert rescore(run) == 0
    said = capsys.readouterr().out
    assert "from several checkpoint steps: 0, 100" in said
    assert "shout: asked with version 1, parsed and scored with 2" in said


def test_arguments_of_the_tasks_come_from_the_run_config(run: Path, capsys: pytest.CaptureFixture[str]):
    (run / "config.yaml").write_text(
        f"data:\n  tasks:\n  - class_path: {Shout.__module__}.Shout\n    init_args: {{language: 7, wrong: 1}}\n"
    )
    with pytest.raises(TypeError, match="wrong"):
        rescore(run)


@pytest.mark.parametrize(
    ("remove", "named"),
    [("replies", "replies: no saved replies"), ("records.parquet", "records.parquet: no record file")],
)
def test_what_is_missing_is_named(run: Path, remove: str, named: str, capsys: pytest.CaptureFixture[str]):
    (run / remove).rename(run / "elsewhere")
    assert rescore(run) == 2
    error = capsys.readouterr().err
    assert named in error and "\nNext: " in error
    assert not (run / "scores.csv").exists()


def test_a_run_that_another_process_writes_is_not_touched(run: Path, capsys: pytest.CaptureFixture[str]):
    other = hold(run)
    assert rescore(run) == 2
    error = capsys.readouterr().err
    assert f"process {other.pid} on" in error and "\nNext: wait" in error
    assert not (run / "scores.csv").exists()
    end(other)


def test_replies_to_none_of_the_records_write_no_scores(run: Path, capsys: pytest.CaptureFixture[str]):
    for file in (run / "replies").iterdir():
        file.unlink()
    assert rescore(run) == 2
    assert "no reply to any of the 4 records" in capsys.readouterr().err
    assert not (run / "scores.csv").exists()


@pytest.mark.parametrize(
    ("folder", "label"),
    [
        ("a/tuned", "tuned"),
        ("runs/quickstart/validate", "quickstart/validate"),
        ("runs/a/runs/b", "b"),
        ("runs", "runs"),
    ],
)
def test_a_run_is_called_by_its_place_below_runs(run: Path, folder: str, label: str):
    moved = run.parent / "elsewhere" / folder
    moved.parent.mkdir(parents=True)
    run.rename(moved)
    assert rescore(moved) == 0
    assert {row[0] for row in scores(moved)} == {label}


def test_a_series_is_scored_run_by_run_and_a_run_as_one(tmp_path, monkeypatch):
    from lmod_train.cli.report import rescore as command

    again: list[Path] = []
    monkeypatch.setattr("lmod_train.tasks.rescore.rescore", lambda run, trust: again.append(run) or [])
    for name in ("seed_0", "seed_1"):
        (tmp_path / name / "replies").mkdir(parents=True)
    command(tmp_path)
    assert sorted(again) == [tmp_path / "seed_0", tmp_path / "seed_1"]
    again.clear()
    (tmp_path / "config.yaml").write_text("{}")
    command(tmp_path)
    assert again == [tmp_path]
