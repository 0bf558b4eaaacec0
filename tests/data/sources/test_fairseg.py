import shutil

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.sources import fairseg
from lmod_train.data.sources.fairseg import FairSeg
from lmod_train.phantom.folders.fairseg import truths, write
from tests.data.sources.boxed import boxed

SIZE, N, SEED = 48, 11, 4  # the tenth file is in the older spelling


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("fairseg")
    write(out, N, SEED, size=SIZE, workers=0)
    return out / "FairSeg"


@pytest.fixture
def copy(written, tmp_path):
    return shutil.copytree(written, tmp_path / "any name")


def samples(root, **options):
    return {s.key: s for s in FairSeg(root, **options).samples() if isinstance(s, Sample)}


def drops(root, **options):
    return [(d.file, d.reason, d.detail) for d in FairSeg(root, **options).samples() if isinstance(d, Dropped)]


def change(file, **arrays):
    """Write a file again with some arrays other or, where None, left out."""
    with np.load(file, allow_pickle=True) as held:
        kept = {**{name: held[name] for name in held}, **arrays}
    np.savez(file, **{name: np.array(value) for name, value in kept.items() if value is not None})


def demographics(root, **options):
    return {k: (s.group, s.patient.age, s.patient.sex) for k, s in samples(root, **options).items()}


def test_reading_and_boxing_give_the_truth_back(written):
    found = samples(written)
    expected = truths(N, SEED, size=SIZE)
    assert [*found] == [t.key for t in expected] == [f"data_{i:05d}" for i in range(1, N + 1)]
    for truth in expected:
        sample = found[truth.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        assert boxed(sample) == set(truth.boxes) and len(truth.boxes) == 2
    assert drops(written) == []
    assert open_image(found["data_00001"]).image.size == (62, 48)


def test_the_older_spelling_has_a_patient_and_days(written):
    with np.load(written / "All" / "data_00010.npz") as held:
        assert {"fundus_slo", "disc_cup", "pid"} <= {*held} and held["age"] > 150
        days, pid = float(held["age"]), int(held["pid"])
    sample = samples(written)["data_00010"]
    assert (sample.group, sample.patient.age) == (str(pid), days / 365)


def test_files_are_found_flat_in_parts_or_one_folder_down(copy, tmp_path):
    expected = demographics(copy)
    flat = tmp_path / "flat"
    shutil.copytree(copy / "All", flat)
    parts = tmp_path / "parts"
    for i, file in enumerate(sorted(flat.iterdir())):
        place = parts / ("Training", "Validation", "Test")[i % 3] / ("npz" if i % 2 else "")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    down = tmp_path / "down"
    shutil.copytree(parts, down / "Harvard-FairSeg")
    doubled = tmp_path / "twice"
    shutil.copytree(copy, doubled / "twice")
    for root in (flat, parts, down, doubled):
        assert demographics(root) == expected and drops(root) == [], root
        assert FairSeg.found_in(root) == (root != down), root


def test_sister_sets_with_the_same_file_names_are_not_recognised(copy):
    for file in (copy / "All").iterdir():
        change(file, disc_cup_mask=None, disc_cup=None, glaucoma=1)
    assert not FairSeg.found_in(copy)
    assert {reason for _, reason, _ in drops(copy)} == {"missing mask"}


def test_codes_that_are_unknown_are_none_and_others_are_listed(copy):
    first, second, third, fourth = (copy / "All" / f"data_0000{i}.npz" for i in (1, 2, 3, 4))
    change(first, age=-1, gender=-1)
    change(second, age=61.5, gender=0)
    change(third, age=float("nan"), gender=3)
    change(fourth, age=[1, 2], gender="1.0")
    (copy / "All" / "data_00005.npz").rename(copy / "All" / "x.npz")
    change(copy / "All" / "data_00006.npz", age=130, gender=None)
    found = demographics(copy)
    assert [found[f"data_0000{i}"][1:] for i in (1, 2, 3, 4, 6)] == [
        (None, None),
        (61.5, "female"),
        (None, None),
        (None, "male"),
        (None, None),
    ]
    assert found["x"][0] == "x" and len(found) == N
    assert drops(copy) == [
        ("All/data_00003.npz", "unreadable label", "gender '3', expected 0 (female), 1 (male) or -1"),
        ("All/data_00004.npz", "unreadable label", "array age: 2 values, expected one"),
        ("All/data_00006.npz", "unreadable label", "age '130', expected years below 120, or days"),
    ]


def test_two_files_of_a_patient_are_one_group(copy):
    for i in (1, 2):
        change(copy / "All" / f"data_0000{i}.npz", pid=7)
    change(copy / "All" / "data_00003.npz", pid=-1)
    groups = {key: sample.group for key, sample in samples(copy).items()}
    assert groups["data_00001"] == groups["data_00002"] == "7" and groups["data_00003"] == "data_00003"


def test_merged_gives_one_box_the_whole_disc(written):
    merged = {k: boxed(s) for k, s in samples(written, cup="merged").items()}
    assert merged == {t.key: {t.boxes[0]} for t in truths(N, SEED, size=SIZE)}
    with pytest.raises(BadArgument, match="cup='both'"):
        FairSeg(written, cup="both")


@pytest.mark.parametrize("cup", ["own", "merged"])
def test_rising_codes_mean_the_same_and_any_other_code_is_refused(copy, cup):
    before = {k: boxed(s) for k, s in samples(copy, cup=cup).items()}
    for i, dtype in ((1, np.uint8), (2, np.float32), (3, np.int16)):
        file = copy / "All" / f"data_0000{i}.npz"
        with np.load(file) as held:
            rising = np.abs(held["disc_cup_mask"]).astype(dtype)
        change(file, disc_cup_mask=rising)
        assert set(np.unique(rising).tolist()) == {0, 1, 2}
    assert {k: boxed(s) for k, s in samples(copy, cup=cup).items()} == before
    for i, codes in ((4, np.uint8(255)), (5, np.int8(3))):
        file = copy / "All" / f"data_0000{i}.npz"
        mask = np.load(file)["disc_cup_mask"].astype(np.int16)
        change(file, disc_cup_mask=np.where(mask == -1, codes, 0))
        assert boxed(samples(copy, cup=cup)[f"data_0000{i}"]) == "mask_coding_unknown"


def test_pickles_are_read_only_if_allowed(copy):
    whole, before = demographics(copy), {k: boxed(s) for k, s in samples(copy).items()}
    one, two, three = (copy / "All" / f"data_0000{i}.npz" for i in (1, 2, 3))
    change(one, slo_fundus=np.load(one)["slo_fundus"].astype(object))
    change(two, disc_cup_mask=np.load(two)["disc_cup_mask"].astype(object))
    change(three, age=np.array(44, dtype=object), gender=np.array(None, dtype=object))
    found = samples(copy)
    assert "data_00001" not in found and len(found) == N - 1
    assert found["data_00002"].masks == () and demographics(copy)["data_00002"] == whole["data_00002"]
    assert demographics(copy)["data_00003"] == ("data_00003", None, None)
    listed = drops(copy)
    assert [(f[-6:-4], r, d.split(":")[0]) for f, r, d in listed] == [
        ("01", "pickled arrays", "slo_fundus"),
        ("02", "pickled arrays", "disc_cup_mask"),
        ("03", "pickled arrays", "age, gender"),
    ]
    assert all("allow_pickle: true" in d for _, _, d in listed)
    allowed = samples(copy, allow_pickle=True)
    assert drops(copy, allow_pickle=True) == [] and len(allowed) == N
    assert (allowed["data_00003"].patient.age, allowed["data_00003"].patient.sex) == (44.0, None)
    assert {k: s.group for k, s in allowed.items()} == {k: group for k, (group, _, _) in whole.items()}
    assert allowed["data_00001"].cut.pickled and allowed["data_00001"].masks[0].cut.pickled
    assert {k: boxed(s) for k, s in allowed.items() if k > "data_00002"} == {
        k: b for k, b in before.items() if k > "data_00002"
    }


def test_a_pickled_picture_of_bytes_is_read_once_allowed(copy):
    before = boxed(samples(copy)["data_00001"])
    file = copy / "All" / "data_00001.npz"
    wrapped = {name: np.empty((), dtype=object) for name in ("slo_fundus", "disc_cup_mask")}
    for name, holder in wrapped.items():
        holder[()] = np.load(file)[name]
    change(file, **wrapped)
    assert "data_00001" not in samples(copy)
    assert boxed(samples(copy, allow_pickle=True)["data_00001"]) == before


def test_damaged_files_are_listed_and_the_rest_is_read(copy):
    one, two, three, four = (copy / "All" / f"data_0000{i}.npz" for i in (1, 2, 3, 4))
    one.write_bytes(one.read_bytes()[:500])
    two.write_bytes(b"")
    change(three, slo_fundus=None, bscan=np.zeros((2, 2)))
    change(four, slo_fundus=np.zeros((0, 5)))
    found = samples(copy)
    assert len(found) == N - 3
    assert [(f[-6:-4], r) for f, r, _ in drops(copy)] == [
        ("01", "unreadable file"),
        ("02", "unreadable file"),
        ("03", "no scan in it"),
    ]
    assert "bscan" in drops(copy)[2][2]
    assert open_image(found["data_00004"]).reason == "image_unreadable"
    assert FairSeg.found_in(copy)  # the first files are looked at, not the first alone


def test_strays_and_duplicates_are_listed_and_clutter_is_not(copy):
    some = copy / "All" / "data_00001.npz"
    (copy / "Test").mkdir()
    (copy / "__MACOSX").mkdir()
    for name in ("Test/data_00001.npz", "All/notes.txt", "All/._data_00001.npz", "__MACOSX/data_7.npz", "list.csv"):
        shutil.copy(some, copy / name)
    shutil.copy(some, copy / "All" / "data_00001.npz:Zone.Identifier")
    shutil.copy(copy / "ReadMe" / "data_summary.csv", copy)
    assert len(samples(copy)) == N
    assert sorted(d[:2] for d in drops(copy)) == [
        ("All/notes.txt", "stray file"),
        ("Test/data_00001.npz", "same key twice"),
        ("list.csv", "stray file"),
    ]


def test_the_large_arrays_are_not_read_for_demographics(written, monkeypatch):
    asked = []
    read = fairseg.read_array
    monkeypatch.setattr(fairseg, "read_array", lambda path, names, **kw: asked.append(names) or read(path, names, **kw))
    assert len(samples(written)) == N
    assert {name for names in asked for name in names} == {"age", "gender", "pid"}


def test_a_folder_without_files_is_an_error(tmp_path):
    (tmp_path / "All").mkdir()
    (tmp_path / "ReadMe").mkdir()
    with pytest.raises(SourceNotFound, match="every npz file"):
        FairSeg(tmp_path).verify()


def test_a_far_number_is_one_line(copy):
    for number in ("00003", "00004", "00007"):
        (copy / "All" / f"data_{number}.npz").unlink()
    (copy / "All" / "data_00011.npz").rename(copy / "All" / "data_99000.npz")
    found = [d for d in FairSeg(copy).samples() if isinstance(d, Dropped) and d.reason == "missing scan"]
    assert [(d.key, d.detail.partition(" ")[0], d.extent) for d in found] == [
        ("data_00003 to data_00004", "2", "gone"),
        ("data_00007", "a", "gone"),
        ("data_00011 to data_98999", "98,989", "gone"),
    ]


def test_many_gaps_are_counted_in_one_line(copy):
    some = copy / "All" / "data_00001.npz"
    for number in range(20, 100, 2):
        shutil.copy(some, copy / "All" / f"data_{number:05d}.npz")
    found = [d for d in FairSeg(copy).samples() if isinstance(d, Dropped) and d.reason == "missing scan"]
    assert len(found) == 21 and found[-1].key == "20 further gaps" and found[-1].detail.startswith("20 further scans")
