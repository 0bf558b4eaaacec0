import time

import imagehash
import numpy as np
import pytest
from PIL import Image

from lmod_train.curation.leakage import NEAR, Shown, account, find_pairs, perceptual_hash, torn_copies
from tests.curation.world import photograph


def shown(key, split, group=None, sha256=None, phash="", source="s"):
    return Shown(source, key, split, group or key, sha256 or f"{source}{key}", phash)


def flipped(bits, *places):
    value = int.from_bytes(bits, "big")
    for place in places:
        value ^= 1 << int(place)
    return f"{value:064x}"


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


def test_pairs_within_the_distance_are_all_found_and_no_other():
    rng = np.random.default_rng(0)
    raw = [rng.bytes(32) for _ in range(40)]
    hashes = [h.hex() for h in raw]
    for h in raw[:20]:
        hashes += [flipped(h, *rng.choice(256, size=n, replace=False)) for n in (1, 9, NEAR, NEAR + 1, NEAR + 9)]
    images = [shown(f"{i:03}", "train" if i % 2 else "test", phash=h) for i, h in enumerate(hashes)]
    distance = lambda a, b: (int(a.phash, 16) ^ int(b.phash, 16)).bit_count()  # noqa: E731
    expected = {
        (a.key, b.key, distance(a, b)) for a in images for b in images if a.key < b.key and distance(a, b) <= NEAR
    }
    assert {(p.first.key, p.second.key, p.distance) for p in find_pairs(images)} == expected
    assert len(expected) >= 60


def test_the_order_of_images_does_not_matter():
    rng = np.random.default_rng(1)
    raw = rng.bytes(32)
    images = [shown(str(i), "train", phash=flipped(raw, i, i + 3)) for i in range(12)]
    assert find_pairs(images) == find_pairs(images[::-1]) != []


def test_many_equal_images_stay_linear():
    images = [shown(f"{i:04}", ("train", "val", "test")[i % 3], phash="0" * 64) for i in range(3000)]
    pairs = find_pairs(images)
    assert len(pairs) <= 3 * len(images)
    assert {i.key for p in pairs if p.crosses for i in (p.first, p.second)} == {i.key for i in images}


def test_a_copy_saved_again_is_near_and_another_eye_is_not(tmp_path):
    for i in range(2):
        photograph(tmp_path / f"{i}.png", i, size=(640, 480))
    one, other = (Image.open(tmp_path / f"{i}.png").convert("RGB") for i in range(2))
    one.resize((320, 240)).save(tmp_path / "copy.jpg", quality=60)
    images = [
        shown("one", "train", phash=perceptual_hash(one)),
        shown("copy", "test", phash=perceptual_hash(Image.open(tmp_path / "copy.jpg")), source="t"),
        shown("other", "val", phash=perceptual_hash(other)),
    ]
    (pair,) = find_pairs(images)
    assert (pair.kind, {pair.first.key, pair.second.key}) == ("near", {"one", "copy"})


def test_time_is_near_linear_on_spread_hashes():
    rng = np.random.default_rng(2)
    images = [shown(str(i), "train", phash=rng.bytes(32).hex()) for i in range(4000)]
    began = time.process_time()
    find_pairs(images[:1000])
    small = time.process_time() - began
    began = time.process_time()
    find_pairs(images)
    assert time.process_time() - began < max(10 * small, 0.5)  # all pairs would be 16 times


def test_training_loses_the_copies():
    images = [shown("a", "train", sha256="x"), shown("b", "test", sha256="x"), shown("c", "val", sha256="x")]
    assert torn_copies(find_pairs(images)) == {("s", "a"), ("s", "c")}


@pytest.mark.parametrize("images", [[], [shown("a", "train", phash="f" * 64)]])
def test_nothing_to_compare(images):
    found = account(find_pairs(images))
    assert found["crossing"] == [] and all(c["pairs"] == 0 for c in found["counts"].values())


def _pictures(rng):
    for side in (1, 2, 17, 64, 65, 200, 384):
        noise = rng.integers(0, 256, (side, side + 3, 3), dtype=np.uint8)
        yield Image.fromarray(noise)
        yield Image.fromarray(noise[:5, :7]).resize((side + 9, side), Image.Resampling.BICUBIC)
        yield Image.new("RGB", (side, 2 * side), tuple(noise[0, 0].tolist()))  # all frequencies 0, or rounded to it
        yield Image.linear_gradient("L").resize((side, side)).convert("RGB")
        yield Image.fromarray((noise > 127).astype(np.uint8) * 255)


def test_the_hash_is_that_of_the_published_package_bit_for_bit():
    pictures = list(_pictures(np.random.default_rng(4)))
    assert [perceptual_hash(p) for p in pictures] == [str(imagehash.phash(p, hash_size=16)) for p in pictures]
    assert len({perceptual_hash(p) for p in pictures}) > len(pictures) / 2
