from dataclasses import replace

import pytest

from lmod_train.core.types import Patient, Score
from lmod_train.extensions.packs.withheld import LEAST, published
from tests.scoring.make import record

WORDS = ("GLAUCOMA", "NORMAL")


CLOSED = [
    record(str(i), WORDS[i % 2], task="glaucoma", modality="CFP", patient=Patient(sex=("male", "female")[i % 2]))
    for i in range(60)
]


def score(subset, n, metric="accuracy_strict", value=0.5, task="glaucoma"):
    return Score(task, subset, metric, n, value)


def test_all_values_of_a_key_go_with_the_small_one():
    own = [score("all", 30), score("sex=male", LEAST - 1), score("sex=female", 21), score("modality=CFP", LEAST)]
    assert [s.subset for s in published(own, CLOSED)] == ["all", "modality=CFP"]


def test_a_subset_of_one_class_goes_with_its_key():
    own = [score("all", 99, "majority", 1.0), score("source=a", 50, "majority", 1.0), score("source=b", 49)]
    assert [s.subset for s in published(own, CLOSED)] == ["all"]


def test_a_figure_of_few_in_a_large_subset_goes_alone():
    own = [score("all", 30), score("all", 3, "sensitivity"), score("all", 0, "hr", None)]
    assert [s.metric for s in published(own, CLOSED)] == ["accuracy_strict", "hr"]


def test_scores_of_open_sources_stay():
    own = [score("sex=male", 1), score("sex=male", 1, task="anatomy")]
    assert published(own, [record("0", "x", task="anatomy")]) == own[:1]


@pytest.mark.parametrize(("n", "shown"), [(1, 0), (LEAST - 1, 0), (LEAST, 1), (2 * LEAST, 1)])
def test_a_total_over_known_truths_is_not_given_for_few_withheld_ones(n, shown):
    assert len(published([score("all", 500)], CLOSED[:n])) == shown


def test_a_subset_with_few_withheld_records_among_known_ones_goes_with_its_key():
    own = [score("all", 500), score("sex=male", 300), score("sex=female", 200), score("modality=CFP", 400)]
    closed = [*CLOSED[: 2 * LEAST], *(replace(r, patient=Patient()) for r in CLOSED[2 * LEAST :])]
    assert published(own, [replace(r, patient=Patient()) for r in closed]) == own
    assert published(own, [*closed[:1], *(replace(r, patient=Patient()) for r in closed[1:])]) == [own[0], own[3]]


def test_withheld_truths_of_one_class_are_not_given_by_a_total():
    assert published([score("all", 500)], CLOSED[::2]) == []
    assert [s.metric for s in published([score("all", 500), score("all", 250, "sensitivity")], CLOSED)] == [
        "accuracy_strict",
        "sensitivity",
    ]
    few = [*CLOSED[::2], *CLOSED[1 : 2 * LEAST - 2 : 2]]
    assert len(published([score("all", 500), score("all", 250, "sensitivity")], few)) == 1


def test_ways_of_asking_one_question_are_one_question():
    asked = [replace(r, id=f"{r.id}/repeat-{k}", tags={"repeat": str(k)}) for r in CLOSED[:4] for k in range(2, 7)]
    assert len(asked) > LEAST and published([score("all", len(asked))], asked) == []


def test_a_key_that_no_record_states_is_left_out_among_known_truths():
    own = [score("all", 500), score("kind=x", 250), score("kind=y", 250)]
    assert published(own, CLOSED) == own[:1]
