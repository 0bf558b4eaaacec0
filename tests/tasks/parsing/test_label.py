"""Labels in the replies of judges: exactly one is stated, or none is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.label import parse_label
from tests.tabled import tabled

PAIR = ("TRUE", "FALSE")
THREE = ("correct", "partly correct", "wrong")


@tabled(
    ("text", "label"),
    [
        ("TRUE", "TRUE"),
        ("false.", "FALSE"),
        ("(FALSE)", "FALSE"),
        ("'True'", "TRUE"),
        ("ＴＲＵＥ。", "TRUE"),
        ("Verdict: FALSE", "FALSE"),
        ("My final answer is true.", "TRUE"),
        ("判断：TRUE", "TRUE"),
        ("TRUE. Both name the optic cup.", "TRUE"),
        ("FALSE - the side differs", "FALSE"),
        ("FALSE (another eye)", "FALSE"),
        ("The given answer names the other eye.\nFinal answer: FALSE", "FALSE"),
        ("The given answer names the same eye.\n\nTRUE", "TRUE"),
    ],
)
def test_a_label_that_is_stated_is_read(text: str, label: str):
    assert parse_label(text, PAIR) == label


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_text_with_two_labels_is_never_read(before: str, after: str):
    for text in (f"{before} TRUE {after} FALSE", f"FALSE\n{before}\n{after} TRUE"):
        assert isinstance(parse_label(text, PAIR), Unparsed)


@given(st.text(max_size=80))
def test_only_labels_are_returned(text: str):
    found = parse_label(text, THREE)
    assert isinstance(found, Unparsed) or found in THREE
