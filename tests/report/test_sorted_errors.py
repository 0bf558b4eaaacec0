"""The sample of replies, and verdicts of judges beside rules."""

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary.error_types import ERROR_LABELS
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.drafting.judges import Judged
from lmod_train.report.sorted_errors import compared, sampled, sort_errors
from tests.report.sections.test_error_types import outcomes


def judged(verdicts, people=False, labels=ERROR_LABELS):
    task = Judgement(labels=labels)
    return Judged("j", task, "m", ("glaucoma",), {f"glaucoma/s/{k}": v for k, v in verdicts.items()}, 0, people)


def test_the_sample_does_not_depend_on_the_order():
    predictions = list(outcomes().predictions)
    assert sampled(predictions, 3) == sampled(predictions[::-1], 3)
    assert len(sampled(predictions, 3)) == 3 and len(sampled(predictions, 99)) == len(predictions)


def test_a_verdict_sorts_what_no_rule_sorts_and_people_go_before_models():
    visual, medical = "misinterpreted visual features", "medical knowledge error"
    judges = (judged({"g": medical, "c": medical, "b": Unparsed("ambiguous")}), judged({"g": visual}, people=True))
    rows = {row.item.id[-1]: row for row in sort_errors(outcomes(judged=judges), 99)["glaucoma"]}
    assert (rows["g"].kind, rows["g"].by_judge) == (visual, True)
    assert (rows["c"].kind, rows["c"].by_judge) == ("text generation failure", False)
    assert rows["b"].kind is None and rows["a"].kind is None and not rows["a"].wrong
    assert [pair[1:] for pair in compared(list(rows.values()))] == [("text generation failure", medical)]


def test_a_judge_with_other_labels_sorts_nothing():
    rows = sort_errors(outcomes(judged=(judged({"g": "TRUE"}, labels=("TRUE", "FALSE")),)), 99)["glaucoma"]
    assert not any(row.verdict for row in rows)
