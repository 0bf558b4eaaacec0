from lmod_train.report.sections.conditions import ConditionScores
from tests.report.scored import scored


def test_a_row_per_model_and_condition_and_no_figure_without():
    scores = {("condition=drusen", "accuracy_strict"): 0.7, ("condition=scar", "accuracy_strict"): None}
    (figure,) = ConditionScores().parts(scored(scores, ("a", "b")))
    assert figure.name == "conditions-t"
    assert [row[1:5] for row in figure.table.rows] == [
        (model, *cells) for model in "ab" for cells in (("drusen", 30, 0.7), ("scar", 30, None))
    ]
    assert list(ConditionScores().parts(scored({}))) == []
