"""The variance between patients with different numbers of items, and the coverage that it gives to shares."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, mean_measure, ratio
from lmod_train.scoring.variance import between_patients, expected_variance, variance_of
from tests.tabled import tabled

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmarks" / "coverage_grid.py"
MEAN = Measure("mean", lambda sums: ratio(sums["right"], sums["items"]), items_in)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("coverage_grid", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def deviations_of(held, right):
    """Pseudovalues of a ratio, linearised."""
    share = right.sum(axis=-1) / held.sum(axis=-1)
    return share, (right - share[..., None] * held) * held.shape[-1] / held.sum(axis=-1, keepdims=True)


def test_patients_with_equal_numbers_of_items_have_the_jackknife_variance():
    rng = np.random.default_rng(0)
    for each in (1, 3, 40):
        held = np.full(30, float(each))
        share, deviations = deviations_of(held, rng.binomial(each, rng.beta(1, 3, 30)).astype(float))
        assert between_patients(share, deviations, held, 1.0) == variance_of(deviations)
        assert expected_variance(share, deviations, held) == pytest.approx(variance_of(deviations))


@tabled("icc", [0.0, 0.2, 0.6])
def test_the_expected_variance_is_that_of_one_correlation_within_patients(icc):
    rng, share = np.random.default_rng(1), 0.3
    held = rng.integers(1, 20, size=40_000)
    skill = (
        rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), held.shape) if icc else np.full(held.shape, 0.3)
    )
    held, right = held.astype(float), rng.binomial(held, skill).astype(float)
    size = np.sum(held**2) / held.sum()
    found = expected_variance(*deviations_of(held, right), held)
    assert found == pytest.approx(share * (1 - share) / held.sum() * (1 + (size - 1) * icc), rel=0.03)


def test_it_is_at_least_the_jackknife_variance_and_nears_it_with_more_patients():
    held = np.array([[40.0, 1, 1, 2, 1, 3, 1, 2]])
    share, deviations = deviations_of(held, np.array([[40.0, 1, 0, 2, 1, 0, 1, 0]]))
    few, many = (between_patients(share, deviations, held, wrong)[0] for wrong in (2.0, 2000.0))
    assert variance_of(deviations)[0] < many < few < expected_variance(share, deviations, held)[0]
    less, fewer = deviations_of(held, np.array([[0.0, 1, 0, 2, 1, 0, 1, 0]])), variance_of(deviations)
    assert between_patients(*less, held, 2.0) >= variance_of(less[1]) and fewer > 0


def test_patients_without_items_contribute_their_own_squares():
    held, deviations = np.array([3.0, 1, 2, 0]), np.array([0.2, -0.3, 0.4, -0.3])
    without = expected_variance(0.4, np.array([0.2, -0.3, 0.4, 0.0]), held)
    assert expected_variance(0.4, deviations, held) - without == pytest.approx(0.3**2 / (4 * 3))
    assert between_patients(0.5, np.zeros(1), np.ones(1), 0.0) == 0


@tabled("cell", [(20, 0, 0.7, 0.1), (25, 5, 0.3, 0.97), (60, 0, 0.1, 0.5), (20, 1, 0.0, 0.9)])
def test_the_intervals_of_many_shares_at_once_are_those_of_compute_scores(script, cell):
    held, right, _ = script.counts(np.random.default_rng(2), script.Cell(*cell), 40)
    ends = np.stack(script.share_intervals(held, right), axis=1)
    groups = [f"{g:03d}" for g in range(cell[0])]
    for own, (h, r) in zip(ends, zip(held, right, strict=True), strict=True):
        (score,) = compute_scores("t", "all", {"items": h, "right": r}, groups, [MEAN])
        assert (score.low, score.high) == pytest.approx(tuple(own), abs=1e-9)


def test_sums_of_a_patient_have_the_difference_of_its_items(script):
    rng = np.random.default_rng(3)
    held, right, _ = (own[0] for own in script.counts(rng, script.Cell(30, 4, 0.3, 0.7), 1))
    sums = script.difference(rng, held, right)
    first, second, groups = [], [], []
    for g, (gain, loss) in enumerate(sums["sides"].astype(int)):
        first += [1] * gain + [0] * (4 - gain)
        second += [0] * gain + [1] * loss + [0] * (4 - gain - loss)
        groups += [f"{g:03d}"] * 4
    (score,) = compute_scores("t", "all", sums, sorted(set(groups)), [script._DIFFERENCE])
    assert paired_difference("t", first, second, groups) == score


@pytest.mark.parametrize(("share", "icc"), [(0.05, 0.7), (0.3, 0.1), (0.8, 0.5)])
def test_the_copula_has_the_asked_correlation(script, share, icc):
    skill = script._skills(np.random.default_rng(4), script.Cell(500, 2, icc, share, "copula"), (400, 500))
    assert skill.mean() == pytest.approx(share, abs=0.005)
    assert skill.var() / (share * (1 - share)) == pytest.approx(icc, abs=0.02)


UNEVEN = [(50, 0, 0.7, 0.2), (100, 0, 0.7, 0.1), (200, 0, 0.3, 0.05), (200, 0, 0.7, 0.95), (500, 0, 0.7, 0.03)]
EVEN = [(20, 1, 0.0, 0.5), (20, 40, 0.7, 0.8), (50, 2, 0.3, 0.9), (50, 40, 0.7, 0.05), (200, 5, 0.1, 0.35)]


@tabled("cell", UNEVEN + EVEN)
def test_the_intervals_of_shares_contain_the_truth_in_93_of_100_data_sets(script, cell):
    (row,) = script.share_row(script.Cell(*cell), 1000)
    assert row.coverage >= binom.ppf(0.001, 1000, 0.93) / 1000
    if cell in EVEN and 0.1 <= cell[3] <= 0.9:
        assert row.coverage <= binom.ppf(0.999, 1000, 0.975) / 1000
    assert 0.8 < row.ratio < 1.4


def test_means_of_classes_images_and_a_difference_have_rows(script):
    rows = {row.measure: row for row in script.mean_rows(script.Cell(30, 3, 0.3, 0.8), 40)}
    assert set(rows) == {"balanced_accuracy", "macro_f1", "f1_lmod_plus", "difference"}
    assert all(row.coverage >= binom.ppf(1e-4, 40, 0.93) / 40 for row in rows.values())


def test_a_table_is_continued(script, tmp_path, monkeypatch, capsys):
    out = tmp_path / "shares.csv"
    argv = ["coverage_grid.py", "--out", str(out), "--rounds", "50", "--items", "1", "--share", "0.5", "--patients"]
    monkeypatch.setattr(sys, "argv", [*argv, "20"])
    script.main()
    before = out.read_text()
    monkeypatch.setattr(sys, "argv", [*argv, "20", "30"])
    script.main()
    assert out.read_text().startswith(before) and len(script.read(out)) == 2
    assert "accuracy: 2 cells" in capsys.readouterr().out


def test_gains_and_losses_show_together_how_items_correlate():
    sides = np.zeros((20, 2))
    sides[:8, 0] = sides[8:16, 1] = 1  # 8 gains and 8 losses, all of different patients, among 200 items
    first, second, groups = [], [], []
    for g, (gain, loss) in enumerate(sides.astype(int)):
        first += [1] * gain + [0] * (10 - gain)
        second += [0] * gain + [1] * loss + [0] * (10 - gain - loss)
        groups += [f"{g:02d}"] * 10
    score = paired_difference("t", first, second, groups)
    independent = 2 * 1.96 * (16 / 200) ** 0.5 / 200**0.5
    assert independent < score.high - score.low < 1.45 * independent


def test_a_perfect_class_beside_thousands_of_wrong_patients_has_an_interval():
    patients = 9000
    asked = np.repeat(np.eye(2), patients // 2, axis=0)
    right = asked * np.stack([np.ones(patients), np.arange(patients) % 2], axis=1)
    measure = mean_measure("mean", lambda s: ratio(s["right"], s["asked"]), lambda c: c["asked"])
    columns = {"asked": asked, "right": right}
    (score,) = compute_scores("t", "all", columns, [f"{g:05d}" for g in range(patients)], [measure])
    assert score.value == 0.75
    assert score.high - score.low == pytest.approx(1.96 * (0.25 / 4500) ** 0.5, rel=0.05)
