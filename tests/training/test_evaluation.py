"""`evaluate` gives the predictions that `validate` would, stores them as it does, and asks nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from lightning import Callback

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Batch, Prediction, Record, Reply, Score, Unparsed
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.scripted import Scripted
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import scores_of
from lmod_train.tasks.rescore import rescore
from lmod_train.training.evaluation import evaluate
from tests.tiny import record, write_curated

QUIET = {"accelerator": "cpu", "devices": 1, "enable_progress_bar": False}


class Graded(Glaucoma):
    """A task with an argument and no default, which no run folder can build again."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self._weight = weight

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        return [*super().score(predictions), Score(self.name, "all", "weight", len(predictions), self._weight)]


class Counted(Glaucoma):
    """Counts the replies that it reads, those of the reference apart, and how often it scores."""

    read: ClassVar[list[str]] = []
    scored: ClassVar[list[int]] = []

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        if reply.model:  # a reference reply has none
            self.read.append(reply.id)
        return super().parse(reply, record)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        self.scored.append(len(predictions))
        return super().score(predictions)


class Half(Scripted):
    """Answers rightly and counts what it was asked."""

    asked = 0

    def respond(self, batch: Batch) -> list[Reply]:
        self.asked += len(batch)
        return super().respond(batch)


@pytest.fixture
def curated(tmp_path: Path) -> Path:
    answers = ["GLAUCOMA", "NON-GLAUCOMA"] * 3
    records = [record(f"glaucoma/phantom/{i}", answer=a, split="val") for i, a in enumerate(answers)]
    (tmp_path / "curated").mkdir()
    return write_curated(tmp_path / "curated", [*records, record("glaucoma/phantom/9", split="test")])


def test_predictions_and_scores_are_those_in_the_folder_and_known(curated: Path, tmp_path: Path):
    data = RecordsDataModule(curated, [Glaucoma()])
    predictions = evaluate(Scripted(text="GLAUCOMA"), data, tmp_path / "run", **QUIET)
    assert [(p.record.id[-1], p.answer) for p in predictions] == [(str(i), "GLAUCOMA") for i in range(6)]
    scores = scores_of(data.tasks.values(), predictions)
    stored = [s for *_, s in read_scores(tmp_path / "run" / "scores.csv")]
    assert [(s.metric, s.subset, s.n) for s in scores] == [(s.metric, s.subset, s.n) for s in stored]
    assert [s.value for s in scores] == pytest.approx([s.value for s in stored], abs=1e-6)
    (strict,) = [s.value for s in scores if (s.metric, s.subset) == ("accuracy_strict", "all")]
    assert strict == 0.5
    assert predictions == read_predictions(tmp_path / "run" / "predictions.parquet")


def test_what_has_a_reply_is_not_asked_again_by_backend_or_module(curated: Path, tmp_path: Path):
    backend, run = Half(text="{answer}"), tmp_path / "run"
    first = evaluate(backend, RecordsDataModule(curated, [Glaucoma()], limit=4), run, **QUIET)
    assert (len(first), backend.asked) == (4, 4)
    second = evaluate(Frozen(backend), RecordsDataModule(curated, [Glaucoma()]), str(run), **QUIET)
    assert (len(second), backend.asked) == (6, 6)


def test_the_given_tasks_score_and_the_given_callbacks_run(curated: Path, tmp_path: Path):
    class Seen(Callback):
        ended = False

        def on_validation_end(self, trainer, pl_module):
            self.ended = True

    seen, run = Seen(), tmp_path / "run"
    evaluate(Scripted(text="{answer}"), RecordsDataModule(curated, [Graded(0.25)]), run, callbacks=[seen], **QUIET)
    assert seen.ended
    assert [s.value for *_, s in read_scores(run / "scores.csv") if s.metric == "weight"] == [0.25]


def test_nothing_to_ask_is_an_error_that_names_the_splits(curated: Path, tmp_path: Path):
    data = RecordsDataModule(curated, [Glaucoma()], split="train")
    with pytest.raises(BadArgument, match=r"data\.split='train'.*'val': 6"):
        evaluate(Scripted(text="GLAUCOMA"), data, tmp_path / "run", **QUIET)


def test_a_reply_is_read_once_and_a_task_scored_once(curated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Counted, "read", [])
    monkeypatch.setattr(Counted, "scored", [])
    evaluate(Scripted(text="GLAUCOMA"), RecordsDataModule(curated, [Counted()]), tmp_path / "run", **QUIET)
    assert len(Counted.read) == len(set(Counted.read)) == 6 and Counted.scored == [6]
    before = {name: (tmp_path / "run" / name).read_bytes() for name in ("scores.csv", "predictions.parquet")}
    rescore(tmp_path / "run", tasks=[Counted()])  # reads and scores again, to the same files
    assert len(Counted.read) == 12 and Counted.scored == [6, 6]
    assert before == {name: (tmp_path / "run" / name).read_bytes() for name in before}
