"""Pictures of likelihoods: which there are, and that what is drawn is what was scored."""

import numpy as np
import pytest
from PIL import Image

from lmod_train.report.figures.curves import CHANCE
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.section import shipped_sections
from lmod_train.report.sections.confusions import Confusions
from lmod_train.report.sections.likelihoods import Likelihoods, curve_rows, rankings
from lmod_train.scoring.calibration import reliability
from lmod_train.scoring.probability import curve_classes
from lmod_train.scoring.ranking import precision_recall_points, roc_points
from lmod_train.tasks.run_scores import read_run_scores
from tests.report.make import classify


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A classifier with likelihoods of all, one with those of some, and a run without; and the folder of the report."""
    root = tmp_path_factory.mktemp("sure")
    runs = [classify(root / "cnn", 1.5, seed=1), classify(root / "vit", 0.7, model="vit", seed=2, given=0.7)]
    runs.append(classify(root / "plain", 0.5, model="plain", n=20, given=0))
    drawn = [s for s in shipped_sections() if isinstance(s, Likelihoods | Confusions)]
    assert len(drawn) == 2
    write_report(runs, root / "out", sections=drawn)
    return runs, root / "out"


def test_each_task_with_likelihoods_has_its_pictures(two):
    tasks = ("glaucoma", "macular_hole_stage")
    names = {p.stem for p in two[1].glob("figures/*.png")}
    assert names >= {f"{kind}-{task}" for kind in ("curves", "calibration", "confusion") for task in tasks}
    for picture in two[1].glob("figures/*-glaucoma.png"):
        assert np.all(np.asarray(Image.open(picture))[[0, -1]] == 255), f"{picture.name} is cut off"
    assert "ROC and precision-recall curves of each run for glaucoma" in (two[1] / "index.html").read_text()


@pytest.mark.parametrize("task", ["glaucoma", "macular_hole_stage"])
def test_what_is_drawn_encloses_the_areas_of_the_scores(two, task):
    results = read_results(two[0])
    classes = results.choices[task]
    found = rankings(results, task, classes)
    assert [one.name for one in found] == results.names[:2]
    for one in found:
        rates, true = roc_points(one.truths, one.probabilities, curve_classes(classes))
        assert np.trapezoid(true, rates) == pytest.approx(one.find("auroc_macro").value, abs=1e-6)
        recalls, precision = precision_recall_points(one.truths, one.probabilities, curve_classes(classes))
        area = np.sum(np.diff(recalls, prepend=0) * precision)
        assert area == pytest.approx(one.find("auprc_macro").value, abs=1e-6)
        curve = reliability(one.truths, one.probabilities)
        gaps = curve.items * np.abs(curve.confidence - curve.right)
        assert np.nansum(gaps) / curve.items.sum() == pytest.approx(one.find("ece").value, abs=1e-6)
    assert found[0].find("auroc_macro").n == 60 > found[1].find("auroc_macro").n == len(found[1].truths)


@pytest.mark.parametrize("task", ["glaucoma", "macular_hole_stage"])
def test_a_line_has_its_ends_and_the_area_of_its_points_whatever_corners_are_left_out(two, task):
    results = read_results(two[0])
    classes = results.choices[task]
    found = rankings(results, task, classes)
    lines = {}
    for curve, model, area, x, y in curve_rows(found, classes):
        points = lines.setdefault((curve, model), [])
        assert (area is None) == bool(points), "the area stands once, at the beginning"
        points.append((x, y))
    assert lines["ROC", CHANCE] == [(0, 0), (1, 1)]
    for one in found:
        points = lines["ROC", one.name]
        assert (points[0], points[-1]) == ((0, 0), (1, 1))
        x, y = np.transpose(points)
        assert np.trapezoid(y, x) == pytest.approx(one.find("auroc_macro").value, abs=1e-6)
        points = lines["precision-recall", one.name]
        assert (points[0][0], points[-1][0]) == (0, 1) and points[0][1] == points[1][1], "it begins with a step"
        x, y = np.transpose(points)
        assert np.trapezoid(y, x) == pytest.approx(one.find("auprc_macro").value, abs=1e-6)


def test_the_curves_are_in_the_colours_of_their_runs(two):
    pixels = np.asarray(Image.open(two[1] / "figures" / "curves-glaucoma.png").convert("RGB")).reshape(-1, 3)
    for colour, seen in (((0, 0x72, 0xB2), True), ((0xD5, 0x5E, 0), True), ((0, 0x9E, 0x73), False)):
        assert (np.sum(np.all(pixels == colour, axis=1)) > 100) == seen


def test_the_table_says_what_was_given(two):
    text = (two[1] / "tables.md").read_text()
    rows = [r for r in text[text.index("Discrimination and calibration") :].splitlines() if r.startswith("| glaucoma")]
    given = read_run_scores(two[0])[1].find("glaucoma", "likelihoods_given")
    assert f"{100 * given.value:.1f} %" in rows[1] and 0.5 < given.value < 0.9
    area = read_run_scores(two[0])[0].find("glaucoma", "auroc_macro")
    assert f"{area.value:.3f} ({area.low:.3f}-{area.high:.3f})" in rows[0]


def test_what_is_logged_in_validation_is_what_the_report_prints(two):
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.tasks.glaucoma import Glaucoma

    metrics = Glaucoma().metrics()
    metrics.update(read_predictions(two[0][1] / "predictions.parquet"))
    figures = read_run_scores(two[0])[1]
    for score in metrics.scored()[1]:
        if score.metric in ("auroc_macro", "auprc_macro", "brier", "ece", "likelihoods_given"):
            printed = figures.find("glaucoma", score.metric, score.subset)
            got = (score.n, *(None if v is None else round(v, 6) for v in (score.value, score.low, score.high)))
            assert got == (printed.n, printed.value, printed.low, printed.high)
