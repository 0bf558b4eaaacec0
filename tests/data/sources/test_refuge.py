import json
import shutil
from collections import Counter

import numpy as np
import pytest
from openpyxl import load_workbook
from PIL import Image

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.refuge import Refuge
from lmod_train.phantom.folders.refuge import truth
from lmod_train.phantom.fundus import cup_mask, disc_mask
from tests.contracts import SourceContract
from tests.drawn.refuge import LAYOUTS


def root_of(drawn, layout):
    return drawn / layout / ("REFUGE2" if layout == "refuge2" else "REFUGE")


@pytest.fixture(params=LAYOUTS)
def root(drawn, request):
    return root_of(drawn, request.param)


@pytest.fixture
def copy(root, tmp_path):
    return shutil.copytree(root, tmp_path / "any name")


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, root):
        return Refuge(root)


def samples(root):
    return {s.key: s for s in Refuge(root).samples() if isinstance(s, Sample)}


def drops(root):
    return Counter(d.reason for d in Refuge(root).samples() if isinstance(d, Dropped))


def structures(sample):
    """Read a mask the plain way: the one coding that explains every value."""
    (mask,) = sample.masks
    values = np.asarray(Image.open(mask.path))
    present = set(np.unique(values).tolist())
    fitting = [c for c in mask.codings if present == set().union(*c.values())]
    assert len(fitting) == 1
    return {name: np.isin(values, codes) for name, codes in fitting[0].items()}


def test_reading_gives_labels_and_masks_of_the_truth_back(root):
    found = samples(root)
    assert [*found] == sorted(found, key=lambda k: (("train", "val", "test").index(k.split("/")[0]), k))
    assert found.keys() == dict(truth(12, seed=12)).keys()
    for key, eye in truth(12, seed=12):
        assert found[key].labels == {"glaucoma": "yes" if eye.diagnosis == "glaucoma" else "no"}
        assert found[key].group == key.split("/")[1]
        masks = structures(found[key])
        assert (masks["optic disc"] == disc_mask(eye, 64)).all() and (masks["optic cup"] == cup_mask(eye, 64)).all()
        assert (masks["background"] == ~masks["optic disc"]).all()
    assert drops(root) == {}


def test_the_three_layouts_give_the_same_keys_labels_and_photographs(drawn):
    read = [samples(root_of(drawn, layout)) for layout in LAYOUTS]
    content = [[(k, s.labels, s.group, s.image.read_bytes()) for k, s in found.items()] for found in read]
    assert len(content[0]) == 12 and content[0] == content[1] == content[2]


def test_missing_masks_and_tables_leave_samples_without(copy):
    before = samples(copy)
    before["val/V0001"].masks[0].path.unlink()
    for sheet in [*copy.rglob("*.xlsx"), *copy.rglob("index.json")]:
        sheet.unlink()
    after = samples(copy)
    assert after.keys() == before.keys() and drops(copy) == {"missing mask": 1, "missing table": 3}
    assert [k for k, s in after.items() if not s.masks] == ["val/V0001"]
    assert all(s.labels == {} for k, s in after.items() if not k.startswith("train"))


def test_a_damaged_table_is_listed_and_drops_only_its_labels(copy):
    (sheet,) = [
        p for p in copy.rglob("*") if p.name == "Fovea_locations.xlsx" or p.as_posix().endswith("val/index.json")
    ]
    sheet.write_bytes(b"PK\x03\x04 torn")
    listed = [d for d in Refuge(copy).samples() if isinstance(d, Dropped)]
    assert [(d.reason, copy / d.file) for d in listed] == [("unreadable sheet", sheet)]
    labelled = Counter(key.split("/")[0] for key, s in samples(copy).items() if s.labels)
    assert labelled == {"train": 4, "test": 4} and len(samples(copy)) == 12


def test_a_photograph_without_a_row_in_its_table_is_listed(copy):
    before = samples(copy)
    for sheet in copy.rglob("Fovea_locations.xlsx"):
        book = load_workbook(sheet)
        book.worksheets[0].delete_rows(4, 9)  # the header and two photographs stay
        book.save(sheet)
    for sheet in copy.rglob("val/index.json"):
        index = json.loads(sheet.read_text())
        sheet.write_text(json.dumps({key: index[key] for key in list(index)[:2]}))
    assert samples(copy).keys() == before.keys() and drops(copy) == {"missing label": 2}


def test_a_photograph_twice_is_kept_once(copy):
    before = samples(copy)
    image = before["test/T0001"].image
    shutil.copy(image, image.with_suffix(".png"))
    assert samples(copy) == before and drops(copy) == {"same key twice": 1}


def test_clutter_is_ignored_and_strays_are_listed(copy):
    folder = samples(copy)["val/V0002"].image.parent
    for name in ("._V0002.jpg", "Thumbs.db", "V0002.jpg:Zone.Identifier"):
        (folder / name).write_bytes(b"")
    (copy / "__MACOSX").mkdir()
    (copy / "__MACOSX" / "V0009.jpg").write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"")
    assert len(samples(copy)) == 12 and drops(copy) == {"stray file": 1}


def test_photographs_that_refuge2_adds_are_counted_and_not_read(drawn, tmp_path):
    root = shutil.copytree(root_of(drawn, "refuge2"), tmp_path / "REFUGE2")
    image = samples(root)["val/V0001"].image
    for place in ("Validation/Images/V0401.jpg", "Test/refuge2-test/T0401.jpg", "Test/Images/T0402.jpg"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image, root / place)
    (root / "Test" / "task1.xls").write_bytes(b"old")
    assert len(samples(root)) == 12 and drops(root) == {"not of the REFUGE challenge": 3}


def test_other_challenges_and_derived_copies_are_left_out(drawn, tmp_path):
    root = shutil.copytree(root_of(drawn, "challenge"), tmp_path / "REFUGE")
    image = samples(root)["val/V0001"].image
    (root / "REFUGE-Training400" / "Training400" / "AMD").mkdir()
    shutil.copy(image, root / "REFUGE-Training400" / "Training400" / "AMD" / "A0001.jpg")
    assert len(samples(root)) == 12 and drops(root) == {"not of the REFUGE challenge": 1}
    root = shutil.copytree(root_of(drawn, "kaggle"), tmp_path / "kaggle")
    for place in ("val/Images_Cropped/V0001.jpg", "Images_Square/V0001.jpg"):
        (root / place).parent.mkdir(parents=True)
        shutil.copy(image, root / place)
    assert len(samples(root)) == 12 and drops(root) == {}


def test_folders_neither_doubled_nor_decoded_give_the_same(drawn, tmp_path):
    challenge = root_of(drawn, "challenge")
    plain = tmp_path / "plain"
    shutil.copytree(challenge / "REFUGE-Training400" / "Training400", plain / "Training400")
    shutil.copytree(challenge / "Annotation-Training400" / "Annotation-Training400", plain / "Annotation%2DTraining400")
    shutil.copytree(challenge / "REFUGE-Validation400" / "REFUGE-Validation400", plain / "REFUGE-Validation400")
    shutil.copytree(
        challenge / "REFUGE-Validation400-GT", plain / "REFUGE-Validation400-GT" / "REFUGE-Validation400-GT"
    )
    shutil.copytree(challenge / "REFUGE-Test400" / "Test400", plain / "Test400")
    shutil.copytree(challenge / "REFUGE-Test-GT", plain / "REFUGE-Test-GT")
    assert Refuge.found_in(plain)
    content = [[(k, s.labels, len(s.masks)) for k, s in samples(root).items()] for root in (challenge, plain)]
    assert content[0] == content[1]
