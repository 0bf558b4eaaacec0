from dataclasses import replace

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.tables import Table
from lmod_train.report.contents import Figure, Text
from lmod_train.report.results import read_results
from lmod_train.report.sections.modalities import Modalities
from tests.report.make import run


def test_figures_by_the_number_of_modalities(tmp_path, three):
    results = read_results([run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT", "SLO"))])
    assert [p.name for p in Modalities().parts(results) if isinstance(p, Figure)] == ["radar"]
    assert [p.name for p in Modalities().parts(read_results(three[0])) if isinstance(p, Figure)] == ["modalities"]


def table_of(results):
    parts = list(Modalities().parts(results))
    (found,) = (p for p in parts if isinstance(p, Table))
    heads = [c.head for c in found.columns]
    text = " ".join(p.text for p in parts if isinstance(p, Text))
    return text, {row[1]: dict(zip(heads, row, strict=True)) for row in found.rows}


def test_the_printed_classifier_stands_beside_real_eyes_with_the_metrics_of_both_papers(tmp_path):
    text, rows = table_of(read_results([run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT"))]))
    row = rows["CNN, published (LMOD, Table 4; LMOD+, Table 7)"]
    assert (row["metric"], row["SS"], row["macro"]) == ("F1 (LMOD), accuracy (LMOD+)", "0.9376", "0.9436")
    assert "published CNN" in text


def test_no_printed_number_stands_beside_drawn_eyes(tmp_path):
    made = run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT"))
    file = made / "predictions.parquet"
    write_predictions(file, [replace(p, record=replace(p.record, phantom=True)) for p in read_predictions(file)])
    text, rows = table_of(read_results([made]))
    assert "published" not in text + "".join(rows) and list(rows) == ["base"]
