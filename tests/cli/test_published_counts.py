"""The published sizes of the balanced sets come out of raw folders as large as the real ones, class by class.

Images are a few pixels: for counts only. The sizes follow from the papers' figures: 336 = 168 + 168 glaucoma of ORIGA,
76 = 19 x 4 macular holes, 390 = 78 x 5 ICDR, 665 = 133 x 5 SDRG, 4 x 1,007 photographs of four classes; and of
BRSET's positives, twice each. 296 = 37 x 8 ages is shown with an assumed table: that the smallest group of the
published source has 37 is inferred from the papers' refusal rates, the table itself is not known.
"""

import csv
import warnings
from collections import Counter

import numpy as np
import pytest
from openpyxl import Workbook
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.shipped import configs_folder
from lmod_train.core.types import own_part
from tests.published_brset import MISSING, PUBLISHED, noise, write_published

pytestmark = pytest.mark.slow

EYES, SCANS = (1, 16, 34, 74), (19, 610, 1043, 2187)  # of OIMHS, by stage
CLASSES = {"cataract": 1038, "diabetic_retinopathy": 1098, "glaucoma": 1007, "normal": 1074}
AGES = {9: 37, 25: 120, 35: 130, 45: 150, 55: 170, 65: 180, 75: 140, 85: 90}  # assumed, see above


def oimhs(root):
    book = Workbook()
    sheet = book.active
    sheet.append(["Patient ID", "Eye ID", "Eye category", "Age(years)", "Sex", "Stage"])
    number = eye = 0
    for stage, (eyes, scans) in enumerate(zip(EYES, SCANS, strict=True), 1):
        for part in np.array_split(np.arange(scans), eyes):
            eye += 1
            sheet.append([eye, eye, "OD", 60 + eye % 20, "Female", stage])
            for scan in range(len(part)):
                number += 1
                noise(root / "Images" / str(eye) / f"{scan}.png", number)
    book.save(root / "Demographics of the participants.xlsx")


def origa(root):
    rows = [("Eye", "Filename", "ExpCDR", "Set", "Glaucoma")]
    rows += [("OD", f"{i:03}.jpg", "0.5", "AB"[i % 2], int(i <= 168)) for i in range(1, 651)]
    for i in range(1, 651):
        noise(root / "Images" / f"{i:03}.jpg", 10_000 + i)
        (root / "Masks").mkdir(exist_ok=True)
        Image.fromarray(np.zeros((6, 8), dtype=np.uint8)).save(root / "Masks" / f"{i:03}.png")
    with (root / "OrigaList.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def four_classes(root):
    number = 20_000
    for name, count in CLASSES.items():
        for i in range(count):
            number += 1
            noise(root / "dataset" / name / f"{name}_{i}.png", number)


def fairseg(root):
    (root / "All").mkdir(parents=True)
    number = 0
    for age, count in AGES.items():
        for i in range(count):
            number += 1
            slo = np.random.default_rng(30_000 + number).integers(0, 255, (6, 8), dtype=np.uint8)
            told = {"age": np.array(float(age)), "gender": np.array(i % 2)}
            mask = np.zeros((6, 8), dtype=np.int8)
            np.savez(root / "All" / f"data_{number:05}.npz", slo_fundus=slo, disc_cup_mask=mask, **told)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    oimhs(folder / "OIMHS")
    origa(folder / "ORIGA")
    four_classes(folder / "eye_diseases_classification")
    fairseg(folder / "FairSeg")
    write_published(folder)
    return folder


def curated(raw, out, protocol):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the image-level split warns, as it should
        config = configs_folder() / "curate" / f"{protocol}.yaml"
        assert cli.main(["curate", "--config", str(config), "--raw", str(raw), "--out", str(out)]) == 0
    return read_manifest(out), read_records(out / "records")


def answers(records, task):
    return Counter(own_part(r.answer, r.choices) for r in records if r.task == task)


def test_lmod_v1(raw, tmp_path, capsys):
    manifest, records = curated(raw, tmp_path / "v1", "lmod_v1")
    assert sorted(answers(records, "glaucoma").values()) == [168, 168]
    assert {r.source for r in records if r.task == "glaucoma"} == {"origa"}
    assert sorted(answers(records, "macular_hole_stage").values()) == [19] * 4
    assert sorted(answers(records, "age_group").values()) == [37] * 8
    assert manifest["settings"]["split_by"] == "image"
    assert "not found: refuge" in capsys.readouterr().out
    stages = [r for r in records if r.task == "macular_hole_stage" and "1" in r.answer]
    assert len(stages) == 19 and len({r.group for r in stages}) == 1  # all of one patient


def test_lmod_plus(raw, tmp_path):
    _, records = curated(raw, tmp_path / "plus", "lmod_plus")
    assert sorted(answers(records, "icdr").values()) == [78] * 5
    assert sorted(answers(records, "sdrg").values()) == [133] * 5
    assert sorted(answers(records, "four_way").values()) == [1007] * 4
    assert sorted(answers(records, "macular_hole_stage").values()) == [19] * 4
    counts = Counter(r.id.rpartition("/")[2] for r in records if r.task == "conditions")
    twelve = set(PUBLISHED) - {"macular edema", "retinal detachment", "other", "abnormal optic disc"}
    assert sorted(counts.values()) == sorted(2 * PUBLISHED[name] for name in twelve)
    assert len(set(answers(records, "sex").values())) == 1
    assert not {r.key for r in records if r.source == "brset"} & {f"img{number:05}" for number in MISSING}
    splits = {}
    for r in records:
        if r.source == "brset":
            assert splits.setdefault(r.group, r.split) == r.split  # a patient is in one split
