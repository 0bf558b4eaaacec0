import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Sample
from lmod_train.data.curation.splits import SPLITS, split
from tests.tabled import tabled

RATIOS = (0.8, 0.15, 0.05)


def sample(key, group, label, source="s"):
    return Sample(source, str(key), "CFP", None, str(group), "CC0", labels={"diagnosis": label})


groups = st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc"), st.sampled_from("st")), min_size=1, max_size=60)


def of(drawn):
    return [sample(f"{g}-{i}", g, label, source) for g, (n, label, source) in enumerate(drawn) for i in range(n)]


@settings(max_examples=60, deadline=None)
@given(groups, st.integers(0, 5), st.randoms(use_true_random=False))
def test_groups_stay_whole_shares_hold_and_order_does_not_matter(drawn, seed, chance):
    samples = of(drawn)
    placed = split(samples, RATIOS, seed=seed)
    shuffled = samples[:]
    chance.shuffle(shuffled)
    assert split(shuffled, RATIOS, seed=seed) == placed
    assert set(placed) == {(s.source, s.key) for s in samples}
    homes = defaultdict(set)
    for s in samples:
        homes[s.source, s.group].add(placed[s.source, s.key])
    assert all(len(h) == 1 for h in homes.values())
    for source in {s.source for s in samples}:
        own = [s for s in samples if s.source == source]
        largest = max(Counter(s.group for s in own).values())
        for name, ratio in zip(SPLITS, RATIOS, strict=True):
            n = sum(placed[s.source, s.key] == name for s in own)
            assert -2 * largest <= n - ratio * len(own) <= largest + 1e-9
            for label in {s.labels["diagnosis"] for s in own}:
                members = [s for s in own if s.labels["diagnosis"] == label]
                n = sum(placed[s.source, s.key] == name for s in members)
                assert abs(n - ratio * len(members)) <= 3 * largest


@tabled("rare", [11, 13, 17, 20])
@tabled("seed", [0, 1])
def test_the_rarest_stratum_is_placed_first_whatever_else_there_is(rare, seed):
    few = [sample(f"a{i}", f"a{i}", "few") for i in range(rare)]
    alone = split(few, RATIOS, seed=seed)
    for more in (rare + 1, rare + 4, rare + 7, 5 * rare + 3):
        others = [sample(f"b{i}", f"b{i}", "more") for i in range(more)]
        placed = split([*others, *few], RATIOS, seed=seed)
        assert {place: placed[place] for place in alone} == alone


def test_strata_keep_their_share_exactly_where_numbers_allow():
    samples = [sample(i, i, "rare" if i < 40 else "common") for i in range(400)]
    placed = split(samples, RATIOS)
    counts = Counter((s.labels["diagnosis"], placed["s", s.key]) for s in samples)
    assert counts == {
        ("rare", "train"): 32,
        ("rare", "val"): 6,
        ("rare", "test"): 2,
        ("common", "train"): 288,
        ("common", "val"): 54,
        ("common", "test"): 18,
    }


def test_another_seed_draws_other_groups_and_each_source_is_split_by_itself():
    samples = [sample(i, i, "a") for i in range(100)]
    assert split(samples, RATIOS, seed=0) != split(samples, RATIOS, seed=1)
    other = [sample(i, i, "a", "t") for i in range(7)]
    both = split([*samples, *other], RATIOS)
    assert {k: v for k, v in both.items() if k[0] == "s"} == split(samples, RATIOS)


def test_a_share_of_nothing_stays_empty():
    placed = split([sample(i, i // 3, random.Random(i).choice("ab")) for i in range(50)], (0.5, 0.0, 0.5))
    assert set(placed.values()) == {"train", "test"}


def test_the_published_split_by_image_warns():
    samples = [sample(i, "one patient", "a") for i in range(20)]
    with pytest.warns(UserWarning, match="published protocol"):
        placed = split(samples, RATIOS, by="image")
    assert Counter(placed.values()) == {"train": 16, "val": 3, "test": 1}
    assert len(set(split(samples, RATIOS).values())) == 1


@tabled("ratios", [(0.8, 0.2), (0.8, 0.15, 0.1), (1.2, -0.1, -0.1)])
def test_ratios_that_are_no_shares_are_refused(ratios):
    with pytest.raises(BadArgument, match="ratios"):
        split([], ratios)
