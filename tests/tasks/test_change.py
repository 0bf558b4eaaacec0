"""How a grade has changed between two visits: which images are compared, and what their grades say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.types import Dropped, Patient, Reply, Sample
from lmod_train.tasks.change import CHOICES, change_task, changes

ICDR = {"icdr": "01234"}


def seen(
    key: str, grade: str, visit: float | None, eye: str | None = "left", person: str = "p", **more: object
) -> Sample:
    labels = {"icdr": grade} if grade else {}
    patient = Patient(laterality=eye, visit=visit)
    return Sample("clinic", key, "CFP", Path(f"{key}.jpg"), person, "", labels, patient=patient, **more)  # type: ignore[arg-type]


def asked(samples: list[Sample]) -> dict[str, str]:
    return {s.key: s.labels["change/icdr"] for s in changes(samples, ICDR) if isinstance(s, Sample)}


def lost(samples: list[Sample]) -> list[tuple[str, str]]:
    return [(d.key, d.reason) for d in changes(samples, ICDR) if isinstance(d, Dropped)]


@pytest.mark.parametrize("before", ICDR["icdr"])
@pytest.mark.parametrize("after", ICDR["icdr"])
def test_the_truth_is_the_order_of_the_grades(before: str, after: str):
    found = asked([seen("b", after, 2), seen("a", before, 1)])  # the order of rows says nothing
    assert found == {"a+b": "unchanged" if before == after else "progressed" if after > before else "improved"}


def test_visits_that_follow_one_another_are_compared_and_eyes_and_patients_are_not():
    one = [seen("a", "0", 1), seen("b", "2", 2), seen("c", "1", 5)]
    others = [seen("d", "3", 3, eye="right"), seen("e", "4", 9, person="q")]
    assert asked([*others, *one]) == {"a+b": "progressed", "b+c": "improved"} and lost([*others, *one]) == []
    assert asked([seen("a", "0", 1), seen("b", "", 2), seen("c", "1", 3)]) == {"a+c": "progressed"}


def test_what_a_visit_does_not_say_is_listed():
    same = [seen("a", "1", 1), seen("b", "2", 1), seen("c", "2", 2)]
    assert asked(same) == {} and lost(same) == [("a", "contradictory grades")]
    assert asked([seen("a", "1", 1), seen("b", "1", 1), seen("c", "2", 2)]) == {"a+c": "progressed"}
    unsided = [seen("a", "1", 1, eye=None), seen("b", "2", 2, eye=None), seen("c", "2", None)]
    assert asked(unsided) == {} and lost(unsided) == [("a", "no eye"), ("b", "no eye"), ("c", "no visit")]
    assert lost([seen("a", "1", None, eye=None)]) == [], "a patient with one visit has no change"


def test_a_pair_shows_both_images_in_order_and_stays_with_its_patient():
    (pair,) = changes([seen("a", "1", 1, split="test"), seen("b", "2", 2, split="test")], ICDR)
    assert isinstance(pair, Sample) and (pair.group, pair.split, pair.image_keys) == ("p", "test", ("a", "b"))
    (question,) = change_task("icdr", "grade of diabetic retinopathy").ask(pair)
    assert [part.type for part in question.messages[0].parts] == ["image", "image", "text"]
    assert (
        question.answer == "Answer: progressed"
        and "grade of diabetic retinopathy" in question.messages[0].parts[2].text
    )
    (apart,) = changes([seen("a", "1", 1, split="test"), seen("b", "2", 2, split="train")], ICDR)
    assert isinstance(apart, Sample) and apart.split == ""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("It has worsened.", "progressed"), ("No change.", "unchanged"), ("It is stable.", "unchanged"),
        ("There is improvement.", "improved"),
        ("It has not progressed.", None), ("Either progressed or improved.", None),
    ],
)  # fmt: skip
def test_replies_are_read_by_their_words(said: str, meant: str | None):
    found = change_task("icdr", "grade").parse(Reply("", said))
    assert found == meant if meant else found not in CHOICES
