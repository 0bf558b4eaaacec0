from dataclasses import replace

from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.sections import regimes
from lmod_train.report.contents import Figure
from tests.extensions.xpcr.test_contexts import FIRST_WRONG, rows
from tests.report.chained import chain_run, parts_of, planted, results_of


def test_a_row_per_effect_and_stage_and_a_panel_per_effect():
    results = results_of(
        chain_run("ind", planted(rows({}))),
        chain_run("cas", planted(rows(FIRST_WRONG), regime="cas_all")),
        chain_run("oracle", planted(rows({"AL": 1}), regime="oracle")),
    )
    table, figure = (p for p in parts_of(regimes, results) if isinstance(p, Table | Figure))
    found = {(row[1], row[4]): dict(zip([c.head for c in table.columns], row, strict=True)) for row in table.rows}
    assert len(found) == 24
    row = found["effect of context", "AL"]
    assert (row["first"], row["second"], row["n"], row["first only"], row["second only"]) == (
        "cas_all",
        "independent",
        20,
        0,
        9,
    )
    assert row["Holm"] >= 2 * row["p"] and found["effect of context", "DD"]["p"] > 0.05
    panels = list(dict.fromkeys(row[0] for row in figure.table.rows))
    assert panels == [
        "effect of context: cas_all - independent",
        "error propagation: oracle - cas_all",
        "effect of true answers: oracle - independent",
    ]
    assert [row[2] for row in figure.table.rows[:8]] == ["IQA", "AL", "LC", "DD", "SG", "CD", "mean", "CCR"]
    assert found["effect of context", "CCR"]["difference"] == -0.45
    first = found["effect of context", "IQA"]
    assert (first["n"], first["difference"], first["first only"], first["p"]) == (0, None, None, None)


def test_constrained_chains_are_not_compared_with_free_ones():
    alone, (scores, cascade) = (
        chain_run(name, planted(rows({}), regime=regime)) for name, regime in (("ind", ""), ("cas", "cas_all"))
    )
    assert parts_of(regimes, results_of(alone, (scores, cascade)))
    constrained = replace(cascade, constrained=frozenset({"chain"}))
    assert parts_of(regimes, results_of(alone, (scores, constrained))) == []


def test_nothing_with_one_regime():
    assert parts_of(regimes, results_of(chain_run("one", planted(rows({}))))) == []
