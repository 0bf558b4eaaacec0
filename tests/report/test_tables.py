from lmod_train.report.headline import headline_rows
from lmod_train.report.report import report
from lmod_train.report.runs import read_figures
from lmod_train.report.tables import p_value
from tests.report.make import classify


def test_the_account_is_the_one_of_the_predictions(three):
    from lmod_train.artifacts.predictions import read_predictions

    runs, out, _ = three
    predictions = [p for p in read_predictions(runs[0] / "predictions.parquet") if p.record.task == "four_way"]
    status = [p.status for p in predictions]
    right = sum(p.record.answer == f"DISEASE: {p.answer}" for p in predictions)
    counts = [len(status), status.count("answered"), status.count("answered") - right]
    counts += [status.count(s) for s in ("refused", "unparsed", "truncated", "failed")]
    text = (out / "tables.md").read_text()
    part = text[text.index("Outcomes of the replies") : text.index("Pairwise comparisons")]
    (line,) = [row for row in part.splitlines() if row.startswith("| four_way | base (untuned)")]
    assert [int(cell) for cell in line.split("|")[3:-1]] == counts
    assert status.count("refused") + status.count("unparsed") > 0, "the fixture must have something to account for"


def test_the_comparisons_stand_there(three):
    text = (three[1] / "tables.md").read_text()
    assert text.count("| base (untuned) | base (tuned) |") == 3
    assert "Cochran's Q" in text


def test_p_values_are_never_printed_as_zero():
    assert p_value(1e-12) == "< 0.001"


def test_the_measures_of_retfound_stand_beside_ours_and_the_headline_is_ours(tmp_path):
    runs = [classify(tmp_path / "cnn", 1.5, n=40), classify(tmp_path / "some", 0.7, n=40, given=0.7)]
    report(runs, tmp_path / "out")
    (figures, some), text = read_figures(runs), (tmp_path / "out" / "tables.md").read_text()
    assert {r.metric for r in headline_rows([figures])} == {"accuracy_strict"}
    part = text[text.index("Metrics of the RETFound program") :].split("\n## ")[0]
    lines = [[cell.strip() for cell in row.split("|")] for row in part.splitlines() if row.startswith("|")]
    rows = {cells[1]: cells[3:-1] for cells in lines}
    for task in ("glaucoma", "macular_hole_stage"):
        own = [s for s in figures.scores if s.task == task and s.metric.startswith("retfound_")]
        assert rows[task] == ["40", *(f"{s.value:.3f}" for s in own)] and len(own) == 9
        assert some.find(task, "retfound_auroc") is None, "a run that tells likelihoods of some replies has no row"
    assert " ".join(rows["task"]) == "n accuracy sensitivity specificity precision G F1 MCC AUROC AUPRC"
