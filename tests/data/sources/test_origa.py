import shutil

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Box, Dropped, Patient
from lmod_train.data.sources.g1020 import G1020
from lmod_train.data.sources.origa import Origa
from lmod_train.data.sources.refuge import Refuge
from tests.contracts import SourceContract
from tests.data.sources.boxed import boxed, drops, samples
from tests.drawn import g1020, refuge
from tests.drawn.origa import truths, write

LAYOUTS = ("kaggle", "detection", "original")
SIZE = 64


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    raw = tmp_path_factory.mktemp("origa")
    for layout in LAYOUTS:
        write(raw / layout, 6, seed=5, size=SIZE, layout=layout, workers=0)
    return {layout: next((raw / layout).iterdir()) for layout in LAYOUTS}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture
def copy(folders, layout, tmp_path):
    return shutil.copytree(folders[layout], tmp_path / "any name")


@pytest.fixture
def kaggle(folders, tmp_path):
    return shutil.copytree(folders["kaggle"], tmp_path / "any name")


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, folders, layout):
        return Origa(folders[layout])


def test_reading_gives_the_truths_back(folders, layout):
    for masks in ("any", "mat"):
        source = Origa(folders[layout], masks=masks)
        expected = truths(6, seed=5, size=SIZE, layout=layout)
        found = samples(source)
        assert [*found] == [t.key for t in expected] and drops(source) == {}
        for truth in expected:
            sample = found[truth.key]
            assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
            assert boxed(sample) == set(truth.boxes)


def test_masks_of_one_kind_only(folders):
    kinds = {
        m: {s.masks[0].path.suffix for s in samples(Origa(folders["kaggle"], masks=m)).values()}
        for m in ("any", "png", "mat")
    }
    assert kinds == {"any": {".png"}, "png": {".png"}, "mat": {".mat"}}
    assert all(s.masks == () for s in samples(Origa(folders["original"], masks="png")).values())
    with pytest.raises(BadArgument, match="masks='tif'"):
        Origa(masks="tif")


def test_the_disc_is_rim_and_cup(kaggle):
    codes = np.zeros((SIZE, SIZE * 3 // 2), dtype=np.uint8)
    codes[20:30, 40:50], codes[20:30, 50:60] = 1, 2  # a cup that reaches the disc's edge
    Image.fromarray(codes).save(kaggle / "Masks" / "001.png")
    savemat(kaggle / "Semi-automatic-annotations" / "001.mat", {"mask": codes})
    for masks in ("png", "mat"):
        found = boxed(samples(Origa(kaggle, masks=masks))["001"])
        assert found == {("optic disc", Box(40, 20, 60, 30)), ("optic cup", Box(50, 20, 60, 30))}


def test_the_other_mask_stands_in_for_a_missing_one(kaggle):
    (kaggle / "Masks" / "003.png").unlink()
    found = samples(Origa(kaggle))
    assert {k: s.masks[0].path.suffix for k, s in found.items() if k > "002"}["003"] == ".mat"
    assert boxed(found["003"]) == set(truths(6, seed=5, size=SIZE)[2].boxes)
    (kaggle / "Semi-automatic-annotations" / "003.mat").unlink()
    assert [k for k, s in samples(Origa(kaggle)).items() if not s.masks] == ["003"]
    assert drops(Origa(kaggle)) == {("003.jpg", "missing png mask"): 1, ("003.jpg", "missing mat mask"): 1}


def test_cropped_and_square_copies_are_never_mixed_in(kaggle):
    before = samples(Origa(kaggle))
    for name in ("Images_Cropped/001.jpg", "Images_Square/007.jpg", "Masks_Cropped/001.png", "Masks_Square/008.png"):
        (kaggle / name).parent.mkdir()
        shutil.copy(kaggle / "Images" / "002.jpg", kaggle / name)
    assert samples(Origa(kaggle)) == before and drops(Origa(kaggle)) == {}


def test_strays_are_listed_and_clutter_is_not(copy):
    images = samples(Origa(copy))["001"].image.parent
    masks = samples(Origa(copy))["001"].masks[0].path.parent
    for name in ("._001.jpg", "Thumbs.db", "001.jpg:Zone.Identifier", "index.html"):
        (images / name).write_bytes(b"")
    (images.parent / "__MACOSX").mkdir()
    (images.parent / "__MACOSX" / "009.jpg").write_bytes(b"")
    for place in (masks / "013.tif", images / "notes.txt", images.parent / "readme.md"):
        place.write_bytes(b"")
    shutil.copy(images / "001.jpg", images / "1.jpeg")
    listed = {("013.tif", "stray file"): 1, ("notes.txt", "stray file"): 1, ("readme.md", "stray file"): 1}
    assert drops(Origa(copy)) == {**listed, ("1.jpeg", "same key twice"): 1}
    assert len(samples(Origa(copy))) == 6


def test_masks_and_rows_without_photograph_are_listed(kaggle):
    (kaggle / "Images" / "002.jpg").unlink()
    assert drops(Origa(kaggle)) == {("002.png", "missing photograph"): 1}
    assert len(samples(Origa(kaggle))) == 5


def test_origa_info_fills_only_gaps_of_other_tables(kaggle):
    before = {k: s.labels for k, s in samples(Origa(kaggle)).items()}
    info = kaggle / "origa_info.csv"
    other = info.read_text().replace(",1\n", ",x\n").replace(",0\n", ",1\n").replace(",x\n", ",0\n")
    info.write_text(other)
    assert {k: s.labels for k, s in samples(Origa(kaggle)).items()} == before and drops(Origa(kaggle)) == {}
    (kaggle / "OrigaList.csv").unlink()
    turned = {"yes": "no", "no": "yes"}
    found = samples(Origa(kaggle))
    assert {k: s.labels for k, s in found.items()} == {
        k: {"glaucoma": turned[v["glaucoma"]]} for k, v in before.items()
    }
    assert {s.patient for s in found.values()} == {Patient()}


def test_damaged_values_are_listed_and_the_rest_is_read(kaggle):
    (kaggle / "origa_info.csv").unlink()
    rows = [
        "OD,001.jpg,0.7,A,1",
        "OS,002.jpg,0.5,A,maybe",
        "left,003.jpg,0.5,A,0",
        "OD,004.jpg,0,5,A,0",
        "OD,005.jpg,1,B,1",
    ]
    rows += ["OD,005.jpg,1,B,0", "OS,'006.jpg',1,B,"]
    (kaggle / "OrigaList.csv").write_bytes("\n".join(["Eye, Filename ,ExpCDR,Set,Glaucoma", *rows]).encode("utf-8-sig"))
    found = samples(Origa(kaggle))
    assert {k: s.labels.get("glaucoma") for k, s in found.items()} == {
        **{"001": "yes", "002": None, "003": "no", "004": None, "005": None, "006": None}
    }
    assert [s.patient.laterality for s in found.values()] == ["right", "left", None, None, None, "left"]
    details = [d.detail for d in Origa(kaggle).samples() if isinstance(d, Dropped)]
    assert [d.split(":")[0] for d in details[:4]] == ["002.jpg", "003.jpg", "004.jpg", "005.jpg"]
    left = [(d.key, d.reason) for d in Origa(kaggle).samples() if isinstance(d, Dropped)][4:]
    assert left == [("origa_info.csv", "missing table"), ("006", "missing label")]
    assert "'maybe' is neither 0 nor 1" in details[0] and "'left' is neither OD nor OS" in details[1]


def test_tables_that_contradict_each_other_leave_no_label(kaggle):
    first = samples(Origa(kaggle))["001"].labels["glaucoma"]
    (kaggle / "glaucoma.csv").write_text(f"ImageName,glaucoma\n001.jpg,{int(first == 'no')}\n")
    assert samples(Origa(kaggle))["001"].labels == {}
    assert drops(Origa(kaggle)) == {("glaucoma.csv", "unreadable label"): 1}


def test_a_damaged_table_drops_only_its_labels(copy, layout):
    table = {"kaggle": "OrigaList.csv", "detection": "glaucoma.csv", "original": "binary_labels.xlsx"}[layout]
    (copy / table).write_bytes(b"PK\x03\x04 torn")
    assert drops(Origa(copy)) == {(table, "unreadable sheet"): 1}
    labelled = [bool(s.labels) for s in samples(Origa(copy)).values()]
    assert labelled == [layout == "kaggle"] * 6  # origa_info.csv stands in


def test_a_table_without_known_label_column_is_listed_with_its_columns_and_the_option(kaggle):
    (kaggle / "origa_info.csv").unlink()
    (kaggle / "OrigaList.csv").write_text("Filename,Set,Finding (1=g)\n001.jpg,A,1\n002.jpg,B,0\n")
    listed, missing = [d for d in Origa(kaggle).samples() if isinstance(d, Dropped)]
    assert (missing.reason, missing.key) == ("missing table", "origa_info.csv")
    assert "filename, set, finding1g" in listed.detail and "label_column" in listed.detail
    read = samples(Origa(kaggle, label_column="Finding (1=g)"))
    assert [read[k].labels.get("glaucoma") for k in ("001", "002", "003")] == ["yes", "no", None]


def test_damaged_masks_are_reported_by_curation_and_the_rest_is_read(kaggle):
    path = kaggle / "Semi-automatic-annotations" / "001.mat"
    savemat(path, {"other": [[0]]})
    (kaggle / "Masks" / "002.png").write_bytes((kaggle / "Masks" / "002.png").read_bytes()[:60])
    Image.new("L", (96, 64), 7).save(kaggle / "Masks" / "003.png")
    png, mat = samples(Origa(kaggle)), samples(Origa(kaggle, masks="mat"))
    reasons = [boxed(mat["001"]), boxed(png["002"]), boxed(png["003"])]
    assert reasons == ["mask_unreadable", "mask_unreadable", "mask_coding_unknown"]
    assert boxed(png["004"]) == set(truths(6, seed=5, size=SIZE)[3].boxes)


def test_doubled_folders_and_encoded_names_give_the_same(folders, tmp_path):
    expected = [(k, s.labels, s.patient) for k, s in samples(Origa(folders["original"])).items()]
    doubled = tmp_path / "ORIGA"
    shutil.copytree(folders["original"], doubled / "ORIGA")
    images = doubled / "ORIGA" / "Images"
    images.rename(images.with_name("images%20"))
    assert Origa.found_in(doubled) and not Origa.found_in(tmp_path)
    for root in (doubled, doubled / "ORIGA", tmp_path):
        assert [(k, s.labels, s.patient) for k, s in samples(Origa(root)).items()] == expected


def test_datasets_in_one_bundle_are_distinguished(folders, tmp_path):
    shutil.copytree(folders["kaggle"], tmp_path / "ORIGA")
    g1020.write(tmp_path, 2, seed=0, size=48, workers=0)
    refuge.write(tmp_path, 3, seed=0, size=48, layout="kaggle")
    (tmp_path / "glaucoma.csv").write_text("Filename,Glaucoma\n")
    found = {
        place.name: [source.name for source in (G1020, Origa, Refuge) if source.found_in(place)]
        for place in (tmp_path, *sorted(p for p in tmp_path.iterdir() if p.is_dir()))
    }
    assert found == {tmp_path.name: [], "ORIGA": ["origa"], "G1020": ["g1020"], "REFUGE": ["refuge"]}
    assert [*samples(Origa(tmp_path))] == [*samples(Origa(tmp_path / "ORIGA"))]


def test_a_folder_without_photographs_is_an_error(kaggle):
    shutil.rmtree(kaggle / "Images")
    with pytest.raises(SourceNotFound, match="every photograph"):
        Origa(kaggle).verify()


def test_masks_of_grey_levels_and_lists_in_utf_16_give_the_same(folders, kaggle):
    before = samples(Origa(folders["kaggle"]))
    for mask in (kaggle / "Masks").iterdir():
        Image.fromarray(np.array([0, 128, 255], dtype=np.uint8)[np.asarray(Image.open(mask))]).save(mask)
    for table in kaggle.glob("*.csv"):
        table.write_bytes(table.read_text(encoding="utf-8").encode("utf-16"))
    after = samples(Origa(kaggle))
    assert drops(Origa(kaggle)) == {} and [*after] == [*before]
    for key, sample in after.items():
        assert (sample.labels, boxed(sample)) == (before[key].labels, boxed(before[key]))
