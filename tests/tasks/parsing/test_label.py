"""Labels in the replies of judges: exactly one is stated, or none is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.label import parse_label
from tests.tabled import stored, tabled

PAIR = ("TRUE", "FALSE")
THREE = ("correct", "partly correct", "wrong")


@tabled(("text", "label"), stored(__file__, "label.a_label_that_is_stated_is_read"))
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
