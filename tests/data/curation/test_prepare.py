import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LinkInFolder
from lmod_train.core.types import Box, Outline, Region, Sample
from lmod_train.data.curation import pipeline as results
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.journal import NAME
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.prepare import COLOURS, Plan, Prepared, prepare, prepare_all
from tests.data.curation.world import Discs, Folders, Glaucoma, Regions, photograph, tree

QUIET = {"longest_side": 100, "workers": 1, "progress": False, "balance": []}


def plan(out, *tasks):
    return Plan(out, 0, None, BoxFilter(), {"s": 0.0}, tasks)


@pytest.fixture
def damaged(tmp_path):
    """Eight photographs, two of whose masks cannot be used."""
    source = Discs.write(tmp_path / "raw", 8)
    (tmp_path / "raw" / "masks" / "p002.bmp").unlink()
    Image.new("L", (160, 120), 7).save(tmp_path / "raw" / "masks" / "p005.bmp")
    return source


def test_a_bad_mask_costs_the_regions_only_and_is_counted_once(damaged, tmp_path):
    manifest = curate([damaged], [Regions(), Glaucoma()], tmp_path / "out", **QUIET)
    records = read_records(tmp_path / "out" / "records")
    keys = {task: {r.key for r in records if r.task == task} for task in ("regions", "glaucoma")}
    assert keys["glaucoma"] - keys["regions"] == {"train/p002", "train/p005"} and len(keys["glaucoma"]) == 8
    assert manifest["dropped"] == {"discs": {"boxes": {"mask_coding_unknown": 1, "mask_unreadable": 1}}}
    assert manifest["sources"]["discs"]["samples"] == 8 and manifest["sources"]["discs"]["files"] == 15
    with (tmp_path / "out" / "dropped.csv").open(newline="") as file:
        rows = [(r["key"], r["file"], r["step"], r["reason"]) for r in csv.DictReader(file)]
    assert rows == [
        ("train/p002", "masks/p002.bmp", "boxes", "mask_unreadable"),
        ("train/p005", "masks/p005.bmp", "boxes", "mask_coding_unknown"),
    ]
    assert not list((tmp_path / "out" / "images").rglob("p002.marked.jpg"))
    assert all(r.regions == () for r in records if r.task == "glaucoma")


def test_it_is_counted_once_also_by_a_second_start(damaged, tmp_path, monkeypatch):
    tasks = [Regions(), Glaucoma()]
    curate([damaged], tasks, tmp_path / "quiet", **QUIET)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results, "write_records", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        curate([damaged], tasks, tmp_path / "out", **QUIET)
    rows = [json.loads(line) for line in (tmp_path / "out" / NAME).read_text().splitlines()[1:]]
    assert [r["key"] for r in rows if r["listed"]] == ["train/p002", "train/p005"]
    assert all(asdict(Prepared.of(r)) == asdict(Prepared.of(json.loads(json.dumps(r)))) for r in rows)
    curate([damaged], tasks, tmp_path / "out", **QUIET)
    assert tree(tmp_path / "out") == tree(tmp_path / "quiet")
    assert read_manifest(tmp_path / "out")["dropped"]["discs"]["boxes"]["mask_unreadable"] == 1


def test_one_sample_with_a_bad_mask_keeps_its_image(damaged, tmp_path):
    bad = replace(next(s for s in damaged.samples() if s.key.endswith("p002")), source="s")
    done = prepare(bad, plan(tmp_path / "out", Regions()))
    assert done.dropped is None and done.regions == () and done.marked == "" and done.plain and done.thumbnail
    assert [one.reason for one in done.listed] == ["mask_unreadable"]
    assert Prepared.of(json.loads(json.dumps(asdict(done)))) == done


class Lids(Folders):
    """Two eyes in a picture: the same structures twice, as outlines, with a box that the source knows already."""

    name = "lids"
    known = (Region("eye", Box(2, 4, 158, 116)),)
    outlines = (
        Outline("pupil", ((30.0, 50.0), (44.0, 64.0))),
        Outline("pupil", ((110.0, 50.0), (124.0, 64.0))),
        Outline("iris", ((0.125, 0.25), (0.375, 0.75)), "side"),
        Outline("iris", ((0.625, 0.25), (0.875, 0.25), (0.75, 0.75)), "side"),
    )

    def samples(self):
        for sample in super().samples():
            yield replace(sample, source=self.name, outlines=self.outlines, regions=self.known)


TRUTH = {
    ("eye", Box(2, 4, 158, 116)),
    ("pupil", Box(30, 50, 44, 64)),
    ("pupil", Box(110, 50, 124, 64)),
    ("iris", Box(20, 30, 60, 90)),
    ("iris", Box(100, 30, 140, 90)),
}


def test_outlines_are_numbered_like_all_regions_and_a_structure_may_come_twice(tmp_path):
    Folders.write(tmp_path / "raw", 30)
    curate([Lids(tmp_path / "raw")], [Regions()], tmp_path / "out", **QUIET | {"longest_side": None})
    records = read_records(tmp_path / "out" / "records")
    assert len(records) == 30
    for record in records:
        assert {(r.structure, r.box) for r in record.regions} == TRUTH and len(record.regions) == 5
        assert [r.id for r in record.regions] == [1, 2, 3, 4, 5]
        assert record.answer == ", ".join(f"{r.id}: {r.structure}" for r in record.regions)
    first_pupil = {next(r.id for r in record.regions if r.box == Box(30, 50, 44, 64)) for record in records}
    assert first_pupil == {1, 2, 3, 4, 5}, "an id tells neither the structure nor which of two it is"


def test_every_one_of_them_is_framed_in_the_colour_of_its_number(tmp_path):
    photograph(tmp_path / "a.png", 1)
    sample = Sample("s", "a", "LP", tmp_path / "a.png", "g", "CC0", outlines=Lids.outlines)
    done = prepare(sample, plan(tmp_path / "out", Regions()))
    drawn = np.asarray(Image.open(tmp_path / "out" / "images" / "s" / "a.marked.jpg"), dtype=int)
    assert sorted(r.id for r in done.regions) == [1, 2, 3, 4]
    for region in done.regions:
        box, colour = region.box, COLOURS[region.id - 1]
        edge = drawn[box.y0 + 3 : box.y1 - 3, box.x0 - 4 : box.x0]
        assert (np.abs(edge - colour).max(axis=-1) < 60).any(axis=1).mean() > 0.5, region


def test_a_worker_writes_no_image_behind_a_link(damaged, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "images").symlink_to(tmp_path / "outside")
    sample = next(s for s in damaged.samples() if isinstance(s, Sample))
    with pytest.raises(LinkInFolder):
        prepare_all([replace(sample, source="s")], plan(tmp_path / "out", Glaucoma()))
    assert not list((tmp_path / "outside").rglob("*.jpg"))
