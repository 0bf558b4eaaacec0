from collections import Counter

from lmod_train.curation.balance import Candidate, draw


def candidates(counts, cell=("t", "en", "train", ""), source="s"):
    return [Candidate(cell, c, source, f"{c}{i}", f"patient-{c}{i // 2}") for c, n in counts.items() for i in range(n)]


def test_the_smallest_class_sets_the_number():
    items = candidates({"a": 7, "b": 3, "c": 12})
    drawn, (account,) = draw(items, 0)
    assert Counter(items[i].stratum for i in drawn) == {"a": 3, "b": 3, "c": 3}
    assert account["n_per_class"] == 3 and account["before"] == {"a": 7, "b": 3, "c": 12} and account["items"] == 9
    assert account["groups"] == len({items[i].group for i in drawn})
    assert account["groups_per_class"]["b"] == 2


def test_order_does_not_matter_and_the_seed_does():
    items = candidates({"a": 30, "b": 5})
    keys = lambda pool, seed: {pool[i].key for i in draw(pool, seed)[0]}  # noqa: E731
    assert keys(items, 0) == keys(items[::-1], 0) != keys(items, 1)


def test_cells_are_balanced_apart_and_a_missing_class_is_named():
    items = candidates({"a": 4, "b": 2}) + candidates({"a": 3}, ("t", "en", "test", ""))
    drawn, (test, train) = draw(items, 0)
    assert len(drawn) == 4 + 3
    assert test["missing"] == ["b"] and test["items"] == 3 and train["missing"] == []


def test_languages_ask_about_the_same_images():
    items = candidates({"a": 20, "b": 4}) + candidates({"a": 20, "b": 4}, ("t", "zh", "train", ""))
    drawn, _ = draw(items, 0)
    keys = [sorted(items[i].key for i in drawn if items[i].cell[1] == lang) for lang in ("en", "zh")]
    assert keys[0] == keys[1]


def test_no_candidates_no_account():
    assert draw([], 0) == (set(), [])
