import shutil
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.boxes import read_boxes
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.sources.cataract_detection_2 import CataractDetection2
from tests.drawn import cau001
from tests.drawn.cataract_detection_2 import truths, write

N, SEED, SIZE = 12, 6, 80


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    raw = tmp_path_factory.mktemp("cataract")
    write(raw, N, SEED, SIZE, workers=0)
    return raw / "Cataract Detection 2"


@pytest.fixture
def copy(root, tmp_path):
    return shutil.copytree(root, tmp_path / "Cataract%20Detection%202.v1i.yolov8")


def rename(root, names, project="mine"):
    (root / "data.yaml").write_text(yaml.safe_dump({"names": names, "roboflow": {"project": project}}))


@pytest.mark.parametrize("flavour", ["yolo", "coco"])
def test_reading_and_boxing_gives_the_truth_back(tmp_path, flavour):
    write(tmp_path, N, SEED, SIZE, flavour, workers=0)
    root = tmp_path / "Cataract Detection 2"
    assert CataractDetection2.found_in(root)
    found = list(CataractDetection2(root).samples())
    expected = {t.key: t for t in truths(N, SEED, SIZE)}
    assert {s.key for s in found} == expected.keys() and len(found) == N
    for sample in found:
        truth = expected[sample.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        boxed, problem = read_boxes(replace(sample, size=open_image(sample).image.size))
        assert problem == ()
        assert [(r.structure, r.box) for r in boxed.regions] == list(truth.boxes)


def test_labels_are_the_diagnosis_and_the_condition(root):
    assert {tuple(s.labels.items()) for s in CataractDetection2(root).samples()} == {
        (("diagnosis", "cataract"), ("cataract", "yes")),
        (("diagnosis", "normal"), ("cataract", "no")),
    }


@pytest.mark.parametrize("names", [["Cataract", "NORMAL"], ["Mature_Cataract", "no-cataract"], ["cataract", "healthy"]])
def test_names_are_matched_freely(copy, root, names):
    rename(copy, names)
    assert CataractDetection2.found_in(copy)
    assert [s.labels for s in CataractDetection2(copy).samples()] == [
        s.labels for s in CataractDetection2(root).samples()
    ]


def test_an_unknown_name_is_refused_naming_it_and_the_option(copy):
    rename(copy, ["trueb", "klar"], "cataract-detection-2-x1y2")
    assert CataractDetection2.found_in(copy)
    for reading in (lambda s: s.verify(), lambda s: list(s.samples())):
        with pytest.raises(BadArgument, match=r"'trueb', 'klar'(.|\n)*'klar' is unknown(.|\n)*set `labels`"):
            reading(CataractDetection2(copy))


def test_the_option_labels_defines_the_names(copy, root):
    rename(copy, ["trueb", "klar"])
    source = CataractDetection2(copy, labels={"Trueb": "cataract", "klar": ""})
    found = {s.labels.get("diagnosis") for s in source.samples()}
    assert found == {"cataract", None} and all(s.outlines for s in source.samples())


def test_the_structure_is_an_option(root):
    found = CataractDetection2(root, structure="lens")
    assert {o.structure for s in found.samples() for o in s.outlines} == {"lens"}


@pytest.mark.parametrize(
    ("names", "project"),
    [
        (["Iris", "Ojo Der", "Ojo Izq", "Pupila"], "cau001"),
        (["cataract", "glaucoma", "normal"], "fundus"),
        (["normal", "healthy"], "eyes"),
        (["eye"], "eyes"),
    ],
)
def test_other_exports_are_not_claimed(copy, names, project):
    rename(copy, names, project)
    assert not CataractDetection2.found_in(copy)


def test_cau001_is_not_claimed(tmp_path):
    for flavour in ("yolo", "coco"):
        cau001.write(tmp_path / flavour, 3, 0, 64, flavour, workers=0)
        assert not CataractDetection2.found_in(tmp_path / flavour / "CAU001")


def test_a_photograph_without_a_box_has_no_diagnosis_and_one_of_both_classes_is_listed(copy):
    empty, both = sorted((copy / "train" / "labels").iterdir())[:2]
    empty.write_text("")
    both.write_text("0 0.3 0.5 0.2 0.2\n1 0.7 0.5 0.2 0.2")
    read = list(CataractDetection2(copy).samples())
    bare = {s.key for s in read if isinstance(s, Sample) and not s.labels and not s.outlines}
    assert bare == {f"train/{empty.stem}", f"train/{both.stem}"}
    (dropped,) = (d for d in read if isinstance(d, Dropped))
    assert (dropped.reason, dropped.detail) == ("contradicting classes", "one photograph has cataract and normal")


@pytest.mark.parametrize(
    ("options", "named"),
    [({"labels": {"a": "glaucoma"}}, "not 'glaucoma'"), ({"structure": "Auge"}, "structure='Auge'")],
)
def test_options_must_be_words_that_can_be_used(options, named):
    with pytest.raises(BadArgument, match=named):
        CataractDetection2(**options)


def test_the_reference_searches_for_its_title():
    address = urlsplit(CataractDetection2.reference)
    assert (address.hostname, address.path) == ("universe.roboflow.com", "/search")
    assert parse_qs(address.query) == {"q": ["cataract detection 2"]}
    assert "SRM University Ramapuram" in (CataractDetection2.__doc__ or "")
