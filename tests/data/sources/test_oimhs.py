import csv
import shutil

import numpy as np
import pytest
from openpyxl import Workbook, load_workbook
from PIL import Image

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.sources.oimhs import EyeRow, Oimhs, read_eyes, read_quality
from lmod_train.data.sources.sheets import UnreadableSheet
from lmod_train.phantom.folders.oimhs import truths, write
from tests.data.sources.boxed import boxed

SIZE, N, SEED = 64, 14, 5  # 14 scans: three eyes with 4, one with 2
EYES, QUALITY = "Demographics of the participants", "Quality Assessment"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("oimhs")
    write(out, N, SEED, size=SIZE, workers=0)
    return out / "OIMHS_dataset"


@pytest.fixture
def copy(written, tmp_path):
    return shutil.copytree(written, tmp_path / "any name")


def samples(root, **options):
    return {s.key: s for s in Oimhs(root, **options).samples() if isinstance(s, Sample)}


def keys(root):
    return [(d.key, d.reason) for d in Oimhs(root).samples() if isinstance(d, Dropped)]


def drops(root):
    return [(d.file, d.reason, d.detail) for d in Oimhs(root).samples() if isinstance(d, Dropped)]


def rewrite(path, change):
    """Change the rows of a workbook, header first."""
    rows = [list(row) for row in load_workbook(path).active.iter_rows(values_only=True)]
    book = Workbook()
    for row in change(rows):
        book.active.append(row)
    book.save(path)


def to_csv(path, encoding="utf-8"):
    rows = [["" if v is None else v for v in row] for row in load_workbook(path).active.iter_rows(values_only=True)]
    with path.with_suffix(".csv").open("w", newline="", encoding=encoding) as text:
        csv.writer(text).writerows(rows)
    path.unlink()


def test_reading_and_boxing_give_the_truth_back(written):
    found = samples(written)
    expected = truths(N, SEED, size=SIZE)
    assert [*found] == [t.key for t in expected] and len(expected) == N
    for truth in expected:
        sample = found[truth.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        assert boxed(sample) == set(truth.boxes)
    assert drops(written) == []
    assert {structure for t in expected for structure, _ in t.boxes} == {
        "choroid",
        "retina",
        "intraretinal cysts",
        "macular hole",
    }


def test_the_image_is_only_the_left_half(written):
    sample = samples(written)["1/0"]
    image, whole = open_image(sample).image, np.asarray(Image.open(sample.image))
    assert image.size == (SIZE, SIZE) and whole.shape == (SIZE, 2 * SIZE, 3)
    assert (np.asarray(image) == whole[:, :SIZE]).all()


def test_both_eyes_of_a_patient_are_one_group(written):
    groups = {key.split("/")[0]: sample.group for key, sample in samples(written).items()}
    assert groups == {"1": "1", "2": "2", "3": "2", "4": "3"}


def test_scans_come_in_order_of_numbers_padded_or_not(copy):
    before = samples(copy)
    some = before["1/0"].image
    shutil.copy(some, some.with_name("10.png"))
    assert [k for k in samples(copy) if k.startswith("1/")] == ["1/0", "1/1", "1/2", "1/3", "1/10"]
    (copy / "Images" / "1").rename(copy / "Images" / "001")
    for name in ("0", "1", "2", "3", "10"):
        (copy / "Images" / "001" / f"{name}.png").rename(copy / "Images" / "001" / f"{int(name):04d}.png")
    padded = samples(copy)
    assert [*padded][:5] == ["1/0", "1/1", "1/2", "1/3", "1/10"]
    assert {k: (s.group, s.labels, s.patient) for k, s in padded.items() if k in before} == {
        k: (s.group, s.labels, s.patient) for k, s in before.items()
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_tables_as_csv_with_headers_spelled_differently_give_the_same(copy, encoding):
    before = samples(copy)
    rewrite(copy / f"{EYES}.xlsx", lambda rows: [[f" {h.upper()} " for h in rows[0]], *rows[1:], [None] * 6])
    rewrite(copy / f"{QUALITY}.xlsx", lambda rows: [[h.replace(" ", "_") for h in rows[0]], *rows[1:]])
    for title in (EYES, QUALITY):
        to_csv(copy / f"{title}.xlsx", encoding)
    (copy / f"{EYES}.csv").rename(copy / "Demographics%20of%20the%20participants.csv")
    assert samples(copy) == before and drops(copy) == []


@pytest.mark.parametrize("place", ["OIMHS_dataset/Images", "x/y/Images", "Images/Images", "any name/Images"])
def test_images_are_found_some_levels_down(copy, place):
    expected = {k: (s.group, s.labels, s.patient) for k, s in samples(copy).items()}
    (copy / "Images").rename(copy / "moved")
    (copy / place).parent.mkdir(parents=True)
    (copy / "moved").rename(copy / place)
    assert {k: (s.group, s.labels, s.patient) for k, s in samples(copy).items()} == expected
    assert drops(copy) == [] and Oimhs.found_in(copy)


def test_a_missing_table_drops_its_labels_and_is_listed(copy):
    (copy / f"{EYES}.xlsx").unlink()
    found = samples(copy)
    assert len(found) == N and all(s.labels == {} and s.patient.age is None for s in found.values())
    assert {s.group for s in found.values()} == {"eye 1", "eye 2", "eye 3", "eye 4"}
    assert all(s.patient.quality for s in found.values())
    assert [d[:2] for d in drops(copy)] == [("Images", "missing table")]
    (copy / f"{QUALITY}.xlsx").unlink()
    assert all(s.patient.quality is None for s in samples(copy).values())
    assert [d[:2] for d in drops(copy)] == [("Images", "missing table")] * 2


def test_a_damaged_table_is_listed_and_a_second_one_read_in_its_place(copy):
    whole = samples(copy)
    shutil.copy(copy / f"{EYES}.xlsx", copy / "kept.xlsx")
    to_csv(copy / f"{EYES}.xlsx")
    (copy / f"{EYES}.xlsx").write_bytes((copy / "kept.xlsx").read_bytes()[:400])
    (copy / f"{QUALITY}.xlsx").write_bytes(b"PK\x03\x04 torn")
    (copy / "kept.xlsx").unlink()
    found = samples(copy)
    assert {k: s.labels for k, s in found.items()} == {k: s.labels for k, s in whole.items()}
    assert all(s.patient.quality is None for s in found.values())
    assert [d[:2] for d in drops(copy)] == [
        (f"{EYES}.xlsx", "unreadable sheet"),
        (f"{QUALITY}.xlsx", "unreadable sheet"),
    ]


def test_a_table_twice_is_read_once_and_a_wrong_header_is_listed(copy):
    before = samples(copy)
    shutil.copy(copy / f"{EYES}.xlsx", copy / "Images" / f"{EYES}.xlsx")
    assert samples(copy) == before
    assert [d[:2] for d in drops(copy)] == [(f"{EYES}.xlsx", "table read already")]
    rewrite(copy / f"{QUALITY}.xlsx", lambda rows: [["Eye", *rows[0][1:]], *rows[1:]])
    assert [(f, r, "Eye ID" in d) for f, r, d in drops(copy)][1:] == [(f"{QUALITY}.xlsx", "unreadable sheet", True)]


def test_invalid_values_are_listed_one_by_one_and_the_rest_is_read(copy):
    def change(rows):
        rows[1][5], rows[1][3] = 0, "unknown"  # eye 1: stage 0, age in words
        rows[2][4], rows[2][2] = "x", "left?"  # eye 2: sex and side
        rows[3][0], rows[3][5] = None, 5  # eye 3: no patient, stage 5
        return [*rows, [9, 99, "OD", 60, "Male", 3], [9, "eye", "OD", 60, "Male", 3]]

    rewrite(copy / f"{EYES}.xlsx", change)
    found = samples(copy)
    eye1, eye2, eye3, eye4 = (found[f"{i}/0"] for i in (1, 2, 3, 4))
    assert (eye1.labels, eye1.patient.age, eye1.patient.sex is None) == ({}, None, False)
    assert (eye2.patient.sex, eye2.patient.laterality, len(eye2.labels)) == (None, None, 1)
    assert (eye3.group, eye3.labels) == ("eye 3", {})
    assert eye4 == samples(copy)["4/0"] and eye4.labels and eye4.patient.age
    listed = [detail for _, reason, detail in drops(copy) if reason == "unreadable label"]
    assert [d.split(",")[0] for d in listed] == [
        "eye 1: Stage '0'",
        "eye 1: Age(years) 'unknown'",
        "eye 2: Sex 'x'",
        "eye 2: Eye category 'left?'",
        "eye 3: no Patient ID; the eye is a group of its own",
        "eye 3: Stage '5'",
        "row 6: Eye ID 'eye' is not an integer",
    ]
    assert [key for key, reason in keys(copy) if reason == "missing scan"] == ["99"]


def test_quality_is_given_in_words_and_odd_flags_are_listed(tmp_path):
    file = tmp_path / "q.csv"
    header = "Eye ID,Image ID,Low signal strength,Signal shield,Image blur\n"
    file.write_text(header + "1,0,1,1,1\n1,01.png,0,1,0\n2,0,0,0,0\n2,1,2,0,0\n2,2,0,0,0\n2,2,1,0,0\n2,3,0,0,0,7\n")
    found, problems = read_quality(file)
    assert found == {
        ("1", "0"): "signal strength low; signal shield; blurred",
        ("1", "1"): "signal shield",
        ("2", "0"): "no defect noted",
    }
    assert [p.split(",")[0] for p in problems[:1]] == ["eye 2"] and "'2'" in problems[0]
    assert "values do not fit the columns" in problems[1] and problems[2] == "eye 2, scan 2: rows that differ"
    file.write_text(header.replace(",Image blur", "") + "1,0,1,1\n")
    with pytest.raises(UnreadableSheet, match="Image blur"):
        read_quality(file)


def test_an_eye_with_rows_that_differ_and_a_table_without_a_column(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("Patient ID,Eye ID,Eye category,Age(years),Sex\n1,1,OD,60,Female\n1,1,OD,60,Female\n2,2,OS,50,M\n")
    found, problems = read_eyes(file)
    assert found == {"1": EyeRow("1", "right", 60.0, "female"), "2": EyeRow("2", "left", 50.0, "male")}
    assert problems == ["no column 'Stage'"]
    file.write_text("Patient ID,Eye ID,Eye category,Age(years),Sex,Stage\n1,1,OD,60,Female,2\n1,1,OS,60,Female,2\n")
    assert read_eyes(file) == ({}, ["eye 1: rows that differ"])
    file.write_text("Patient ID,Eye ID,Eye category,Age(years),Sex,Stage\n")
    assert read_eyes(file) == ({}, [])


def test_strays_are_listed_and_clutter_is_not(copy):
    some = copy / "Images" / "1" / "0.png"
    strays = ("Images/1/0_crop.png", "Images/1/Cropped 2.png", "Images/1/mean.png", "Images/1/4.jpg", "Images/x/0.png")
    for name in (*strays, "Images/1/00.png", "notes.txt", "Images/1/._0.png", "Images/Thumbs.db", "index.html"):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(some, copy / name)
    shutil.copy(some, copy / "Images" / "1" / "0.png:Zone.Identifier")
    (copy / "__MACOSX" / "Images" / "1").mkdir(parents=True)
    assert len(samples(copy)) == N
    listed = drops(copy)
    assert sorted(f for f, r, _ in listed if r == "stray file") == sorted([*strays, "notes.txt"])
    assert [f for f, r, _ in listed if r == "same key twice"] == ["Images/1/00.png"] and len(listed) == 7
    assert [d for f, _, d in listed if "crop" in f.lower()] == [
        "a crop ('crop' in its name), made from another image"
    ] * 2


def test_other_colours_are_refused_or_background_by_option(copy):
    before = {k: boxed(s) for k, s in samples(copy).items()}
    file = samples(copy)["2/1"].image
    pixels = np.array(Image.open(file))
    pixels[0, -1], pixels[1, -2] = (255, 0, 255), (1, 1, 1)
    Image.fromarray(pixels).save(file)
    after = {k: boxed(s) for k, s in samples(copy).items()}
    assert after.pop("2/1") == "mask_coding_unknown" and after == {k: b for k, b in before.items() if k != "2/1"}
    assert {k: boxed(s) for k, s in samples(copy, other_colours="background").items()} == before
    with pytest.raises(BadArgument, match="other_colours='ignore'"):
        Oimhs(copy, other_colours="ignore")


def test_a_truncated_scan_drops_only_itself(copy):
    file = copy / "Images" / "1" / "2.png"
    file.write_bytes(file.read_bytes()[:300])
    reasons = {k: open_image(s).reason for k, s in samples(copy).items() if isinstance(open_image(s), Dropped)}
    assert reasons == {"1/2": "image_unreadable"}


def test_no_numbered_eye_is_no_dataset(copy):
    for eye in (copy / "Images").iterdir():
        eye.rename(eye.with_name(f"case {eye.name}"))
    assert Oimhs.found_in(copy), "its two tables are there"
    (copy / f"{EYES}.xlsx").unlink()
    assert not Oimhs.found_in(copy)
    with pytest.raises(SourceNotFound, match="every scan"):
        Oimhs(copy).verify()


def test_eyes_and_scans_that_the_tables_leave_out_are_listed(copy):
    for title in (EYES, QUALITY):
        (file,) = copy.rglob(f"{title}.xlsx")
        book = load_workbook(file)
        sheet = book.worksheets[0]
        sheet.delete_rows(sheet.max_row)
        book.save(file)
    scans = [key for key in samples(copy) if key.startswith("4/")]
    assert keys(copy) == [*((key, "missing demographics") for key in scans), (scans[-1], "missing quality")]
