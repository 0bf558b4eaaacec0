from lmod_train.report.report import report
from lmod_train.report.sections.retfound import RetFound
from lmod_train.tasks.headline import headline_rows
from lmod_train.tasks.run_scores import read_run_scores
from tests.report.make import classify


def test_the_measures_of_retfound_stand_beside_ours_and_the_headline_is_ours(tmp_path):
    runs = [classify(tmp_path / "cnn", 1.5, n=40), classify(tmp_path / "some", 0.7, n=40, given=0.7)]
    report(runs, tmp_path / "out", sections=[RetFound()])
    (figures, some), text = read_run_scores(runs), (tmp_path / "out" / "tables.md").read_text()
    assert {r.metric for r in headline_rows([figures])} == {"accuracy_strict"}
    part = text[text.index("Metrics of the RETFound program") :].split("\n## ")[0]
    lines = [[cell.strip() for cell in row.split("|")] for row in part.splitlines() if row.startswith("|")]
    rows = {cells[1]: cells[3:-1] for cells in lines}
    for task in ("glaucoma", "macular_hole_stage"):
        own = [s for s in figures.scores if s.task == task and s.metric.startswith("retfound_")]
        assert rows[task] == ["40", *(f"{s.value:.3f}" for s in own)] and len(own) == 9
        assert some.find(task, "retfound_auroc") is None, "a run that tells likelihoods of some replies has no row"
    assert " ".join(rows["task"]) == "n accuracy sensitivity specificity precision G F1 MCC AUROC AUPRC"
