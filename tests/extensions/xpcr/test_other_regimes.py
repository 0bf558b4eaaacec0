"""Which runs beside a run it is compared with, and the differences against those of `effects`."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lmod_train.cli.short_names import by_name, by_short_name
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.extensions.xpcr.results import NOT_APPLICABLE, chain_runs, effects, in_another_regime, regime_tables
from lmod_train.report.results import read_results
from tests.extensions.xpcr.test_contexts import FIRST_WRONG, rows
from tests.report.chained import chain_run, planted


def write_run(path, wrong=None, regime="independent", *, model="base", curated="CURATED", n=12, **data):
    """A run folder of the task chain, in which the cases before a number are wrong at a stage."""
    tagged = "" if regime == "independent" else regime
    made = planted(rows(wrong or {}, n), regime=tagged, model=model)
    made = [replace(p, record=replace(p.record, task_class="lmod_train.extensions.xpcr.tasks.Chain")) for p in made]
    path.mkdir(parents=True)
    scores, _ = chain_run(path.name, made)
    write_predictions(path / "predictions.parquet", made)
    write_scores(path / "scores.csv", path.name, model, scores.scores)
    config = {"data": {"curated": str(path.parent.parent / curated), "regime": regime, **data}}
    (path / "config.yaml").write_text(yaml.safe_dump(config))
    return path


def shown(run, *named):
    """Other run and what is compared -> stage -> difference."""
    (found,) = regime_tables(run, named)
    heads = [c.head for c in found.columns]
    cells = [dict(zip(heads, row, strict=True)) for row in found.rows]
    names = dict.fromkeys((c["with run"], c["compared"]) for c in cells)
    return {key: {c["stage"]: c["difference"] for c in cells if (c["with run"], c["compared"]) == key} for key in names}


@pytest.fixture
def cascade(tmp_path):
    write_run(tmp_path / "runs" / "alone")
    write_run(tmp_path / "runs" / "oracle", {"AL": 1}, "oracle")
    return write_run(tmp_path / "runs" / "own", FIRST_WRONG, "cas_all")


def test_runs_beside_it_are_compared_stage_by_stage_and_over_whole_chains(cascade):
    found = shown(cascade)
    assert list(found) == [("alone", "cas_all - independent"), ("oracle", "oracle - cas_all")]
    context = found["alone", "cas_all - independent"]
    assert context["IQA"] == NOT_APPLICABLE and context["AL"] == pytest.approx(-9 / 12)
    assert list(context) == ["IQA", "AL", "LC", "DD", "SG", "CD", "mean", "CCR"]
    flow = found["oracle", "oracle - cas_all"]
    assert flow["AL"] == pytest.approx(8 / 12) and flow["CCR"] == pytest.approx(8 / 12)


def test_numbers_are_those_of_the_report(cascade):
    (table,) = regime_tables(cascade)
    runs = chain_runs(read_results([cascade, cascade.parent / "alone"]), "chain")
    (effect,) = effects(runs)
    mine = [row for row in table.rows if row[1] == "alone"]
    stages = [(s.score.n, s.score.low, s.adjusted) for s in effect.stages]
    assert [(row[3], row[5][0], row[6]) for row in mine] == [*stages, *((s.n, s.low, None) for s in effect.whole)]


def test_runs_of_other_records_another_model_or_the_same_regime_are_not_compared(tmp_path):
    own = write_run(tmp_path / "runs" / "own", {}, "cas_all")
    write_run(tmp_path / "runs" / "again", {}, "cas_all")
    write_run(tmp_path / "runs" / "other", model="another")
    write_run(tmp_path / "runs" / "elsewhere", curated="OTHER")
    write_run(tmp_path / "runs" / "few_shot", asking={"shots": 2})
    damaged = write_run(tmp_path / "runs" / "damaged")
    (damaged / "predictions.parquet").write_bytes(b"no table")
    (tmp_path / "runs" / "unscored").mkdir()
    assert shown(own) == {}


def test_a_named_run_need_not_lie_beside_it(tmp_path):
    own = write_run(tmp_path / "runs" / "own", {}, "cas_all")
    named = write_run(tmp_path / "there" / "alone", curated="moved")
    assert list(shown(own, named)) == [("alone", "cas_all - independent")]


def test_a_run_without_chains_has_no_table(tmp_path, monkeypatch):
    own = write_run(tmp_path / "runs" / "own", {}, "cas_all")
    text = (own / "scores.csv").read_text()
    (own / "scores.csv").write_text("\n".join(line for line in text.split("\n") if ",swa," not in line))
    assert list(regime_tables(own)) == []


START = ["python", "-m", "lmod_train", "validate"]


def typed(run: Path, *options: str) -> list[str]:
    """Options of the printed command for a run that was made with the given ones."""
    words = shlex.split(in_another_regime(run, ["validate", *by_short_name("validate", by_name("validate", options))]))
    assert words[:4] == START
    return words[4:]


def test_the_regime_and_the_folder_change_and_all_else_stays(tmp_path: Path):
    run, beside = tmp_path / "cas_all", str(tmp_path / "independent")
    kept = ["--config", "xpcr", "--model=small_base", "--data.tasks", "chain", "--data.limit", "9"]
    found = typed(run, *kept, "--data.regime", "cas_all", "--run", str(run), "--data.shard=1/2", "--against", "x")
    assert found == [*kept, "--data.regime", "independent", "--run", beside]


def test_paths_of_the_user_stay_as_typed(tmp_path: Path):
    kept = ["--config", "my own/xpcr.yaml", "--data.curated", str(tmp_path), "--model", "configs/model/scripted.yaml"]
    assert typed(tmp_path / "x", *kept, "--data.regime=oracle")[:6] == kept


@pytest.mark.parametrize(("name", "proposed"), [("cas_all_7b", "independent_7b"), ("validate", "validate_independent")])
def test_the_folder_is_new(name: str, proposed: str, tmp_path: Path):
    assert typed(tmp_path / name, "--data.regime", "cas_all")[-1] == str(tmp_path / proposed)
    (tmp_path / proposed).mkdir()
    assert typed(tmp_path / name, "--data.regime", "cas_all")[-1] == str(tmp_path / f"{proposed}_2")


def test_a_run_without_earlier_answers_is_not_asked_for_another(tmp_path: Path):
    assert in_another_regime(tmp_path / "one", ["validate", "--config", "xpcr"]) == ""
    (tmp_path / "config.yaml").write_text("data: {regime: cas_last}")
    assert in_another_regime(tmp_path, ["validate", "--config", "xpcr"]).endswith(f"{tmp_path.name}_independent")
