"""Sources, shares and folds: whole families, nested, in proportion to the classes."""

from __future__ import annotations

from collections import Counter

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules import selection
from lmod_train.data.datamodules.selection import Selection, drawn_share, families_of
from tests.tiny import record

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


@pytest.fixture(scope="module")
def records():
    """600 records of two sources and two classes (1 in 5 positive), one to four of a patient."""
    made = []
    for patient in range(240):
        yes = patient % 5 == 0
        for eye in range(1 + patient % 4):
            name, source = f"{patient:03}-{eye}", ("a", "b")[patient % 3 == 0]
            fields = {
                "key": name,
                "source": source,
                "group": f"p{patient}",
                "split": ("train", "val", "test")[patient % 7 % 3],
            }
            answer = "GLAUCOMA" if yes else "NON-GLAUCOMA"
            choices = ("GLAUCOMA", "NON-GLAUCOMA")
            made.append(record(f"glaucoma/{source}/{name}", image=(name,), answer=answer, choices=choices, **fields))
    return made


def train(records):
    return [r for r in records if r.split == "train"]


def test_shares_are_nested_stratified_and_of_whole_families(records, tmp_path):
    whole, before = train(records), set()
    for share in SHARES:
        found = Selection(share=share).of(records, families_of(records, tmp_path))
        assert [r for r in found if r.split != "train"] == [r for r in records if r.split != "train"]
        kept = {r.id for r in train(found)}
        assert before <= kept, "a smaller share is a part of the larger one"
        before = kept
        patients = {r.group for r in train(found)}
        assert len(kept) == sum(r.group in patients for r in whole), "a patient is in it whole or not at all"
        assert abs(len(kept) - share * len(whole)) <= 8
        if share >= 0.1:
            for key in (lambda r: r.answer, lambda r: r.source):
                counts, kept_counts = Counter(map(key, whole)), Counter(map(key, train(found)))
                assert all(abs(kept_counts[k] - share * n) <= 8 for k, n in counts.items())
        assert {r.answer for r in train(found)} == {"GLAUCOMA", "NON-GLAUCOMA"}, "no class is lost"
    assert len(before) == len(whole)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.49, 0.5, 0.75])
def test_many_small_strata_give_the_share_too(size, share):
    """Strata of one to three patients, as of records with many labels, are not all rounded in the same direction."""
    made = [
        record(f"conditions/s{i % 90}/{i}", source=f"s{i % 90}", group=f"p{i}", answer="A", choices=("A", "B"))
        for i in range(90 * size)
    ]
    families = {r.id: r.group for r in made}
    kept = [len(drawn_share(made, families, share, seed)) / len(made) for seed in range(5)]
    assert all(abs(k - share) < 0.02 for k in kept), kept


def test_the_number_that_is_drawn_is_stated_and_warned_of_where_it_is_far_from_the_share(
    records, tmp_path, monkeypatch
):
    said, warned = [], []
    monkeypatch.setattr(selection, "rank_zero_info", said.append)
    monkeypatch.setattr(selection, "rank_zero_warn", warned.append)
    families, whole = families_of(records, tmp_path), len(train(records))
    for share, told in ((0.5, said), (1e-6, warned)):
        kept = len(train(Selection(share=share).of(records, families)))
        assert told[-1].startswith(f"data.share={share:g}: {kept} of {whole} training records")
    Selection().of(records, families)
    assert (len(said), len(warned)) == (1, 1)


def test_another_seed_draws_another_share_and_the_order_of_records_does_not_matter(records, tmp_path):
    def kept(some, seed):
        return {r.id for r in train(Selection(share=0.25, seed=seed).of(some, families_of(some, tmp_path)))}

    assert kept(records, 0) == kept(records[::-1], 0) != kept(records, 1)
    assert drawn_share([], {}, 0.1, 0) == []


@pytest.mark.parametrize("count", [3, 5])
def test_folds_test_every_record_once_and_separate_no_family(records, count, tmp_path):
    runs = [Selection(fold=f"{i}/{count}").of(records, families_of(records, tmp_path)) for i in range(1, count + 1)]
    tested = Counter(r.id for run in runs for r in run if r.split == "test")
    assert tested == Counter(r.id for r in records), "each once, whatever its curated split"
    families, positives = families_of(records, tmp_path), sum(r.answer == "GLAUCOMA" for r in records)
    for run, following in zip(runs, runs[1:] + runs[:1], strict=True):
        places = {name: {families[r.id] for r in run if r.split == name} for name in ("train", "val", "test")}
        assert not places["train"] & places["test"] | places["train"] & places["val"] | places["val"] & places["test"]
        assert places["val"] == {families[r.id] for r in following if r.split == "test"}, "the next one selects"
        test = [r for r in run if r.split == "test"]
        assert abs(len(test) - len(records) / count) <= 8
        assert abs(sum(r.answer == "GLAUCOMA" for r in test) - positives / count) <= 6
    assert runs[0] != Selection(fold=f"1/{count}", seed=1).of(records, families_of(records, tmp_path))


def test_copies_in_other_sources_stay_in_one_fold(records, tmp_path):
    first, second = next(r for r in records if r.source == "a"), next(r for r in records if r.source == "b")
    rows = [f"near,a,{first.key},b,{second.key}"]
    (tmp_path / "leakage.csv").write_text("\n".join(["kind,first_source,first_key,second_source,second_key", *rows]))
    for i in range(1, 4):
        splits = {r.id: r.split for r in Selection(fold=f"{i}/3").of(records, families_of(records, tmp_path))}
        assert splits[first.id] == splits[second.id]


def test_sources_are_chosen_and_left_out_by_name(records, tmp_path):
    def sources(**chosen):
        return {r.source for r in Selection(**chosen).of(records, families_of(records, tmp_path))}

    assert sources() == {"a", "b"} and sources(sources="a") == sources(exclude_sources=" b ,") == {"a"}
    for wrong in ({"sources": "a,c"}, {"exclude_sources": "c"}):
        with pytest.raises(BadArgument, match=r"sources='c': expected sources of the records.*there are: a, b"):
            sources(**wrong)
    with pytest.raises(BadArgument, match="some but not all sources"):
        sources(sources="a", exclude_sources="a")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"share": 0}, "data.share=0"),
        ({"share": 1.5}, "data.share=1.5"),
        ({"fold": "4/3"}, "data.fold='4/3'"),
        ({"fold": "1/2"}, "n from 3"),
    ],
)
def test_what_is_out_of_range_is_refused(wrong, said):
    with pytest.raises(BadArgument, match=said):
        Selection(**wrong)


def test_more_folds_than_families_are_refused(records, tmp_path):
    two = [r for r in records if r.group in ("p1", "p2")]
    with pytest.raises(BadArgument, match="as families of patients or photographs, 2"):
        Selection(fold="1/3").of(two, families_of(two, tmp_path))


def test_the_sources_are_determined_once_and_not_for_each_record(records, monkeypatch):
    calls, chosen = [], Selection._chosen
    monkeypatch.setattr(Selection, "_chosen", lambda self, known: calls.append(known) or chosen(self, known))
    assert Selection(sources="a").of(records, {}) == [r for r in records if r.source == "a"]
    assert calls == [{"a", "b"}], "all sources for each of 100,000 records would take minutes"
