import pytest

from lmod_train.data.curation.families import Likeness
from lmod_train.data.curation.leakage import Shown, account, copies_to_drop, find_pairs
from lmod_train.data.curation.manifest_files import LEAK_COLUMNS


def shown(key, split, group=None, sha256=None, source="s", **labels):
    return Shown(source, key, split, group or key, sha256 or f"{source}{key}", tuple(labels.items()))


def test_one_patient_in_two_splits():
    images = [
        shown("a", "train", "p"),
        shown("b", "train", "p"),
        shown("c", "test", "p"),
        shown("d", "val", "p", source="t"),
    ]
    pairs = find_pairs(images)
    assert {(p.kind, p.first.key, p.second.key) for p in pairs} == {("group", "a", "c")}


def test_one_file_within_and_across_splits_and_sources():
    images = [
        shown("a", "train", sha256="x"),
        shown("b", "train", sha256="x"),
        shown("c", "test", sha256="x", source="t"),
        shown("d", "val"),
    ]
    found = account(find_pairs(images))["counts"]["exact"]
    assert found == {"pairs": 2, "crossing_splits": 1, "across_sources": 1, "images_crossing": 2}


def test_training_loses_the_copies():
    images = [shown("a", "train", sha256="x"), shown("b", "test", sha256="x"), shown("c", "val", sha256="x")]
    assert copies_to_drop(find_pairs(images)) == {("s", "a"), ("s", "c")}


@pytest.mark.parametrize("images", [[], [shown("a", "train")]])
def test_nothing_to_compare(images):
    found = account(find_pairs(images))
    assert found["crossing"] == [] and all(c["pairs"] == 0 for c in found["counts"].values())


def test_one_photograph_in_two_splits_with_orientation_correlation_and_labels():
    images = [
        shown("a", "train", diagnosis="cataract"),
        shown("b", "test", diagnosis="glaucoma"),
        shown("c", "", sha256="sa", diagnosis="cataract"),
    ]
    alike = [Likeness(("s", "a"), ("s", "b"), "mirrored", 0.91), Likeness(("s", "a"), ("s", "c"), "as is", 1.0)]
    alike.append(Likeness(("s", "b"), ("gone", "x"), "as is", 0.8))
    exact, near = find_pairs(images, alike)
    assert (exact.kind, exact.crosses, exact.contradiction) == ("exact", False, "")
    assert (near.crosses, near.contradiction) == (True, "diagnosis: cataract / glaucoma")
    row = near.row()
    assert (row["kind"], row["orientation"], row["correlation"]) == ("near", "mirrored", 0.91)
    assert tuple(row) == LEAK_COLUMNS and row["second_split"] == "test"
    told = account([exact, near])
    assert (told["counts"]["near"]["images_crossing"], told["contradicting_pairs"]) == (2, 1)


def test_many_equal_images_stay_linear_and_the_order_does_not_matter():
    images = [shown(f"{i:04}", ("train", "val", "test")[i % 3], sha256="x") for i in range(3000)]
    pairs = find_pairs(images)
    assert len(pairs) <= 3 * len(images) and pairs == find_pairs(images[::-1])
    assert {i.key for p in pairs if p.crosses for i in (p.first, p.second)} == {i.key for i in images}
