from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.account import image_use
from lmod_train.scoring.chain_steps import STEPS
from tests.extensions.xpcr.test_contexts import rows
from tests.extensions.xpcr.test_image_use import BLIND, asked
from tests.report.chained import chain_run, planted, results_of
from tests.report.probing import run_of


def tables(*runs):
    return [part for part in image_use(results_of(*runs), "chain") if isinstance(part, Table)]


def test_a_row_per_regime_and_stage_with_n_before_the_shares():
    made = [asked({}, regime=r) + asked(BLIND, "none", regime=r) for r in ("oracle", "cas_all")]
    (table,) = tables(*(run_of(name, one) for name, one in zip("ab", made, strict=True)))
    assert table.name == "image_use-chain"
    heads = [column.head for column in table.columns]
    found = {(row[1], row[2]): dict(zip(heads, row, strict=True)) for row in table.rows}
    assert list(found) == [(r, s) for r in ("oracle", "cas_all") for s in (*STEPS, "mean", "CCR")]
    assert heads.index("n") < heads.index("with image right")
    row = found["oracle", "AL"]
    assert (row["n"], row["with image right"], row["without image right"], row["difference"]) == (20, 1.0, 0.55, 0.45)
    assert (row["with image only"], row["without image only"], row["same earlier answers"]) == (9, 0, 1.0)
    low, high = row["95 % interval"]
    assert 0 < low < 0.45 < high < 1
    assert row["Holm"] >= 2 * row["p"] and found["oracle", "DD"]["p"] > 0.05
    assert found["oracle", "IQA"]["same earlier answers"] is found["oracle", "CCR"]["same earlier answers"] is None


def test_nothing_without_runs_of_both():
    assert tables(chain_run("one", planted(rows({}), regime="oracle"))) == []
