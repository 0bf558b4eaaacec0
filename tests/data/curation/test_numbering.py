from collections import Counter

from lmod_train.core.types import Sample
from lmod_train.data.curation.prepare import number
from tests.data.curation.world import region

REGIONS = (region("optic disc", 0, 0, 40, 40), region("optic cup", 10, 10, 20, 20), region("fovea", 80, 20, 90, 30))


def numbered(key, regions=REGIONS, seed=0):
    return number(Sample("s", key, "CFP", None, "g", "CC0", regions=regions), seed).regions


def test_ids_run_from_one_in_the_order_of_the_tuple():
    assert [r.id for r in numbered("k")] == [1, 2, 3]
    assert sorted(r.structure for r in numbered("k")) == ["fovea", "optic cup", "optic disc"]


def test_the_order_of_the_source_has_no_influence():
    assert numbered("k", REGIONS[::-1]) == numbered("k")


def test_seed_and_key_draw_anew():
    assert len({tuple(r.structure for r in numbered(f"k{i}")) for i in range(60)}) == 6
    assert len({tuple(r.structure for r in numbered("k", seed=i)) for i in range(60)}) == 6


def test_an_id_tells_nothing_about_the_structure():
    counts = Counter((r.structure, r.id) for i in range(1500) for r in numbered(f"train/{i:04}"))
    # 500 expected in each of 9 cells; chi-square with 4 degrees of freedom exceeds 18.5 once in a thousand
    assert sum((n - 500) ** 2 / 500 for n in counts.values()) < 18.5 and len(counts) == 9
