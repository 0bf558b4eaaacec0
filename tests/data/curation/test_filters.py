import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Sample
from lmod_train.data.curation.filters import BoxFilter, cutoff_of, keep_boxes
from tests.data.curation.world import region
from tests.tabled import tabled


def sample(*regions):
    return Sample("s", "k", "CFP", None, "g", "CC0", regions=regions, size=(200, 100))


@tabled(
    ("box_filter", "kept"),
    [
        (BoxFilter("side", 0.1), ["at side", "large"]),
        (BoxFilter("side", 0.101), ["large"]),
        (BoxFilter("area", 0.005), ["at side", "large"]),
        (BoxFilter("area", 0.0051), ["large"]),
        (BoxFilter("side", 0), ["speck", "at side", "large"]),
    ],
)
def test_boxes_below_the_threshold_fall_and_are_named(box_filter, kept):
    speck, at, large = region("speck", 0, 0, 2, 2), region("at side", 10, 10, 30, 15), region("large", 0, 0, 200, 100)
    left, lost = keep_boxes(sample(speck, at, large), box_filter, cutoff_of(box_filter, []))
    assert [r.structure for r in left.regions] == kept
    assert list(lost) == [(n, "too_small") for n in ("speck", "at side", "large") if n not in kept]


def test_impossible_boxes_fall_with_their_own_reason():
    left, lost = keep_boxes(sample(region("a", 5, 5, 5, 9), region("b", 150, 0, 201, 50)), BoxFilter("side", 0), 0)
    assert left.regions == () and lost == (("a", "empty"), ("b", "outside_image"))


def test_a_percentile_is_of_the_area_fractions():
    assert cutoff_of(BoxFilter("percentile", 10), [i / 100 for i in range(101)]) == pytest.approx(0.1)
    assert cutoff_of(BoxFilter("percentile", 10), []) == 0


@tabled(
    ("quantity", "threshold", "named"),
    [("width", 0.1, "box_filter.quantity"), ("side", 10, "box_filter.threshold"), ("area", -1, "box_filter.threshold")],
)
def test_a_filter_that_makes_no_sense_is_refused(quantity, threshold, named):
    with pytest.raises(BadArgument, match=named):
        BoxFilter(quantity, threshold)


def test_the_default_keeps_every_kind_of_box_the_authors_released():
    fovea, image = 0.004, 1000 * 1000  # 0.4 % of the image area, the smallest measured
    side = round((fovea * image) ** 0.5)
    default = BoxFilter()
    assert default.measure(region("fovea", 0, 0, side, side).box, (1000, 1000)) >= cutoff_of(default, [])
