from itertools import product

from lmod_train.core.types import Box
from lmod_train.extensions.xpcr.stages import box_of, drawn, pair, structures_in
from tests.extensions.xpcr.samples import sample
from tests.tabled import tabled


@tabled(("has_one", "has_other"), list(product((False, True), repeat=2)))
def test_a_pair_knows_its_truth(has_one, has_other):
    posed = pair("Which?", [("drusen", has_one), ("scar", has_other)], "labels")
    expected = {
        (False, False): "neither drusen nor scar",
        (True, False): "drusen but without scar",
        (False, True): "scar but without drusen",
        (True, True): "drusen, as well as scar",
    }
    assert posed.truth == expected[has_one, has_other]
    assert posed.level == ("S" if has_one and has_other else "A")


def test_draws_depend_on_the_key_alone_and_are_even():
    orders = [drawn("abc", sample(f"k{i}"), "DD") for i in range(600)]
    assert orders == [drawn("abc", sample(f"k{i}", labels={"x": "yes"}), "DD") for i in range(600)]
    assert all(170 < sum(order[0] == letter for order in orders) < 230 for letter in "abc")


def test_a_structure_that_comes_twice_has_no_box_and_one_too_small_is_there():
    both = sample(boxes=[("optic disc", 0, 0, 9, 9), ("fovea", 1, 1, 2, 2), ("fovea", 5, 5, 6, 6)])
    assert (box_of(both, "optic disc"), box_of(both, "fovea"), box_of(both, "macula")) == (Box(0, 0, 9, 9), None, None)
    assert structures_in(sample(too_small=("macular hole",))) == {"macular hole"}
