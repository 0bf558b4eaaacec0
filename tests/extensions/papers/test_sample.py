"""The authors' sample of LMOD+, in the columns of its public page, drawn here; its files were not at hand."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageDraw

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Box, Dropped, Reply, Sample
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import discover
from lmod_train.extensions.papers.sample import LmodPlusSample
from lmod_train.tasks.anatomy import Anatomy
from tests.contracts import SourceContract

BOXES = [
    ("Slit Knife", (343 / 1024, 0.84375, 417 / 1024, 1)),
    ("Pupil", (0.25, 302 / 768, 0.5, 0.75)),
    ("cornea1", (0, 0, 1, 1)),
]


def row(name="case5013_03", boxes=BOXES, **changes):
    rng = np.random.default_rng(sum(map(ord, name)))  # operations that are no copies of each other
    picture = Image.fromarray(rng.integers(0, 120, (6, 8, 3), dtype=np.uint8)).resize((1024, 768))
    for place, (_, corners) in enumerate(boxes):
        shape = [share * side for share, side in zip(corners, (1024, 768) * 2, strict=True)]
        ImageDraw.Draw(picture).rectangle(shape, outline=(255, 60 * place, 0), width=4)
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    keys = ("xmin", "ymin", "xmax", "ymax")
    return {
        "image_id": name, "dataset": "Cataract-1K", "modality": "SS", "image_type": "Cataract surgery RGB images",
        "image": {"bytes": file.getvalue(), "path": "VISUALIZATION.png"},
        "relative_path": f"subset_Cataract-1K/{name}/VISUALIZATION.png",
        "bboxes": [{"region_type": kind, **dict(zip(keys, corners, strict=True))} for kind, corners in boxes],
        **changes,
    }  # fmt: skip


def written(folder, *rows):
    (folder / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "data" / "train-00000-of-00001.parquet")
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "raw" / "LMOD-Plus-Sample", row(), row("case5013_14", BOXES[1:]), row("case5014_01"))


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, folder):
        return LmodPlusSample(folder, numbers="order")


def test_the_numbers_are_the_users_word(folder):
    with pytest.raises(
        BadArgument, match=r"(?s)no column states.*Next: if so, `python -m .* --config lmod_plus_sample"
    ):
        list(LmodPlusSample(folder).samples())
    with pytest.raises(SourceNotFound):
        LmodPlusSample(folder / "data" / "nowhere", numbers="order").verify()


def test_rows_become_records_whose_boxes_types_and_words_are_theirs(folder, tmp_path):
    found = discover(tmp_path / "raw").sources
    assert [type(source).name for source in found] == ["lmod_plus_sample"]
    curate([LmodPlusSample(folder, numbers="order")], [Anatomy()], tmp_path / "out", workers=1, progress=False)
    records = {r.key: r for r in read_records(tmp_path / "out" / "records")}
    assert set(records) == {"Cataract-1K/case5013_03", "Cataract-1K/case5013_14", "Cataract-1K/case5014_01"}
    one = records["Cataract-1K/case5013_03"]
    assert (one.source, one.modality, one.id) == (
        "lmod_plus_sample",
        "SS",
        "anatomy/lmod_plus_sample/Cataract-1K/case5013_03",
    )
    assert [(r.id, r.structure, r.box) for r in one.regions] == [
        (1, "slit knife", Box(343, 648, 417, 768)), (2, "pupil", Box(256, 302, 512, 576)),
        (3, "cornea1", Box(0, 0, 1024, 768)),
    ]  # fmt: skip
    assert "of type Cataract surgery RGB images" in one.messages[0].parts[1].text
    truth = Anatomy().parse(Reply(one.id, one.answer), one)
    assert truth == {1: "Slit Knife", 2: "Pupil", 3: "cornea1"}
    assert one.image == one.image_plain, "the image has its boxes drawn, and no second ones"
    with Image.open(tmp_path / "out" / one.image[0]) as shown:
        assert shown.size == (1024, 768) and shown.convert("RGB").getpixel((256, 400))[0] > 200
    groups = {key: r.group for key, r in records.items()}
    assert len(set(groups.values())) == 2 and groups["Cataract-1K/case5013_03"] == groups["Cataract-1K/case5013_14"]
    stated = read_manifest(tmp_path / "out")["sources"]["lmod_plus_sample"]
    assert stated["account"]["images"] == {"here": 3, "paper": 1000, "project page": 1076}
    assert stated["reference"] == LmodPlusSample.reference or "Euanyu" in str(stated)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"image": {"bytes": b"no picture", "path": "x"}}, "unreadable image"),
        ({"modality": "XX"}, "unknown modality"),
        ({"image_id": "../up"}, "unusable id"),
        ({"bboxes": []}, "no box"),
        ({"boxes": [("Elbow", (0, 0, 1, 1))]}, "unusable box"),
        ({"boxes": [("Pupil", (0, 0, 1.2, 1))]}, "unusable box"),
        ({"boxes": [("Pupil", (0.5, 0, 0.5, 1))]}, "unusable box"),
        ({"boxes": [("Pupil", (float("nan"), 0, 0.5, 1))]}, "unusable box"),
    ],
)
def test_a_row_that_cannot_be_used_is_listed(tmp_path, changes, reason):
    boxes = changes.pop("boxes", None)
    bad = row("case1_1", **changes)
    if boxes is not None:
        bad["bboxes"] = [{"region_type": k, "xmin": c[0], "ymin": c[1], "xmax": c[2], "ymax": c[3]} for k, c in boxes]
    source = LmodPlusSample(written(tmp_path / "raw", row(), bad, row()), numbers="order")
    good, drop, again = source.samples()
    assert isinstance(good, Sample) and isinstance(drop, Dropped)
    assert (drop.reason, again.reason) == (reason, "same id twice") and "row 2" in drop.detail


def test_another_table_is_not_it_and_a_damaged_one_is_passed_over(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    pq.write_table(pa.table({"image_id": ["1"]}), tmp_path / "b.parquet")
    assert not LmodPlusSample.found_in(tmp_path) and not LmodPlusSample.found_in(Path("nowhere"))
