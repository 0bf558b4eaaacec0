"""Pairs of runs on planted subsets, against statsmodels."""

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from lmod_train.extensions.ophthalwechat.sections import models
from lmod_train.report.results import read_results
from tests.report.bilingual import planted_run

ONE = {
    ("binary_question", "zh"): [True] * 50 + [False] * 30,
    ("binary_question", "en"): [True] * 40 + [False] * 40,
}
TWO = {
    ("binary_question", "zh"): [True] * 40 + [False] * 10 + [True] * 4 + [False] * 26,
    ("binary_question", "en"): [True] * 20 + [False] * 60,
}
TABLES = {"Binary_CN": [[40, 10], [4, 26]], "Binary_EN": [[20, 20], [0, 40]]}


def test_each_subset_is_tested_on_its_own(tmp_path):
    runs = [planted_run(tmp_path / name, plan, model=name) for name, plan in (("one", ONE), ("two", TWO))]
    parts = list(models(read_results(runs)))
    heads = [column.head for column in parts[1].columns]
    rows = [dict(zip(heads, row, strict=True)) for row in parts[1].rows]
    expected = {name: float(mcnemar(cells, exact=True).pvalue) for name, cells in TABLES.items()}
    assert {row["subset"]: row["p"] for row in rows} == pytest.approx(expected)
    assert [(r["n"], r["first only"], r["second only"]) for r in rows] == [(80, 10, 4), (80, 20, 0)]
    assert [r["difference"] for r in rows] == pytest.approx([6 / 80, 20 / 80])
    for name, method in (("Holm", "holm"), ("BH", "fdr_bh")):
        assert [r[name] for r in rows] == pytest.approx(multipletests(list(expected.values()), method=method)[1])


def test_one_run_has_nothing_to_compare(tmp_path):
    assert list(models(read_results([planted_run(tmp_path / "one", ONE)]))) == []
