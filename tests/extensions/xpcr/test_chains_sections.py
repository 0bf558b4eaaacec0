from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.sections import Chains
from lmod_train.report.contents import Figure
from tests.extensions.xpcr.test_confidences import drawn
from tests.extensions.xpcr.test_image_use import BLIND, asked
from tests.report.chained import chain_run, planted, results_of
from tests.report.probing import run_of
from tests.report.scored import scored


def test_every_part_once_with_names_of_its_own():
    runs = [chain_run(name, planted(drawn(8), regime=regime)) for name, regime in (("a", ""), ("b", "cas_all"))]
    parts = list(Chains().parts(results_of(*runs)))
    tables = [p.name for p in parts if isinstance(p, Table)]
    figures = [p.name for p in parts if isinstance(p, Figure)]
    assert len(set(tables)) == len(tables) and len(set(figures)) == len(figures) == 7
    kinds = ("chain_scores", "first_errors", "confidence", "confidence_both", "regimes", "chain_account")
    assert {f"{kind}-chain" for kind in kinds} < {*tables} and "xpcr_table_2" in tables


def test_nothing_without_chains():
    assert list(Chains().parts(scored({("stage=1", "recall"): 0.5}))) == []


def test_the_use_of_the_image_is_among_the_parts():
    run = run_of("run", asked({}) + asked(BLIND, "none"))
    assert "image_use-chain" in {p.name for p in Chains().parts(results_of(run)) if isinstance(p, Table)}
