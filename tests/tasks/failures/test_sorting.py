"""Failures are sorted as the papers' own examples are."""

from lmod_train.core.vocabulary.error_types import ERROR_LABELS, LMOD_MODES, LMOD_PLUS_TYPES, TITLES, type_called
from lmod_train.tasks.failures.rules import RULES, failures_of
from lmod_train.tasks.failures.sorting import modes_of, type_of
from tests.tabled import stored, tabled
from tests.tasks.failures.asked import prediction_of
from tests.tasks.failures.labelled import Labelled

EXAMPLES = [
    ("glaucoma", "GLAUCOMA; Explanation: " + "sign " * 30, "text generation failure"),
    ("glaucoma", "planations: " * 30, "text generation failure"),
    ("glaucoma", "GLAUCOMA; Explanation: a large cup is visible.<end_of_sentence>", "text generation failure"),
    ("glaucoma", "GLAUCOMA: NO; But shows elevated IOP and optic cupping", "inconsistent reasoning"),
    ("glaucoma", "GLAUCOMA: YES; Optic disc appears completely normal", "inconsistent reasoning"),
    ("glaucoma", "Image not clear enough", "absent visual processing"),
    ("glaucoma", "Glaucoma is a group of diseases that can cause vision loss.", "absent visual processing"),
    ("glaucoma", "NON-GLAUCOMA; Explanation: Clear disc boundaries, cup of 0.3", None),
]


@tabled(("ask", "reply", "kind"), EXAMPLES)
def test_examples_of_the_table_of_lmod_plus(ask, reply, kind):
    prediction = prediction_of(Labelled(ask, reply, frozenset(), "develop"))
    assert type_of([f.rule for f in failures_of(prediction)]) == kind


@tabled(
    ("ask", "reply", "mode"),
    stored(__file__, "sorting.examples_of_the_failure_modes_of_lmod"),
)  # fmt: skip
def test_examples_of_the_failure_modes_of_lmod(ask, reply, mode):
    prediction = prediction_of(Labelled(ask, reply, frozenset(), "develop"))
    assert modes_of([f.rule for f in failures_of(prediction)], False, False) == (mode,)


def test_the_first_two_modes_follow_from_the_answer_and_the_image():
    assert modes_of([], True, True) == ("misclassification", "failure to abstain")
    assert modes_of([], False, False) == ()


def test_a_judge_decides_only_where_no_rule_does():
    assert type_of(["loop"], "medical knowledge error") == "text generation failure"
    assert type_of([], "medical knowledge error") == "medical knowledge error"
    assert type_of([], "no error") is None


def test_every_rule_has_a_title_and_belongs_to_a_mode_or_a_type_of_the_papers_but_one():
    assert set(TITLES) == set(RULES)
    sorted_rules = {rule for kind in (*LMOD_MODES, *LMOD_PLUS_TYPES) for rule in kind.rules}
    assert set(RULES) - sorted_rules == {"negation_flip"}, "the papers of these types have no open answers"


def test_there_are_six_modes_and_a_label_for_no_error_beside_five_types():
    assert len(LMOD_MODES) == 6 and len(ERROR_LABELS) == 6


def test_names_rules_and_titles_are_read_as_types():
    assert all(type_called(label) == label for label in ERROR_LABELS)
    assert type_called("Form not filled in") == "absent visual processing"
    assert type_called("special_tokens") == type_called("Text generation failures") == "text generation failure"
    assert type_called("no explanation") is None and type_called("") is None
