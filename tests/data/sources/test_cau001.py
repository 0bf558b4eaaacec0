import shutil
from dataclasses import replace

import pytest
import yaml

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.boxes import read_boxes
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.sources.cau001 import Cau001
from tests.drawn import cataract_detection_2
from tests.drawn.cau001 import truths, write

N, SEED, SIZE = 16, 5, 96


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    raw = tmp_path_factory.mktemp("cau001")
    write(raw, N, SEED, SIZE, workers=0)
    return raw / "CAU001"


@pytest.fixture
def copy(root, tmp_path):
    return shutil.copytree(root, tmp_path / "any name")


@pytest.mark.parametrize(("flavour", "size"), [("yolo", SIZE), ("yolo", 100), ("coco", 97)])
def test_reading_and_boxing_gives_the_truth_back(tmp_path, flavour, size):
    write(tmp_path, N, SEED, size, flavour, workers=0)
    found = list(Cau001(tmp_path / "CAU001").samples())
    expected = {t.key: t for t in truths(N, SEED, size)}
    assert {s.key for s in found} == expected.keys() and len(found) == N
    for sample in found:
        truth = expected[sample.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        boxed, problem = read_boxes(replace(sample, size=open_image(sample).image.size))
        assert problem == ()
        assert [(r.structure, r.box) for r in boxed.regions] == list(truth.boxes)


def test_at_most_so_many_photographs_with_boxes_are_kept_and_the_others_listed(copy):
    empty = min((copy / "train" / "labels").iterdir())
    empty.write_text("")  # a photograph without boxes is asked about nowhere and does not count
    whole = [s.key for s in Cau001(copy).samples()]
    found = list(Cau001(copy, at_most=5).samples())
    kept = [s.key for s in found if isinstance(s, Sample)]
    left = [d for d in found if isinstance(d, Dropped)]
    assert sorted(kept + [d.key for d in left]) == sorted(whole) and len(kept) == 6 and f"train/{empty.stem}" in kept
    assert {(d.reason, d.detail, d.extent) for d in left} == {("not counted", "at_most is 5", "gone")}
    smaller = {s.key for s in Cau001(copy, at_most=2).samples() if isinstance(s, Sample)}
    assert smaller < set(kept) and len(smaller) == 3
    assert [s.key for s in Cau001(copy, at_most=99).samples()] == whole
    with pytest.raises(BadArgument, match="at_most=0"):
        Cau001(copy, at_most=0)


def test_two_eyes_have_six_boxes_and_no_side(root):
    counts = {len(s.outlines): s.patient.laterality for s in Cau001(root).samples()}
    assert counts.keys() == {2, 3, 6} and counts[6] is None and counts[2] is None and counts[3] in ("left", "right")


def test_the_laterality_is_that_of_the_only_boxed_eye(root):
    for sample in Cau001(root).samples():
        eyes = {o.structure for o in sample.outlines} & {"right eye", "left eye"}
        assert sample.patient.laterality == (eyes.pop().removesuffix(" eye") if len(eyes) == 1 else None)


def test_an_unknown_class_has_no_boxes_unless_aliases_define_it(copy):
    text = (copy / "data.yaml").read_text().replace("Ojo Izq", "Ojo I.")
    (copy / "data.yaml").write_text(text)
    (copy / "data.yaml").write_text(text.replace("project: cau001", "project: another"))
    assert not Cau001.found_in(copy)
    read = list(Cau001(copy).samples())
    dropped = [d for d in read if isinstance(d, Dropped)]
    bare = [s for s in read if isinstance(s, Sample) and not s.outlines]
    assert len(read) - len(dropped) == N and 0 < len(bare) == len(dropped) < N
    assert {d.reason for d in dropped} == {"unknown class"}
    assert "Ojo I.; the option aliases has iris" in dropped[0].detail


def test_case_and_blanks_of_class_names_are_ignored(copy, root):
    expected = [s.outlines for s in Cau001(root).samples()]
    (copy / "data.yaml").write_text("names: ['IRIS ', 'ojo  der', 'OJO IZQ', 'pupila']")
    assert Cau001.found_in(copy) and [s.outlines for s in Cau001(copy).samples()] == expected


@pytest.mark.parametrize(
    "names", [["iris", "pupil"], ["Iris", "Pupila", "Nariz"], ["Iris"], ["Ojo Der", "Ojo Izq"], ["cataract", "normal"]]
)
def test_other_exports_are_not_claimed(copy, names):
    (copy / "data.yaml").write_text(yaml.safe_dump({"names": names}))
    assert not Cau001.found_in(copy)


def test_cataract_detection_2_is_not_claimed(tmp_path):
    for flavour in ("yolo", "coco"):
        cataract_detection_2.write(tmp_path / flavour, 2, 0, 64, flavour, workers=0)
        assert not Cau001.found_in(tmp_path / flavour / "Cataract Detection 2")


def test_an_alias_must_lead_to_a_structure():
    with pytest.raises(BadArgument, match="not 'Pupila'"):
        Cau001(aliases={"Pupila": "Pupila"})
