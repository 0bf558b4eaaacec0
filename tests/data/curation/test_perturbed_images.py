"""Curation of questions about perturbed images: each image is written once, and its record names the defect."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Sample
from lmod_train.data.curation import pipeline
from lmod_train.data.curation import pipeline as results
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.journal import NAME
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.prepare import COLOURS, Plan, Prepared, prepare
from lmod_train.data.curation.records import records_of
from lmod_train.data.curation.sample_keys import key_problem
from tests.data.curation.test_showing import one, show
from tests.data.curation.world import Discs, Glaucoma, Regions, photograph, tree

QUIET = {"longest_side": 100, "workers": 1, "progress": False, "balance": []}
DEFECTS = ("blur-4", "crop-3", "shadow-5")


class Spoiled(Regions):
    """Boxes on images that each have a defect, by number; every fourth photograph is as it is."""

    def ask(self, sample):
        name = (*DEFECTS, "")[int(sample.key[-3:]) % 4]
        yield from (replace(question, perturbation=name) for question in super().ask(sample))


class SpoiledGlaucoma(Glaucoma):
    """The same images without boxes, for another task."""

    def ask(self, sample):
        name = (*DEFECTS, "")[int(sample.key[-3:]) % 4]
        yield from (replace(question, perturbation=name) for question in super().ask(sample))


TASKS = [Spoiled(), SpoiledGlaucoma()]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Discs.write(tmp_path_factory.mktemp("raw"), 16)


@pytest.fixture(scope="module")
def curated(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated") / "out"
    curate([source], TASKS, out, **QUIET)
    return out


def pixels(file):
    return np.asarray(Image.open(file)).astype(float)


def test_a_record_names_its_image_and_the_defect(curated):
    records = read_records(curated / "records")
    assert len(records) == 32
    for record in records:
        name = (*DEFECTS, "")[int(record.key[-3:]) % 4]
        stem, marked = f"images/discs/{record.key}{name and '.'}{name}", record.task == "regions"
        assert record.image == (f"{stem}{'.marked' if marked else ''}.jpg",) and record.image_plain == (f"{stem}.jpg",)
        assert record.image_sha256 == (sha256_of(curated / record.image[0]),)
        kind, _, grade = name.rpartition("-")
        assert record.tags == ({"perturbation": kind, "grade": grade} if name else {})


def test_images_that_no_record_shows_are_removed(curated):
    shown = {p for r in read_records(curated / "records") for p in (*r.image, *r.image_plain)}
    files = {f.relative_to(curated).as_posix() for f in (curated / "images").rglob("*") if f.is_file()}
    assert files == shown and len(files) == 32 == read_manifest(curated)["images"]["files"]


def test_boxes_are_drawn_on_the_perturbed_image(curated):
    blurred = [r for r in read_records(curated / "records" / "regions.parquet") if r.tags.get("perturbation") == "blur"]
    assert len(blurred) == 4
    for record in blurred:
        shown, plain = pixels(curated / record.image[0]), pixels(curated / record.image_plain[0])
        for region in record.regions:
            y = round((region.box.y0 + region.box.y1) / 2 * record.scale)
            x0, x1 = round(region.box.x0 * record.scale), round(region.box.x1 * record.scale)
            row, colour = shown[y, x0 - 6 : x1 + 6], COLOURS[region.id - 1]
            assert np.abs(row - colour).max(axis=1).min() < 40, "a frame is not blurred with its image"
            assert np.abs(plain[y, x0 - 6 : x1 + 6] - row).max() > 60


def test_a_cut_field_keeps_the_coordinates(source, tmp_path):
    sample = next(s for s in source.samples() if s.key.endswith("p001"))
    done = prepare(replace(sample, source="s"), Plan(tmp_path, 0, None, BoxFilter(), {"s": 0.0}, (Spoiled(),)))
    assert set(done.perturbed) == {"crop-3", "crop-3.marked"} and done.marked == ""
    plain, cut = (pixels(tmp_path / f"images/s/train/p001{ending}.jpg") for ending in ("", ".crop-3"))
    black = cut.max(axis=2) < 20
    assert plain.shape == cut.shape and 0.1 < black.mean() < 0.4
    inside = np.roll(black, (8, 8), (0, 1)) | np.roll(black, (-8, -8), (0, 1)) | black
    assert np.abs(plain - cut).max(axis=2)[~inside].max() < 25  # but for JPEG
    assert Prepared.of(json.loads(json.dumps(asdict(done)))) == done


@pytest.mark.slow
def test_workers_and_another_start_give_the_same_bytes(source, curated, tmp_path):
    curate([source], TASKS, tmp_path / "two", **QUIET | {"workers": 2})
    assert tree(tmp_path / "two") == tree(curated)


def test_only_what_is_missing_is_made_anew(source, curated, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results, "write_records", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        curate([source], TASKS, tmp_path / "out", **QUIET)
    assert (tmp_path / "out" / NAME).exists()
    (tmp_path / "out/images/discs/train/p002.shadow-5.jpg").write_bytes(b"cut short")
    (tmp_path / "out/images/discs/train/p004.blur-4.marked.jpg").unlink()
    made = []

    def counted(samples, plan):
        made.extend(s.key for s in samples)
        return [prepare(s, plan) for s in samples]

    monkeypatch.setattr(pipeline, "prepare_all", counted)
    curate([source], TASKS, tmp_path / "out", **QUIET)
    assert made == ["train/p002", "train/p004"] and tree(tmp_path / "out") == tree(curated)


def test_another_image_is_another_perturbed_one_and_a_foreign_one_has_no_defect():
    questions = [one("1", "a", perturbation="blur-4"), one("2", "b", perturbation="crop-3")]
    shown, _ = show(questions)
    assert [a.pictures[0].shown for a in shown] == ["images/s/2.crop-3.jpg", "images/s/1.blur-4.jpg"]
    none, _ = show([one("1", "a", shows="none", perturbation="blur-4")])
    records = records_of([replace(a, task=Glaucoma()) for a in shown])
    assert [r.tags for r in records] == [{"perturbation": "crop", "grade": "3"}, {"perturbation": "blur", "grade": "4"}]
    assert records_of([replace(none[0], task=Glaucoma())])[0].tags == {}


def test_a_perturbation_that_does_not_exist_is_refused(source, tmp_path):
    class Hazy(Glaucoma):
        def ask(self, sample):
            yield from (replace(question, perturbation="haze-2") for question in super().ask(sample))

    with pytest.raises(BadArgument, match="perturbation='haze-2'"):
        curate([source], [Hazy()], tmp_path / "out", **QUIET)


def test_a_sample_without_an_image_of_its_own_cannot_be_perturbed():
    with pytest.raises(LmodError, match="own image, which would be perturbed, is not shown"):
        one("1", "a", perturbation="blur-4", own=False)


@pytest.mark.parametrize("key", ["a.blur-3", "a/b.crop-1", "a.resolution-9"])
def test_keys_that_end_like_a_perturbed_image_are_refused(key, tmp_path):
    assert key_problem(key)[0] == "key_unusable"
    assert key_problem("a.blur-3/b") is None and key_problem("a.haze-3") is None


def test_unperturbed_curations_are_as_they_were(source, tmp_path):
    photograph(tmp_path / "a.png", 1)
    done = prepare(
        Sample("s", "a", "LP", tmp_path / "a.png", "g", "CC0"),
        Plan(tmp_path, 0, None, BoxFilter(), {"s": 0.0}, (Glaucoma(),)),
    )
    assert done.perturbed == {} and list(done.curated) == ["images/s/a.jpg"]
