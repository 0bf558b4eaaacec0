"""The folder is as published, and the pixels of the photographs show the truth of the table."""

from __future__ import annotations

import csv
import hashlib
import io
from bisect import bisect
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lmod_train.phantom.folders.brset import RowTruth, cases, eye_of, portrait, scottish, truths, write
from lmod_train.phantom.frame import frame_for
from lmod_train.phantom.fundus import disc_mask

FOLDER = Path("physionet.org") / "files" / "brazilian-ophthalmological" / "1.0.1"


def bytes_of(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def case(**changes: Any) -> RowTruth:
    plain: dict[str, Any] = {
        "image": 1,
        "patient": 1,
        "camera": "Canon CR",
        "age": 50,
        "age_listed": True,
        "sex": "female",
    }
    return RowTruth(**{**plain, "age_listed": True, "seed": 4, "found": frozenset(), "icdr": 0, "sdrg": 0, **changes})


def test_the_folder_is_as_published(tmp_path: Path) -> None:
    write(tmp_path, 9, 1, size=24, workers=0)
    files = set(bytes_of(tmp_path / FOLDER))
    missing = [f"img{c.image:05d}.jpg" for c in cases(9, 1) if not c.taken]
    assert len(missing) == 1
    photographs = {f"fundus_photos/img{i:05d}.jpg" for i in range(1, 11)} - {f"fundus_photos/{m}" for m in missing}
    assert files == {"labels_brset.csv", "LICENSE.txt", "fundus_photos/index.html", "phantom.json", *photographs}
    with (tmp_path / FOLDER / "labels_brset.csv").open(newline="") as table:
        assert [r["image_id"] for r in csv.DictReader(table)] == [f"img{i:05d}" for i in range(1, 11)]


def test_cases_are_as_many_as_requested_and_varied() -> None:
    drawn = cases(400, 0)
    taken = [c for c in drawn if c.taken]
    assert len(taken) == 400
    assert len(drawn) == 410
    found = Counter(name for c in taken for name in c.found)
    assert min(found[name] for name in found if name != "retinal detachment") > 40
    assert min(Counter(c.icdr for c in taken).values()) > 25
    assert min(Counter(c.sdrg for c in taken).values()) > 15
    assert set(Counter(c.icdr for c in taken)) == set(Counter(c.sdrg for c in taken)) == set(range(5))
    ages = Counter(bisect((18, 30, 40, 50, 60, 70, 80), c.age) for c in taken)  # the benchmark's eight groups
    assert len(ages) == 8
    assert min(ages.values()) > 20
    assert 0.2 < sum(not c.age_listed for c in taken) / 400 < 0.45
    people = {(c.patient, c.sex, c.age, c.age_listed, c.camera) for c in drawn}
    assert len(people) == len({c.patient for c in drawn}) < 0.7 * len(drawn)


def test_errors_of_the_published_table_occur() -> None:
    drawn = [c for c in cases(30, 0) if c.taken]
    assert sorted(str(c.stray) for c in drawn if c.stray) == [
        "{'focus': '0'}",
        "{'focus': '0'}",
        "{'optic_disc': 'bv'}",
    ]
    assert sum(c.icdr > 0 and "diabetic retinopathy" not in c.found for c in drawn) == 1
    assert cases(0, 0) == []


def test_a_truth_has_no_label_for_an_invalid_value() -> None:
    by_key = {t.key: t for t in truths(30, 0)}
    for c in (c for c in cases(30, 0) if c.taken):
        truth = by_key[f"img{c.image:05d}"]
        assert ("abnormal optic disc" in truth.labels) == ("optic_disc" not in c.stray)
        assert truth.patient.age == (c.age if c.age_listed else None)
        assert truth.labels["icdr"] == str(c.icdr)


def test_sdrg_follows_from_the_haemorrhages_drawn() -> None:
    for c in cases(60, 2):
        eye = eye_of(c)
        assert scottish(eye, c.icdr) == c.sdrg
        blots = [s.y < eye.fovea[1] for s in eye.lesions if s.kind == "haemorrhage"]
        halves = sum(blots) >= 4, len(blots) - sum(blots) >= 4
        assert (c.sdrg == 2) == (sum(halves) == 1)
        assert (c.sdrg >= 3) == all(halves)


def test_age_shows_as_yellowing_and_sex_as_the_size_of_the_disc() -> None:
    size = 96
    blue: list[float] = []
    ages: list[int] = []
    areas: dict[str, list[float]] = {"female": [], "male": []}
    for number, age in enumerate(range(8, 95, 6)):
        for sex in ("female", "male"):
            one = case(seed=number, age=age, sex=sex)
            pixels = np.asarray(portrait(one, size)).astype(float)
            lit = pixels[..., 0] > 80
            blue.append(float(pixels[..., 2][lit].mean() / pixels[..., 1][lit].mean()))
            ages.append(age)
            eye, frame = eye_of(one), frame_for(pixels.shape[1], size, number)
            square = pixels[frame.top : frame.top + size, frame.left : frame.left + size]
            around = disc_mask(eye, size)
            areas[sex].append(float(around.mean()))
            assert square[around].mean() > square[(square[..., 0] > 80) & ~around].mean() + 10  # the disc is there
    assert np.corrcoef(blue, ages)[0, 1] < -0.9
    assert max(areas["female"]) < min(areas["male"])


def test_the_exposure_shows() -> None:
    def pixels(*poor: str) -> Any:
        return np.asarray(portrait(case(poor=poor), 128)).astype(float)

    def sharp(picture: Any) -> float:
        return float(np.abs(np.diff(picture[40:90, 60:110, 1], axis=0)).mean())

    plain = pixels()
    assert sharp(pixels("focus")) < 0.95 * sharp(plain)
    assert pixels("illumination").mean() < 0.7 * plain.mean()
    lit = [np.nonzero((p.sum(axis=2) > 60).any(axis=1))[0] for p in (plain, pixels("image field"))]
    assert np.ptp(lit[1]) < np.ptp(lit[0]) - 5
    assert (np.abs(pixels("artifacts") - plain).max(axis=2) > 20).mean() > 0.005


def test_retinopathy_shows_in_the_files(tmp_path: Path) -> None:
    write(tmp_path, 24, 0, size=128, workers=0)
    for c in (c for c in cases(24, 0) if c.taken):
        picture = Image.open(tmp_path / FOLDER / "fundus_photos" / f"img{c.image:05d}.jpg")
        assert picture.height == 128
        bare = io.BytesIO()
        portrait(replace(c, icdr=0), 128).save(bare, format="JPEG", quality=92)
        drawn, before = (np.asarray(p).astype(int) for p in (picture, Image.open(bare)))
        assert ((before - drawn)[..., 0] > 25).any() == (c.icdr > 0)


def test_cameras_have_their_own_widths_and_do_not_depend_on_labels() -> None:
    assert [portrait(case(camera=name), 100).width for name in ("Canon CR", "NIKON NF5050")] == [130, 130]
    assert [portrait(case(camera=name), 384).width for name in ("Canon CR", "NIKON NF5050")] == [499, 497]
    drawn = cases(400, 0)
    share = [np.mean([c.icdr > 0 for c in drawn if c.camera == name]) for name in ("Canon CR", "NIKON NF5050")]
    assert abs(share[0] - share[1]) < 0.15
