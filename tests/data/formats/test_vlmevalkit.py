"""VLMEvalKit's tables, read as its reader does: pandas, index, images by reference, options by letter."""

from __future__ import annotations

import ast
import base64
import io
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from lmod_train.data.formats.export import export
from lmod_train.data.formats.vlmevalkit import MISSING
from tests.data.formats.conftest import WORDS, record, talk, write_curated


def read(file: Path) -> pd.DataFrame:
    """Read a table by the reader's own rules, and give every row its images."""
    table = pd.read_csv(file, sep="\t")
    assert not table["image"].isna().any()  # such rows are passed over
    by_index = dict(zip(table["index"].astype(str), table["image"].astype(str), strict=True))
    for index, image in by_index.items():
        if len(image) <= 64:
            assert len(by_index[image]) > 64
            by_index[index] = by_index[image]
    images = [by_index[i] for i in table["index"].astype(str)]
    return table.assign(image=[ast.literal_eval(i) if i.startswith("[") else [i] for i in images])


def size_of(coded: str) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(coded))).size


def test_a_task_with_choices_is_multiple_choice(free: Path, tmp_path: Path):
    export(free, "vlmevalkit", tmp_path / "out")
    table = read(tmp_path / "out" / "lmod_glaucoma.tsv")
    assert list(table["index"]) == [0, 1, 2, 3]
    assert list(table["question"]) == [WORDS] * 4
    assert set(zip(table["A"], table["B"], strict=True)) == {("GLAUCOMA", "NON-GLAUCOMA")}
    assert list(table["answer"]) == ["A", "B", "A", "B"]
    assert list(table["split"]) == ["train", "train", "train", "test"]
    assert [size_of(i) for (i,) in table["image"]] == [(16, 12)] * 4
    assert (set(table["category"]), set(table["licence"])) == ({"CFP"}, {"CC BY 4.0"})


def test_regions_are_free_text_on_the_marked_image(free: Path, tmp_path: Path):
    export(free, "vlmevalkit", tmp_path / "out", tasks=["anatomy"])
    table = read(tmp_path / "out" / "lmod_anatomy.tsv")
    assert "A" not in table and "B" not in table
    assert table["answer"][0] == "Region ID: 1; Type: optic cup\nRegion ID: 2; Type: optic disc"
    marked = (free / "images/open_eyes/part/000.marked.jpg").read_bytes()
    assert base64.b64decode(table["image"][0][0]) == marked


def test_an_image_shown_again_is_held_once(tmp_path: Path):
    several = [record("glaucoma", n, image=("a.jpg",)) for n in range(3)] + [record("glaucoma", 3, image=("b.jpg",))]
    two = record("glaucoma", 4, image=("a.jpg", "b.jpg"))
    curated = write_curated(tmp_path / "c", [*several, two], open_eyes=True)
    export(curated, "vlmevalkit", tmp_path / "out")
    raw = pd.read_csv(tmp_path / "out" / "lmod_glaucoma.tsv", sep="\t", dtype=str)
    assert list(raw["image"][1:3]) == ["0", "0"]
    table = read(tmp_path / "out" / "lmod_glaucoma.tsv")
    a, b = (base64.b64encode((curated / name).read_bytes()).decode() for name in ("a.jpg", "b.jpg"))
    assert list(table["image"]) == [[a], [a], [a], [b], [a, b]]


def test_what_the_reader_cannot_ask_is_left_out(tmp_path: Path):
    words = tuple(type(m)("user", m.parts[1:]) for m in record("x", 0).messages)
    records = [
        record("glaucoma", 0),
        record("glaucoma", 1, image=(), messages=words),
        record("glaucoma", 2, choices=("None", "GLAUCOMA"), answer="None", task_class="nowhere.Known"),
        record("glaucoma", 3, answer="neither", task_class="nowhere.Known"),
        *talk(),
    ]
    curated = write_curated(tmp_path / "c", records, open_eyes=True)
    done = export(curated, "vlmevalkit", tmp_path / "out")
    assert done.left_out == {"several_turns": 1, "no_image": 1, "option_unreadable": 2}
    assert len(read(tmp_path / "out" / "lmod_glaucoma.tsv")) == 1


def test_pandas_reads_these_words_as_missing_and_no_others_of_ours():
    words = [*MISSING, "normal", "NORMAL", "TRUE", "no", "0", "inf"]
    table = pd.read_csv(io.StringIO("w\tx\n" + "".join(f"{w}\t1\n" for w in words)), sep="\t", dtype=str)
    assert list(table["w"].isna()) == [w in MISSING for w in words]


@pytest.mark.parametrize("images", ["none"])
def test_without_images_their_paths_stand_there(free: Path, tmp_path: Path, images):
    export(free, "vlmevalkit", tmp_path / "out", tasks=["glaucoma"], images=images)
    table = pd.read_csv(tmp_path / "out" / "lmod_glaucoma.tsv", sep="\t")
    assert "image" not in table and table["image_path"][0] == "images/open_eyes/part/000.jpg"
