import io
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.cli import main
from lmod_train.core.cells import image_bytes
from lmod_train.core.types import Sample
from lmod_train.data.curation.copies import NEAR, SURE, thumbnail
from lmod_train.data.curation.families import Likeness, account, contradictions, families, likenesses, same_files
from lmod_train.data.curation.splits import split
from lmod_train.data.sources.discovery import discover
from tests.tabled import tabled


def pairs_of(alike):
    return [(one.first, one.second) for one in alike]


def sample(key, group, label="", source="s", modality="CFP"):
    labels = {"diagnosis": label} if label else {}
    return Sample(source, key, modality, Path(key), group, "CC0", labels=labels)


def near(one, other, correlation=0.9, orientation="mirrored"):
    return Likeness(one, other, orientation, correlation)


def test_groups_that_share_a_file_are_one_family():
    """a-b share x, b-c share y, so a, b, c are one; another source's copy of x keeps its name and is tied to them."""
    held = {"a1": "x", "a2": "1", "b1": "x", "b2": "y", "c1": "y", "d1": "", "d2": "2", "e1": ""}
    samples = [sample(key, key[0]) for key in held] + [sample("z1", "z", source="other")]
    contents = {("s", key): content for key, content in held.items()} | {("other", "z1"): "x"}
    joined, spanning = families(samples, pairs_of(same_files(samples, contents)))
    assert {s.key: s.group for s in joined} == {
        **dict.fromkeys(("a1", "a2", "b1", "b2", "c1"), "a"),
        **{"d1": "d", "d2": "d", "e1": "e", "z1": "z"},
    }
    assert spanning == {("s", "a"): ("other", "z"), ("other", "z"): ("other", "z")}
    backwards, _ = families(samples[::-1], pairs_of(same_files(samples[::-1], contents)))
    assert {s.key: s.group for s in backwards} == {s.key: s.group for s in joined}
    assert families(samples, []) == (samples, {})


@tabled("seed", range(5))
def test_a_family_across_sources_lies_in_one_split(seed):
    samples = [sample(f"{i}", f"{i}", "ab"[i % 2], source) for source in ("one", "two") for i in range(60)]
    alike = [near(("one", f"{i}"), ("two", f"{59 - i}")) for i in range(0, 60, 2)]
    joined, spanning = families(samples, pairs_of(alike))
    free, tied = split(samples, seed=seed), split(joined, seed=seed, spanning=spanning)
    assert sum(free[p.first] != free[p.second] for p in alike) > 3
    assert all(tied[p.first] == tied[p.second] for p in alike)
    assert abs(sum(v == "train" for (source, _), v in tied.items() if source == "two") - 48) <= 8


def test_labels_that_contradict_take_all_copies_out():
    samples = [
        sample("a", "a", "cataract"),
        sample("b", "b", "glaucoma"),
        sample("c", "c", "glaucoma"),
        sample("d", "d"),
    ]
    alike = [near(("s", "a"), ("s", "b"), 1.0), near(("s", "b"), ("s", "c")), near(("s", "c"), ("s", "d"))]
    found = contradictions(samples, alike)
    assert [(d.key, d.step, d.reason) for d in found] == [(k, "families", "contradictory_labels") for k in "abc"]
    assert found[0].detail == "diagnosis: cataract as s/a, glaucoma as s/b"


@pytest.mark.parametrize(("label", "correlation"), [("cataract", 1.0), ("glaucoma", (NEAR + SURE) / 2)])
def test_agreeing_labels_and_uncertain_pairs_contradict_nothing(label, correlation):
    samples = [sample("a", "a", "cataract"), sample("b", "b", label)]
    assert contradictions(samples, [near(("s", "a"), ("s", "b"), correlation)]) == []


def test_the_account_counts_photographs_families_and_orientations():
    samples = [sample(k, k) for k in "abcdef"]
    alike = [near(("s", "a"), ("s", "b")), near(("s", "b"), ("s", "c"), 1.0, "as is"), near(("s", "d"), ("t", "d"))]
    told = account(samples, alike)
    assert (told["photographs"], told["in_families"], told["families"], told["pairs"]) == (6, 5, 2, 3)
    assert told["by_size"] == {"2": 1, "3": 1} and told["across_sources"] == 1
    assert told["by_orientation"] == {"as is": 1, "mirrored": 2, "upside down": 0, "turned by 180 degrees": 0}


def test_modalities_are_never_compared_and_missing_thumbnails_have_no_copies(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "lmod_train.data.curation.families.find_copies", lambda t, *of: asked.append((list(t), *of)) or []
    )
    samples = [sample("a", "p", "x"), sample("b", "p", "y"), sample("c", "q", modality="OCT"), sample("d", "r")]
    assert likenesses(samples, {("s", "a"): "1", ("s", "b"): "2", ("s", "c"): "3"}) == []
    assert [thumbnails for thumbnails, _, _ in asked] == [["1", "2"], ["3"]]
    assert asked[0][1][0] != asked[0][1][1]  # one group, two labels: looked at, as a contradiction
    assert asked[0][2] < asked[1][2]


@pytest.mark.slow
def test_no_two_phantoms_of_any_source_are_joined(tmp_path):
    """Phantoms share their layout as no two eyes do; each is drawn anew, so any pair that is joined is wrong."""
    assert main(["phantom", "--out", str(tmp_path), "--n", "120", "--sources", "all"]) == 0
    shown, views = [], {}
    for source in discover(tmp_path).sources:
        drawn = [s for s in source.samples() if isinstance(s, Sample) and s.image is not None]
        drawn = [s for s in drawn if not s.cut.arrays and not s.cut.half]
        alone = {s.group: s for s in drawn}  # one picture a patient: a video's frames are alike
        for one in alone.values():
            with Image.open(io.BytesIO(image_bytes(one.image, one.cut))) as image:
                views[one.source, one.key] = thumbnail(image.convert("RGB"))
            shown.append(one)
    assert len({s.source for s in shown}) > 5
    assert likenesses(shown, views) == []
