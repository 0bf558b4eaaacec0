import pytest

from lmod_train.extensions.xpcr.stages import Missing, cup_to_disc
from tests.extensions.xpcr.samples import cupped, sample
from tests.tabled import tabled


@tabled("ratio", [0.2, 0.41, 0.6, 0.99])
def test_it_is_the_ratio_of_the_heights(ratio):
    assert cup_to_disc(cupped(ratio), (0.5,)) == pytest.approx(ratio)


def test_a_ratio_at_a_border_is_of_no_class():
    assert cup_to_disc(cupped(0.5), (0.5,)) == Missing("too close to a border between two classes")
    assert cup_to_disc(cupped(None), ()) == Missing("no outline of the cup")
    assert isinstance(cup_to_disc(sample(), ()), Missing)
