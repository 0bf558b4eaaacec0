"""Staging: the words of three papers, scores against scikit-learn, and two scales in one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

from lmod_train import cli
from lmod_train.core.artifacts.records import read_run_records, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Reply, Sample
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.staging import Staging
from tests.contracts import TaskContract, record_from
from tests.tabled import stored

SAMPLE = Sample("oimhs", "1/0", "OCT", Path("a.png"), "p1", "open", labels={"macular_hole_stage": "3"})
FUNDUS = replace(SAMPLE, source="brset", modality="CFP", key="img1")


def graded(scale: str, level: str, key: str = "k") -> Sample:
    return replace(FUNDUS, key=key, group=key, labels={scale: level})


class TestContract(TaskContract):
    task = Staging()
    asked_of = tuple(replace(SAMPLE, labels={"macular_hole_stage": level}) for level in "1234")
    not_asked_of = (replace(SAMPLE, labels={}), graded("icdr", "2"))


class TestContractOfTheSecondVersion(TestContract):
    task = Staging(wording="lmod_naacl")


class TestContractOfItsExample(TestContract):
    task = Staging(wording="lmod_naacl_example")


class TestContractOfRetinopathy(TaskContract):
    task = Staging("icdr", wording="lmod_v1")
    asked_of = tuple(graded("icdr", level) for level in "01234")
    not_asked_of = (SAMPLE, graded("sdrg", "2"))


def test_every_scale_is_a_task_of_its_own_name() -> None:
    assert [Staging(scale.name).name for scale in SCALES] == [scale.name for scale in SCALES]


def test_the_disease_can_be_told_and_sources_chosen() -> None:
    task = Staging("icdr", disease="diabetic retinopathy (ICDR)", sources=["brset"])
    (question,) = task.ask(graded("icdr", "0"))
    text = question.messages[0].parts[1].text
    assert "please tell me the stage of diabetic retinopathy (ICDR) decision. Follow" in text
    assert text.startswith("This is an ophthalmology fundus image. ")
    assert list(task.ask(replace(graded("icdr", "0"), source="idrid"))) == []


def test_what_cannot_be_asked_is_named() -> None:
    with pytest.raises(BadArgument, match="scale='etdrs': expected one of macular_hole_stage"):
        Staging("etdrs")
    with pytest.raises(BadArgument, match="wording='lmod': expected one of lmod_plus, lmod_v1, lmod_naacl"):
        Staging(wording="lmod")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"labels\['icdr'\] of brset/k='5'"):
        list(Staging("icdr").ask(graded("icdr", "5")))


def test_scores_over_replies() -> None:
    task = Staging("icdr")
    said = stored(__file__, "staging.scores_over_replies")
    samples = [graded("icdr", level, f"k{i}") for i, (level, _) in enumerate(said)]
    predictions = TaskContract.predictions_of(task, samples, [reply for _, reply in said])
    scores = {(s.subset, s.metric): (s.value, s.n) for s in task.score(predictions)}
    kappa = cohen_kappa_score(["0", "1", "2", "4"], ["0", "3", "2", "4"], labels=list("01234"), weights="quadratic")
    assert scores["all", "kappa_quadratic"] == (pytest.approx(kappa), 4)
    assert scores["all", "mean_absolute_error"] == (0.5, 4)
    assert scores["all", "accuracy_strict"] == (0.5, 6)
    assert scores["stage=3", "precision"] == (0.0, 1)
    assert scores["stage=3", "recall"] == (0.0, 2)
    assert scores["all", "share_unparsed"][0] == scores["all", "share_refused"][0] == pytest.approx(1 / 6)


@pytest.fixture
def two_scales(tmp_path: Path) -> Path:
    """A run that asked two scales of one eye, 0 to 4 both, and answered one of them right."""
    tasks = [Staging("icdr"), Staging("sdrg", disease="retinopathy")]
    sample = replace(FUNDUS, labels={"icdr": "2", "sdrg": "1"})
    records = [record_from(question, sample, task) for task in tasks for question in task.ask(sample)]
    write_run_records(tmp_path / "records.parquet", records, {record.id: f"asked {record.id}" for record in records})
    file = ReplyFile(tmp_path / "replies" / "rank-0.jsonl")
    file.append([Reply(r.id, "Stage: 2", model="m", asked=f"asked {r.id}") for r in records])
    file.close()
    path = "lmod_train.tasks.staging.Staging"
    named = [{"class_path": path, "init_args": {"scale": "sdrg", "disease": "retinopathy"}}]
    named += [{"class_path": path, "init_args": {"scale": "icdr"}}]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"data": {"tasks": named}}))
    return tmp_path


def test_two_scales_of_one_run_are_scored_apart(two_scales: Path) -> None:
    assert cli.main(["rescore", str(two_scales)]) == 0
    scores = {(s.task, s.metric): s.value for _, _, s in read_scores(two_scales / "scores.csv") if s.subset == "all"}
    assert (scores["icdr", "accuracy_strict"], scores["sdrg", "accuracy_strict"]) == (1.0, 0.0)
    assert scores["sdrg", "mean_absolute_error"] == 1.0


def test_a_scale_that_the_run_does_not_name_is_an_error_that_says_where(two_scales: Path) -> None:
    records = read_run_records(two_scales / "records.parquet")
    config = yaml.safe_load((two_scales / "config.yaml").read_text())
    config["data"]["tasks"].pop()
    with pytest.raises(BadArgument, match=r"task='icdr'.*\n.*data.tasks"):
        tasks_asked(records, task_arguments(config))
