"""Which runs beside a run it is compared with, and the differences against those of `effects`."""

from dataclasses import replace

import pytest
import yaml

from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.report.chains import chain_runs
from lmod_train.report.contexts import effects
from lmod_train.report.other_regimes import NOT_APPLICABLE, regime_tables
from lmod_train.report.results import read_results
from tests.report.chained import chain_run, planted
from tests.report.test_contexts import FIRST_WRONG, rows


def write_run(path, wrong=None, regime="independent", *, model="base", curated="CURATED", n=12, **data):
    """A run folder of the task chain, in which the cases before a number are wrong at a stage."""
    tagged = "" if regime == "independent" else regime
    made = planted(rows(wrong or {}, n), regime=tagged, model=model)
    made = [replace(p, record=replace(p.record, task_class="lmod_train.tasks.chain.chain.Chain")) for p in made]
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
