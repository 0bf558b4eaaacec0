import shutil

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Box, Dropped
from lmod_train.data.sources.idrid import Idrid
from tests.data.sources.boxed import boxed, drops, samples
from tests.drawn.idrid import photographs, truths, write
from tests.tabled import tabled

N, SEED, SIZE = 12, 5, 96


@pytest.fixture(scope="module")
def drawn_idrid(tmp_path_factory):
    raw = tmp_path_factory.mktemp("idrid")
    write(raw, N, SEED, size=SIZE, workers=0)
    return raw / "IDRiD"


@pytest.fixture
def copy(drawn_idrid, tmp_path):
    return shutil.copytree(drawn_idrid, tmp_path / "any name")


def content(source):
    return [(k, s.labels, [m.path.name for m in s.masks], s.outlines) for k, s in samples(source).items()]


def only(root, name):
    (path,) = root.rglob(name)
    return path


@tabled("options", [{}, {"lesions": True}, {"disc_size": None, "fovea_side": 500}, {"disc_size": (900, 300)}])
def test_reading_gives_the_truths_back(drawn_idrid, options):
    source = Idrid(drawn_idrid, **options)
    expected = truths(N, SEED, size=SIZE, **options)
    found = samples(source)
    assert [*found] == [t.key for t in expected] and drops(source) == {}
    for truth in expected:
        sample = found[truth.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        assert boxed(sample) == set(truth.boxes)


def test_numbers_start_again_in_every_split_and_part(drawn_idrid):
    keys = [*samples(Idrid(drawn_idrid))]
    assert {"A/train/IDRiD_01", "A/test/IDRiD_03", "BC/train/IDRiD_001", "BC/test/IDRiD_001"} < set(keys)
    assert len(keys) == N


def test_without_part_a_there_are_the_photographs_that_lmod_counts(drawn_idrid, tmp_path):
    found = samples(Idrid(drawn_idrid, part_a=False))
    assert [*found] == [t.key for t in truths(N, SEED, size=SIZE) if t.key.startswith("BC/")]
    assert drops(Idrid(drawn_idrid, part_a=False)) == {}
    alone = shutil.copytree(drawn_idrid / "A. Segmentation", tmp_path / "only" / "A. Segmentation").parent
    assert samples(Idrid(alone))
    with pytest.raises(SourceNotFound):
        samples(Idrid(alone, part_a=False))


def test_boxes_have_the_published_pixels_at_the_published_width(tmp_path):
    places = {p: tmp_path / "C. Localization" / p for p in ("1. Original Images/a. Training Set", "2. Groundtruths")}
    for place in places.values():
        place.mkdir(parents=True)
    image = places["1. Original Images/a. Training Set"] / "IDRiD_007.jpg"
    Image.new("RGB", (4288, 2848)).save(image, quality=10)
    for name, point in (
        ("IDRiD_Fovea_Center_Training Set_Markups", "2000,1500"),
        ("a. IDRiD_OD_Center_Training Set_Markups", "150,1000"),
    ):
        (places["2. Groundtruths"] / f"{name}.csv").write_text(
            f"Image No,X- Coordinate,Y - Coordinate\nIDRiD_007,{point}\n"
        )
    (sample,) = samples(Idrid(tmp_path)).values()
    assert boxed(sample) == {("fovea", Box(1900, 1400, 2100, 1600)), ("optic disc", Box(0, 750, 450, 1250))}
    Image.new("RGB", (1072, 712)).save(image)
    (dropped,) = [d for d in Idrid(tmp_path).samples() if isinstance(d, Dropped) and d.reason == "point outside"]
    assert dropped.extent == "part" and "fovea at (2000, 1500)" in dropped.detail and "1072x712" in dropped.detail
    (sample,) = samples(Idrid(tmp_path)).values()
    assert sample.outlines == ()


def test_each_part_alone_gives_what_it_holds(drawn_idrid, tmp_path):
    whole = samples(Idrid(drawn_idrid))
    for part, name in (("A", "A. Segmentation"), ("B", "B. Disease Grading"), ("C", "C. Localization")):
        root = tmp_path / part
        shutil.copytree(drawn_idrid / name, root / name.replace(" ", "%20") / name)
        assert Idrid.found_in(root) and keys(root) == [(other, "missing folder") for other in "ABC" if other != part]
        found = samples(Idrid(root))
        assert [*found] == [key for key in whole if (key[0] == "A") == (part == "A")]
        for key, sample in found.items():
            assert sample.labels == ({} if part == "C" else whole[key].labels)
            assert sample.outlines == (() if part == "B" else whole[key].outlines)
            assert len(sample.masks) == (part == "A")


def test_colour_and_one_bit_masks_give_the_same_boxes(copy):
    before = {k: boxed(s) for k, s in samples(Idrid(copy, lesions=True)).items()}
    for i, path in enumerate(sorted(copy.rglob("*.tif"))):
        image = Image.open(path)
        inside = Image.fromarray(np.asarray(image) > 0)
        (inside if i % 2 else image.convert("RGB")).save(path)
    assert {k: boxed(s) for k, s in samples(Idrid(copy, lesions=True)).items()} == before


def test_missing_masks_and_damaged_photographs_drop_nothing_else(copy):
    before = {k: boxed(s) for k, s in samples(Idrid(copy)).items()}
    only(copy, "IDRiD_01_OD.tif").unlink()
    torn = samples(Idrid(copy))["BC/train/IDRiD_002"].image
    for part in ("B. Disease Grading", "C. Localization"):
        (copy / part / torn.relative_to(copy / "B. Disease Grading")).write_bytes(b"\xff\xd8 torn")
    after = {k: boxed(s) for k, s in samples(Idrid(copy)).items()}
    assert after == before | {"A/train/IDRiD_01": set(), "BC/train/IDRiD_002": "image_unreadable"}
    assert keys(copy) == [("A/train/IDRiD_01", "missing optic disc mask")]


@pytest.mark.parametrize("changed", ["cut", "one byte", "another photograph"])
def test_photographs_that_differ_in_b_and_c_have_different_keys(copy, changed):
    before = samples(Idrid(copy))
    whole = before.pop("BC/train/IDRiD_002")
    other = copy / "C. Localization" / whole.image.relative_to(copy / "B. Disease Grading")
    content = other.read_bytes()
    if changed == "another photograph":
        shutil.copy(before["BC/train/IDRiD_001"].image, other)
    else:
        other.write_bytes(content[:-9] if changed == "cut" else content[:99] + bytes([content[99] ^ 1]) + content[100:])
    found = samples(Idrid(copy))
    graded, pointed = found.pop("B/train/IDRiD_002"), found.pop("C/train/IDRiD_002")
    assert found == before
    assert (graded.image, graded.labels, graded.outlines) == (whole.image, whole.labels, ())
    assert (pointed.image, pointed.labels, pointed.outlines) == (other, {}, whole.outlines)
    assert {graded.group, pointed.group} == {whole.group} and whole.outlines and whole.labels
    (dropped,) = [d for d in Idrid(copy).samples() if isinstance(d, Dropped)]
    assert (dropped.file, dropped.reason) == (other.relative_to(copy).as_posix(), "B and C differ")
    assert "B/train/IDRiD_002 and C/train/IDRiD_002" in dropped.detail


def test_masks_and_rows_without_photograph_are_listed(copy):
    only(copy, "IDRiD_03.jpg").unlink()
    for path in copy.rglob("IDRiD_002.jpg"):
        if path.parent.name.startswith("b."):
            path.unlink()
    assert keys(copy) == [
        ("A/test", "missing split"),
        ("all/soft exudates", "missing folder"),
        ("BC/test/idrid_002", "missing photograph"),
    ]


def test_damaged_rows_and_tables_are_listed_and_the_rest_is_read(copy):
    whole = samples(Idrid(copy))
    grading = only(copy, "a. IDRiD_Disease Grading_Training*")
    grading.write_text(
        grading.read_text().replace("IDRiD_001,", "IDRiD_001,9").replace("IDRiD_002,", "IDRiD_002,\u00e9"),
        encoding="cp1252",
    )
    only(copy, "a. IDRiD_OD_Center*").write_bytes(b"\x00\x01")
    fovea = only(copy, "IDRiD_Fovea_Center_Training*")
    fovea.write_text(fovea.read_text().replace("IDRiD_003,", "IDRiD_003,x"))
    assert drops(Idrid(copy)) == {
        (grading.name, "unreadable row"): 2,
        ("a. IDRiD_OD_Center_Training Set_Markups.csv", "unreadable sheet"): 1,
        (fovea.name, "unreadable row"): 1,
    }
    for key, sample in samples(Idrid(copy)).items():
        if key.startswith("BC/train"):
            lost = {"icdr"} if key[-1] in "12" else set()
            assert sample.labels == {k: v for k, v in whole[key].labels.items() if k not in lost}
            assert [o.structure for o in sample.outlines] == ([] if key[-1] == "3" else ["fovea"])
        else:
            assert sample == whole[key]


def test_a_grade_other_than_published_columns_is_listed(copy):
    path = only(copy, "b. IDRiD_Disease Grading_Testing*")
    path.write_text("Image name,DR\nIDRiD_001,2\n")
    (dropped,) = [d for d in Idrid(copy).samples() if isinstance(d, Dropped)]
    assert dropped.reason == "unreadable sheet" and "it has imagename, dr" in dropped.detail


def test_clutter_is_ignored_and_strays_are_listed(copy):
    before = content(Idrid(copy))
    image = samples(Idrid(copy))["A/train/IDRiD_01"].image
    for name in ("._IDRiD_01.jpg", "Thumbs.db", "IDRiD_01.jpg:Zone.Identifier", "index.html"):
        (image.parent / name).write_bytes(b"")
    (copy / "__MACOSX").mkdir()
    (copy / "__MACOSX" / "IDRiD_09.jpg").write_bytes(b"")
    (copy / "LICENSE.txt").write_bytes(b"")
    assert content(Idrid(copy)) == before and drops(Idrid(copy)) == {}
    shutil.copy(image, image.with_suffix(".png"))
    shutil.copy(image, copy / "IDRiD_77.jpg")
    shutil.copy(image, image.parents[1] / "IDRiD_78.jpg")
    (image.parent / "notes.txt").write_bytes(b"")
    (image.parent / "other.csv").write_text("a,b\n1,2\n")
    assert content(Idrid(copy)) == before
    assert drops(Idrid(copy)) == {
        ("IDRiD_01.png", "same key twice"): 1,
        ("IDRiD_77.jpg", "not of IDRiD"): 1,
        ("IDRiD_78.jpg", "stray file"): 1,
        ("notes.txt", "stray file"): 1,
        ("other.csv", "stray file"): 1,
    }


def test_doubled_folders_give_the_same(drawn_idrid, tmp_path):
    shutil.copytree(drawn_idrid, tmp_path / "IDRiD" / "IDRiD")
    assert Idrid.found_in(tmp_path / "IDRiD") and not Idrid.found_in(tmp_path)
    assert content(Idrid(tmp_path / "IDRiD")) == content(Idrid(drawn_idrid))


def test_invalid_lengths_are_refused():
    for wrong in ({"fovea_side": 0}, {"disc_size": (600, -1)}):
        with pytest.raises(BadArgument, match=f"{next(iter(wrong))}="):
            Idrid(**wrong)


def test_folders_without_photographs_are_an_error(copy):
    for path in copy.rglob("*.jpg"):
        path.unlink()
    with pytest.raises(SourceNotFound, match="every photograph"):
        Idrid(copy).verify()


def test_every_grade_is_there():
    assert {one.grade for one in photographs(N, SEED, SIZE) if one.part == "BC"} == set(range(5))


def keys(root):
    return [(d.key, d.reason) for d in Idrid(root).samples() if isinstance(d, Dropped)]


def test_photographs_that_a_table_leaves_out_are_listed(copy):
    (table,) = copy.rglob("b. IDRiD_OD_Center_Testing Set_Markups.csv")
    lines = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(lines[:2]), encoding="utf-8")
    listed = [key for key in samples(Idrid(copy)) if key.startswith("BC/test")]
    assert keys(copy) == [(key, "missing row of optic disc centres") for key in listed[1:]] and len(listed) > 1


def test_rows_of_photographs_that_were_not_downloaded_are_listed_once_for_all_tables(copy):
    for table in (*copy.rglob("a. IDRiD_*.csv"), *copy.rglob("IDRiD_Fovea*Training*.csv")):
        with table.open("a", encoding="utf-8") as file:
            file.writelines(f"IDRiD_{number},1,1\n" for number in range(101, 131))
    assert keys(copy) == [(f"BC/train/idrid_{number}", "missing photograph") for number in range(101, 131)]


def test_a_table_without_rows_lists_no_photograph(copy):
    (table,) = copy.rglob("a. IDRiD_OD_Center_Training Set_Markups.csv")
    table.write_text("Image No,X- Coordinate,Y - Coordinate\n", encoding="utf-8")
    assert [reason for _, reason in keys(copy)] == ["unreadable sheet"]
