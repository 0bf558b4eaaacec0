from hypothesis import given
from hypothesis import strategies as st

from lmod_train.data.curation.missing import missing

SPLITS = ("train", "val", "test")
strata = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), max_size=3)


@given(st.dictionaries(st.sampled_from(SPLITS), strata, min_size=1))
def test_every_empty_cell_of_split_and_class_is_named_and_no_other(drawn):
    counts = {split: {"records": 1 + sum(s.values()), "strata": s} for split, s in drawn.items()}
    classes = {c for s in drawn.values() for c in s}
    expected = {f"t: no record in {s}" for s in SPLITS if s not in drawn}
    for split, held in drawn.items():
        if lacking := sorted(classes - set(held)):
            expected.add(f"t: no {', '.join(lacking)} in {split}")
    assert set(missing({"t": counts}, SPLITS)) == expected


def test_a_split_without_a_share_is_not_missed():
    counts = {"train": {"records": 1, "strata": {"a": 1}}}
    assert missing({"t": counts}, ("train",)) == []
