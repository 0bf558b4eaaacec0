import shutil

from lmod_train.core.tables import Table
from lmod_train.report.contents import Figure
from lmod_train.report.figures.dots import draw_dots
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.results import read_results
from lmod_train.report.sections.likelihoods import Likelihoods
from tests.report.make import classify


def test_a_run_with_likelihoods_has_its_row_and_figures_and_one_without_has_none(tmp_path, three):
    results = read_results([classify(tmp_path / "cnn", 1.5)])
    parts = list(Likelihoods().parts(results))
    (rows,) = [p for p in parts if isinstance(p, Table)]
    assert [(row[0], row[2], row[3]) for row in rows.rows] == [("glaucoma", 60, 1.0), ("macular_hole_stage", 60, 1.0)]
    assert rows.rows[0][5].value == results.runs[0].find("glaucoma", "auroc_macro").value
    names = [p.name for p in parts if isinstance(p, Figure)]
    assert names == [f"{kind}-{t}" for t in ("glaucoma", "macular_hole_stage") for kind in ("curves", "calibration")]
    assert list(Likelihoods().parts(read_results(three[0]))) == []


def test_more_than_six_models_have_areas_and_a_heat_map(tmp_path):
    own = classify(tmp_path / "r0", 1.0, model="m0")
    runs = [own, *(shutil.copytree(own, tmp_path / f"r{i}") for i in range(1, 7))]
    figures = {p.name: p for p in Likelihoods().parts(read_results(runs)) if isinstance(p, Figure)}
    assert figures["curves-glaucoma"].draw is draw_dots and figures["calibration-glaucoma"].draw is draw_heat
    assert len(figures["curves-glaucoma"].table.rows) == 2 * 7
