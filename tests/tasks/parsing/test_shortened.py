"""Names of options that share words are read as several options."""

from __future__ import annotations

from lmod_train.tasks.parsing.option_signs import in_full
from tests.growth import growth

GRADES = tuple(f"ICDR grade {n}" for n in range(5))


def test_shortened_names_are_found_in_linear_time() -> None:
    texts = {n: "ICDR grade 2 or maybe possibly " * n for n in (300, 2_400)}
    assert growth(lambda n: in_full(texts[n], GRADES), 300) < 2.5
