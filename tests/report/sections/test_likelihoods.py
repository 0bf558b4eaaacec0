from lmod_train.report.contents import Figure, Table
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
