import csv

import numpy as np
import pytest

from lmod_train.core.types import Box
from lmod_train.core.vocabulary.age_groups import AGE_GROUPS
from lmod_train.phantom.folders.fairseg import truths, write

PUBLIC = {"slo_fundus", "disc_cup_mask", "age", "gender", "race", "ethnicity", "language", "maritalstatus"}
OLDER = {"fundus_slo", "disc_cup", "pid", "age", "gender", "race", "hispanic", "language", "maritalstatus"}


def arrays(out):
    """Return the arrays of every file, loaded without pickles."""
    return {p.stem: dict(np.load(p)) for p in sorted((out / "FairSeg" / "All").iterdir())}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("fairseg")
    write(out, 20, seed=3, size=48, workers=0)
    return out


def test_files_have_the_published_arrays(written):
    held = arrays(written)
    assert [*held] == [f"data_{i:05d}" for i in range(1, 21)]
    for number, (_, found) in enumerate(held.items(), start=1):
        assert {*found} == (PUBLIC if number % 10 else OLDER)
        image = found.get("slo_fundus", found.get("fundus_slo"))
        mask = found.get("disc_cup_mask", found.get("disc_cup"))
        assert image.dtype == np.uint8 and image.shape == mask.shape == (48, 62)
        assert set(np.unique(mask).tolist()) == {0, -1, -2}
        assert all(a.shape == () and a.dtype != object for name, a in found.items() if a is not image and a is not mask)
    assert not {int(held[key]["pid"]) for key in ("data_00010", "data_00020")} & set(range(4000))


def test_the_summary_agrees_with_the_files(written):
    with (written / "FairSeg" / "ReadMe" / "data_summary.csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    held = arrays(written)
    assert [row["filename"] for row in rows] == [f"{key}.npz" for key in held]
    for row, found in zip(rows, held.values(), strict=True):
        days = "pid" in found
        assert float(row["age"]) == (found["age"] / 365 if days and found["age"] > 0 else found["age"])
        assert int(row["gender"]) == found["gender"] and int(row["language"]) == found["language"]
        assert int(row["race"]) == ({2: 0, 3: 1, 7: 2}[int(found["race"])] if days else found["race"])


def test_boxes_are_the_extent_of_what_was_drawn(written):
    held = arrays(written)
    for truth in truths(20, seed=3, size=48):
        stored = held[truth.key]
        assert (truth.patient.age or -1) == stored["age"] / (365 if "pid" in stored and stored["age"] > 0 else 1)
        mask = held[truth.key].get("disc_cup_mask", held[truth.key].get("disc_cup"))
        extents = {}
        for structure, inside in (("optic disc", mask < 0), ("optic cup", mask == -2)):
            y, x = np.nonzero(inside)
            extents[structure] = Box(int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
        assert dict(truth.boxes) == extents


def test_people_vary_and_are_sometimes_unknown():
    found = truths(150, seed=0, size=16)
    ages = [t.patient.age for t in found]
    assert 0.03 < np.mean([age is None for age in ages]) < 0.15
    assert all(age is None or 6 <= age < 92 for age in ages) and len(set(ages)) > 40
    assert all(any(age is not None and g.low <= age < (g.below or 120) for age in ages) for g in AGE_GROUPS)
    sexes = [t.patient.sex for t in found]
    assert {*sexes} == {"female", "male", None} and 0.4 < np.mean([s == "male" for s in sexes]) < 0.6
    assert len({t.group for t in found}) == 150
    assert [t.key for t in found if t.group != t.key] == [f"data_{i:05d}" for i in range(10, 151, 10)]


def test_sex_and_age_do_not_follow_the_cup():
    found = [t for t in truths(200, seed=1, size=64) if t.patient.age is not None and t.patient.sex]
    ratio = np.array([dict(t.boxes)["optic cup"].height / dict(t.boxes)["optic disc"].height for t in found])
    assert 0.2 < np.mean(ratio > 0.55) < 0.8
    for values in ([t.patient.age for t in found], [t.patient.sex == "male" for t in found]):
        assert abs(np.corrcoef(ratio, np.array(values, dtype=float))[0, 1]) < 0.2
