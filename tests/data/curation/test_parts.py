"""Parts of a source under different numbers: what is joined, what is not, and IDRiD's A with B and C in a curation."""

from dataclasses import replace

import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Box, Patient, Region
from lmod_train.data.curation.families import Likeness
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.question_records import Joined, join_parts
from lmod_train.data.sources.idrid import Idrid
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.anatomy import Anatomy
from tests.drawn.idrid import truths, write
from tests.extensions.xpcr.samples import sample
from tests.tabled import tabled

MASKED = sample("A/1", boxes=[("optic disc", 10, 10, 50, 50)], labels={"haemorrhages": "yes"})
GRADED = replace(
    sample("BC/7", boxes=[("fovea", 90, 90, 99, 99), ("optic disc", 0, 0, 5, 5)], labels={"icdr": "2"}),
    patient=Patient(age=50.0),
)


def likeness(one, other, orientation="as is", correlation=0.95):
    return Likeness((one.source, one.key), (other.source, other.key), orientation, correlation)


def test_the_first_gets_what_it_lacks_and_the_second_is_not_asked():
    (one,), joined = join_parts([MASKED, GRADED], [likeness(GRADED, MASKED)])
    assert joined == [Joined("s", "A/1", "BC/7", 0.95)]
    assert (one.key, one.image, one.patient.age) == ("A/1", MASKED.image, 50.0)
    assert one.labels == {"haemorrhages": "yes", "icdr": "2"}
    assert one.regions == (*MASKED.regions, Region("fovea", Box(90, 90, 99, 99), 1))


def test_boxes_of_another_size_stay_out():
    (one,), _ = join_parts([MASKED, replace(GRADED, size=(800, 600))], [likeness(MASKED, GRADED)])
    assert one.regions == MASKED.regions and one.labels.keys() == {"haemorrhages", "icdr"}


@tabled(
    ("other", "how"),
    [
        (GRADED, {"orientation": "mirrored"}),
        (GRADED, {"correlation": 0.8}),
        (replace(GRADED, source="t"), {}),
        (replace(GRADED, labels={"haemorrhages": "yes"}), {}),
    ],
)
def test_what_is_not_joined(other, how):
    assert join_parts([MASKED, other], [likeness(MASKED, other, **how)]) == ([MASKED, other], [])


def test_without_labels_or_without_a_pair_nothing_is_joined_and_nobody_twice():
    bare = [replace(s, labels={}) for s in (MASKED, GRADED)]
    assert join_parts(bare, [likeness(*bare)]) == (bare, [])
    assert join_parts([MASKED, GRADED], []) == ([MASKED, GRADED], [])
    third = replace(GRADED, key="BC/8")
    kept, joined = join_parts(
        [MASKED, GRADED, third], [likeness(MASKED, GRADED), likeness(MASKED, third, "as is", 1.0)]
    )
    assert [j.second for j in joined] == ["BC/8"] and [s.key for s in kept] == ["A/1", "BC/7"]


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    """Sixteen phantoms of which two of part A come again in B and C, one of them encoded anew."""
    root = tmp_path_factory.mktemp("parts")
    write(root / "raw", 16, seed=4, size=160, workers=0, repeated=2)
    for again in [p for p in (root / "raw").rglob("IDRiD_002.jpg") if "a. Training Set" in p.parts]:
        Image.open(again).save(again, format="JPEG", quality=70)
    source = Idrid(root / "raw" / "IDRiD", lesions=True)
    curate([source], [Chain()], root / "out", ratios=(0.6, 0.2, 0.2), workers=1, progress=False)
    return root / "out"


def test_idrids_parts_make_complete_chains(curated):
    joined = read_manifest(curated)["joined_parts"]
    assert [(j["source"], j["first"], j["second"]) for j in joined] == [
        ("idrid", "A/train/IDRiD_01", "BC/train/IDRiD_001"),
        ("idrid", "A/train/IDRiD_02", "BC/train/IDRiD_002"),
    ]
    assert joined[0]["correlation"] == 1.0 > joined[1]["correlation"] >= 0.85
    steps = {}
    for record in read_records(curated / "records"):
        steps.setdefault(record.key, {})[record.chain_step] = record
    assert not {"BC/train/IDRiD_001", "BC/train/IDRiD_002"} & steps.keys()
    grades = {truth.key: truth.labels.get("icdr") for truth in truths(16, seed=4, size=160, repeated=2)}
    for one in joined:
        chain = steps[one["first"]]
        assert {"IQA", "LC", "DD", "SG", "CD"} <= chain.keys() <= set(STAGE_NAMES)
        severity = chain["SG"].choices["ABCDE".index(chain["SG"].answer[-1])]
        assert severity == f"ICDR grade {grades[one['second']]}"
    account = read_manifest(curated)["accounts"]["chain/en"]["sources"]["idrid"]
    assert account["samples"] == 14 and account["complete"] == sum(set(STAGE_NAMES) == set(s) for s in steps.values())


def test_other_tasks_ask_the_parts_by_themselves(tmp_path):
    write(tmp_path / "raw", 8, seed=4, size=96, workers=0, repeated=1)
    curate([Idrid(tmp_path / "raw" / "IDRiD")], [Anatomy()], tmp_path / "out", workers=1, progress=False)
    assert "joined_parts" not in read_manifest(tmp_path / "out")
    keys = {record.key for record in read_records(tmp_path / "out" / "records")}
    assert {"A/train/IDRiD_01", "BC/train/IDRiD_001"} <= keys
