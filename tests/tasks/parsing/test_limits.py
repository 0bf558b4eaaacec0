"""An option that is named as a limit of several is no answer."""

from __future__ import annotations

from lmod_train.tasks.parsing.option import open_limits
from lmod_train.tasks.parsing.option_signs import OTHERS, mark
from tests.growth import growth

GRADES = tuple(f"ICDR grade {n}" for n in range(5))


def test_limits_are_found_in_linear_time() -> None:
    marked = {n: mark("at least ICDR grade 2 or worse than " * n, GRADES) for n in (200, 1_600)}
    assert OTHERS in open_limits(marked[200])
    assert growth(lambda n: open_limits(marked[n]), 200) < 2.5
