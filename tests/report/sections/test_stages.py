from lmod_train.report.sections.stages import StageScores
from tests.report.scored import scored


def test_a_panel_for_each_of_precision_recall_and_f1_and_no_figure_without_stages():
    scores = {(f"stage={k}", m): k / 10 for m in ("precision", "recall", "f1") for k in (1, 2)}
    (figure,) = StageScores().parts(scored(scores))
    cells = [(row[0], row[2], row[4]) for row in figure.table.rows]
    names = ("precision", "recall", "F1")
    assert cells == [(f"t: {name} by stage", str(k), k / 10) for name in names for k in (1, 2)]
    assert list(StageScores().parts(scored({}))) == []
