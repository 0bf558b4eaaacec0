"""The measure itself: it tells a quadratic parser from a linear one."""

import pytest

from tests.growth import growth


@pytest.mark.parametrize(("power", "linear"), [(1, True), (2, False)])
def test_quadratic_work_is_told_from_linear(power: int, linear: bool):
    size = 200_000 if linear else 1_000
    assert (growth(lambda n: sum(range(n**power)), size) < 2.5) is linear
