"""The measure itself: it tells a quadratic parser from a linear one."""

import pytest

from tests import growth as measure
from tests.growth import growth


@pytest.mark.parametrize(("power", "linear"), [(1, True), (2, False)])
def test_quadratic_work_is_told_from_linear(power: int, linear: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measure, "LEAST", 0.002)  # so that work of some milliseconds counts
    size = 200_000 if linear else 500
    assert (growth(lambda n: sum(range(n**power)), size) < 2.5) is linear
