"""Every field of a sample, with a value of every other kind: found, and named in one sentence."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.errors import BadSample
from lmod_train.core.types import Box, Cut, Dropped, MaskFile, Outline, Patient, Region, Sample
from lmod_train.data.curation.inputs import check, read_sources, wrong_field
from lmod_train.data.sources.base import Source
from tests.tabled import tabled

WHOLE = Sample(
    "clinic",
    "eye1",
    "CFP",
    Path("a.jpg"),
    "p1",
    "CC0",
    {"glaucoma": "yes"},
    (MaskFile(Path("m.png"), ({"background": (0,)},), Cut()),),
    (Outline("optic disc", ((0, 1.5), (2, 3))),),
    (Region("optic cup", Box(0, 0, 1, 1)),),
    patient=Patient(age=61, sex="female"),
)


class Clinic(Source):
    name = "clinic"
    modality, licence, redistributable, reference = "CFP", "CC0", True, "https://example.org"
    items: tuple[object, ...] = ()

    @classmethod
    def found_in(cls, folder):
        return True

    def verify(self):
        pass

    def samples(self):
        yield from self.items


def test_what_is_right_passes():
    check(WHOLE, "clinic", "x.Clinic")
    check(Dropped("clinic", "a", "a", "read", "stray file"), "clinic", "x.Clinic")


@tabled("name", [field.name for field in fields(Sample)])
@tabled("value", [None, 7, np.True_, np.int64(3), b"x", {1: "a"}, [Path("a")], (3, None, "x"), object()])
def test_every_field_refuses_values_of_other_kinds(name, value):
    said = wrong_field(replace(WHOLE, **{name: value}))
    if (name, value) == ("image", None):  # a sample may be without an image of its own
        assert said == ""
        return
    assert said.startswith(name) or said.startswith(f"a key of {name}")
    assert "expected " in said and "(" in said


@tabled(
    ("changed", "said"),
    [
        ({"labels": {"glaucoma": 1}}, "labels['glaucoma'] is 1 (int), expected str"),
        ({"labels": {3: "yes"}}, "a key of labels is 3 (int), expected str"),
        ({"key": 12}, "key is 12 (int), expected str"),
        ({"group": Path("p")}, "group is PosixPath('p') (PosixPath), expected str"),
        ({"image": "a.jpg"}, "image is 'a.jpg' (str), expected Path"),
        ({"patient": Patient(age=np.float32(3))}, "patient.age is np.float32(3.0) (float32), expected float or None"),
        ({"patient": Patient(age=True)}, "patient.age is True (bool), expected float or None"),
        (
            {"masks": (replace(WHOLE.masks[0], codings=({"background": (np.uint8(0),)},)),)},
            "masks[0].codings[0]['background'][0] is np.uint8(0) (uint8), expected int",
        ),
        ({"masks": WHOLE.masks[0]}, "masks is "),
        (
            {"outlines": (Outline("optic disc", ((1, 2, 3),)),)},
            "outlines[0].points[0] is (1, 2, 3) (tuple), expected 2 values",
        ),
        ({"regions": (Region("optic cup", Box(0, 0, 1.5, 1)),)}, "regions[0].box.x1 is 1.5 (float), expected int"),
        ({"cut": Cut(half="upper")}, "cut.half is 'upper' (str), expected one of '', 'left', 'right'"),
        ({"source": "other"}, "source is 'other' (str), expected 'clinic'"),
    ],
)
def test_a_wrong_value_ends_curation_in_one_sentence(tmp_path, changed, said):
    source = Clinic(tmp_path)
    source.items = (WHOLE, replace(WHOLE, **changed))
    with pytest.raises(BadSample) as caught:
        read_sources([source])
    assert said in str(caught.value) and "source 'clinic', key " in str(caught.value)
    assert f"{__name__}.Clinic" in str(caught.value)


@tabled("item", [None, {"key": "a"}, "eye1", [WHOLE]])
def test_what_is_neither_sample_nor_drop_is_refused(tmp_path, item):
    source = Clinic(tmp_path)
    source.items = (item,)
    with pytest.raises(BadSample, match="expected Sample or Dropped"):
        read_sources([source])


def test_a_source_without_samples_is_listed(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"")
    full, empty = Clinic(tmp_path), Clinic(tmp_path)
    full.items, empty.name = (replace(WHOLE, image=tmp_path / "a.jpg", masks=()),), "empty"
    dropped = read_sources([full, empty]).dropped
    assert [(d.source, d.key, d.reason, d.extent) for d in dropped] == [("empty", "all", "no samples", "gone")]
