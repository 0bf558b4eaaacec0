"""A denial of "it" denies the disease named before."""

from __future__ import annotations

import pytest

from lmod_train.types import Unparsed
from tests.parsing.asked import parse


@pytest.mark.parametrize(
    "nothing",
    [
        "I see no evidence of it",
        "This eye shows none of it",
        "There is little sign of it",
    ],
)
@pytest.mark.parametrize(
    ("ask", "name", "wanted"), [("glaucoma", "glaucoma", "NON-GLAUCOMA"), ("conditions drusen", "drusen", "FALSE")]
)
def test_a_denial_of_it_denies_the_named_disease(ask: str, name: str, wanted: str, nothing: str) -> None:
    assert parse(ask, f"The referrer suspected {name}. {nothing}.") == wanted
    assert isinstance(parse(ask, f"{nothing}."), Unparsed)
