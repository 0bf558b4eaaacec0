import csv
import random
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from lmod_train.core.types import Box, Region
from lmod_train.data.audit.shortcut_classifiers import shortcuts
from lmod_train.extensions.looking.blind import blind, rows_of
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
SPLITS = ("train", "train", "train", "val", "test")
THUMBNAILS = ("thumbnail", "thumbnail_forest")
SEEN = ("border_mask", *THUMBNAILS, "file_facts")


def gives_away(told, shortcut):
    """Return whether a shortcut sees what gives the answer away; thumbnails show the border, too."""
    return shortcut.split("_forest")[0] == told or (shortcut in THUMBNAILS and told == "border_mask")


def truth(i):
    return WORDS[random.Random(i).random() < 0.5]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a function that writes, once, 200 photographs of noise of which one thing alone gives the answer away."""

    @cache
    def make(told):
        folder = tmp_path_factory.mktemp(told)
        rng, records, facts = np.random.default_rng(0), [], []
        for i in range(200):
            ill = truth(i) == WORDS[0]
            side = 44 if told == "border_mask" and ill else 56
            grey = 90 if told == "thumbnail" and ill else 140
            pixels = np.zeros((64, 64, 3), np.uint8)
            pixels[:side, :side] = rng.integers(grey - 40, grey + 40, (side, side, 3))
            name = f"images/s/{i}.png"
            (folder / "images" / "s").mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / name)
            source = f"from {truth(i)}" if told == "source" else "s"
            kind = "png" if told == "file_facts" and ill else "jpg"
            facts.append({"source": source, "key": str(i), "type": kind, "bytes": 5000, "width": 64, "height": 64})
            fields = {"task": "glaucoma", "source": source, "key": str(i), "choices": WORDS, "split": SPLITS[i % 5]}
            one = record(f"glaucoma/{source}/{i}", **fields, answer=truth(i))
            records.append(replace(one, image=(name,), image_plain=(name,)))
        with (folder / "files.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, facts[0])
            writer.writeheader()
            writer.writerows(facts)
        return folder, records

    return make


@pytest.fixture(scope="module")
def found(world):
    """Return a function that returns the rows of a world, by shortcut and split."""
    return cache(lambda told: {(row.shortcut, row.split): row for row in shortcuts(*world(told))})


@pytest.mark.parametrize("told", ["source", "border_mask", "thumbnail", "file_facts", "nothing"])
def test_what_gives_the_answer_away_is_named_and_nothing_else(found, told):
    rows = found(told)
    assert {split for _, split in rows} == {"val", "test", "val+test"}
    for shortcut in ("source", *SEEN):
        row = rows[shortcut, "val+test"]
        assert row.n == 80 and row.low <= row.value <= row.high
        assert rows[shortcut, "val"].n == rows[shortcut, "test"].n == 40
        if not gives_away(told, shortcut):
            assert row.value < 0.7
        elif shortcut != "thumbnail" or told != "border_mask":  # its nearest neighbour may be another noise
            assert row.value == 1.0


@pytest.mark.parametrize(
    ("shortcut", "model"),
    [("thumbnail", KNeighborsClassifier(1)), ("thumbnail_forest", RandomForestClassifier(100, random_state=0))],
)
def test_the_thumbnail_rows_are_scikit_learns_and_the_interval_scipys(world, found, shortcut, model):
    folder, records = world("nothing")

    def pixels(split):
        several = sorted((r for r in records if r.split == split), key=lambda r: r.id)
        small = [Image.open(folder / r.image[0]).resize((24, 24), Image.Resampling.BOX) for r in several]
        return [np.asarray(s, float).ravel() for s in small], [r.answer for r in several]

    row = found("nothing")[shortcut, "test"]
    images, answers = pixels("test")
    assert row.value == accuracy_score(answers, model.fit(*pixels("train")).predict(images))
    interval = binomtest(round(row.value * 40), 40).proportion_ci(0.95, "exact")
    assert (row.low, row.high) == (interval.low, interval.high)


def test_balance_over_sources_together_lets_the_source_answer(world):
    """Three sources, one of a single class, as REFUGE, ORIGA and G1020 were balanced together."""
    folder, records = world("nothing")
    records = [
        replace(r, source="one" if truth(i) == WORDS[0] and i % 3 == 0 else "both") for i, r in enumerate(records)
    ]
    rows = {(r.shortcut, r.split): r for r in shortcuts(folder, records)}
    assert rows["source", "val+test"].value > 0.6 > rows["border_mask", "val+test"].value


def test_regions_free_text_and_missing_facts_are_left_out(world, tmp_path):
    written, records = world("source")
    folder = shutil.copytree(written, tmp_path / "source")
    regions = tuple(Region("optic disc", Box(0, 0, 9, 9), i) for i in (1, 2))
    assert shortcuts(folder, [replace(r, regions=regions) for r in records]) == []
    assert shortcuts(folder, [replace(r, choices=()) for r in records]) == []
    assert shortcuts(folder, [replace(r, image=(), image_plain=()) for r in records]) == []
    assert shortcuts(folder, []) == []
    (folder / "files.csv").unlink()
    assert {r.shortcut for r in shortcuts(folder, records)} == {"source", "border_mask", *THUMBNAILS}
    only = shortcuts(folder, [replace(r, split="train") for r in records])
    assert {(r.n, r.value) for r in only} == {(0, None)}


SLOW = [("border_mask", 2), ("thumbnail", 3), ("file_facts", 2), ("nothing", 2), ("nothing", 3)]


@pytest.mark.parametrize(
    ("told", "images"),
    [
        *(("border_mask", 3), ("thumbnail", 2), ("file_facts", 3)),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in SLOW),
    ],
)
def test_what_any_of_several_images_gives_away_is_found(world, told, images):
    """The last image gives the answer away; those before it are another question's and give nothing away."""
    folder, records = world(told)
    shown = [records[(i * 7 + 3) % 200].image_plain[0] for i in range(200)]
    several = [
        replace(r, image=(n := (shown[i],) * (images - 1) + r.image_plain), image_plain=n)
        for i, r in enumerate(records)
    ]
    mixed = [r if i % 2 else s for i, (r, s) in enumerate(zip(records, several, strict=True))]
    for asked in (several, mixed):
        rows = {(r.shortcut, r.split): r for r in shortcuts(folder, asked)}
        for shortcut in SEEN:
            row = rows[shortcut, "val+test"]
            assert row.n == 80
            if not gives_away(told, shortcut):
                assert row.value < 0.7
            elif shortcut == told != "thumbnail":
                assert row.value == 1.0
            elif told == "thumbnail":
                assert row.value > 0.9


def test_every_variant_has_a_classifier_of_its_own(world):
    """Two questions about one image with opposite answers: one classifier for both could not tell them apart."""
    folder, records = world("border_mask")
    swap = dict(zip(WORDS, WORDS[::-1], strict=True))
    others = [replace(r, id=f"{r.id}/opposite", variant="opposite", answer=swap[r.answer]) for r in records]
    rows = {(r.shortcut, r.split): r for r in shortcuts(folder, [*records, *others])}
    assert (rows["border_mask", "val+test"].value, rows["border_mask", "val+test"].n) == (1.0, 160)


def test_rows_of_words_add_up(world):
    _, records = world("nothing")
    (one,) = blind(records)
    rows = list(rows_of(one))
    by = {(r.shortcut, r.split, r.metric): r for r in rows}
    for shortcut, share in (("words", one.accuracy), ("names", one.names), ("most_frequent", one.prior)):
        both = by[shortcut, "val+test", "accuracy"]
        parts = [by[shortcut, split, "accuracy"] for split in ("val", "test")]
        assert both.value == share and both.n == sum(p.n for p in parts)
        assert both.value * both.n == pytest.approx(sum(p.value * p.n for p in parts))
    assert by["words", "val+test", "leaks"].value == float(one.leaks)
