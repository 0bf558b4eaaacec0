"""Which tasks ask chains, in which regime, and which runs are of one model."""

from pathlib import Path

import pytest

from lmod_train.core.types import Score
from lmod_train.extensions.xpcr.results import chain_runs, every_chain, of_one_model, regime_of
from lmod_train.extensions.xpcr.scores import is_chain
from lmod_train.scoring.chain_steps import in_order
from lmod_train.tasks.run_scores import RunScores
from tests.report.chained import chain_run, planted, results_of
from tests.report.scored import scored
from tests.tabled import stored

ROWS = [[True] * 6, [True, False, True, True, False, True], [False] * 6]


def run(name, regime="", **options):
    return chain_run(name, planted(ROWS, regime=regime), **options)


def test_a_chain_has_stages_in_their_order_and_another_task_none():
    results = results_of(run("one"))
    ((task, (found,)),) = every_chain(results).items()
    assert task == "chain" and found.stages == ["IQA", "AL", "LC", "DD", "SG", "CD"] and len(found.items) == 18
    assert found.find("swa", "stage=AL").value == pytest.approx(1 / 3) and found.find("swa", "stage=XX") is None
    assert list(every_chain(scored({("stage=1", "recall"): 0.5}))) == []
    assert not is_chain(RunScores(Path("r"), "r", "m", (Score("t", "all", "swa", 1, 0.5),)), "t")
    assert in_order(["later", "CD", "IQA", "CD"]) == ["IQA", "CD", "later"]


@pytest.mark.parametrize(
    ("regime", "data", "expected"),
    stored(__file__, "chains.the_regime_is_that_of_the_records_otherwise_that_of_the_configuration"),
)
def test_the_regime_is_that_of_the_records_otherwise_that_of_the_configuration(regime, data, expected):
    _, outcomes = run("one", regime, config={"data": data})
    assert regime_of(outcomes, "chain") == expected


def test_labels_name_the_regime_only_where_regimes_differ():
    alone = results_of(run("a", model="base"), run("b", model="tuned"))
    assert [r.label for r in chain_runs(alone, "chain")] == ["a", "b"]
    both = results_of(run("a"), run("b", "cas_all"))
    assert [r.label for r in chain_runs(both, "chain")] == ["base, independent", "base, cas_all"]
    twice = results_of(run("a"), run("b"), run("c", "cas_all"))
    assert [r.label for r in chain_runs(twice, "chain")] == ["a, independent", "b, independent", "c, cas_all"]


def test_runs_are_paired_by_model_and_weights():
    known = {"provenance": {"weights": {"model.safetensors": "aa"}}}
    other = {"provenance": {"weights": {"model.safetensors": "bb"}}}
    runs = chain_runs(
        results_of(
            run("a", config=known),
            run("b", "cas_all", config=known),
            run("c", "cas_all", config=other),
            run("d", "cas_all", model="else", config=known),
        ),
        "chain",
    )
    assert [(a.scores.run, b.scores.run) for a, b in of_one_model(runs, "cas_all", "independent")] == [("b", "a")]
    assert list(of_one_model(runs, "oracle", "independent")) == []
