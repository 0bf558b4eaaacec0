"""Rows of X-PCR as samples: ids, patients, chains and variants."""

from itertools import permutations
from pathlib import Path

import pytest

from lmod_train.core.types import Cut, Need
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.extensions.xpcr.questions import words
from lmod_train.extensions.xpcr.release_tables import Reader, patient_of, plain_path
from tests.tabled import stored, tabled

PATH = "CFP/12 ODIR-5K/Training Images/2909_right.jpg"
SET = {"dataset": "12 ODIR-5K"}


def pair(category="IQA", answer="good", **more):
    return {"category": category, "question": f"{category}?\nOptions: ['good', 'bad']", "answer": answer, **more}


def row(**changes):
    return {"id": "cfp_1", "modality": "CFP", "image_path": PATH, "qa_pairs": [pair(), pair("DD")], **changes}


def read(value, cut=None):
    reader = Reader("xpcr", "none", words(), "drop", {plain_path(f"images/{PATH}"): [Path("there.jpg")]})
    return reader.read(value, Path("a.json"), cut, "annotations")


def reason(value):
    with pytest.raises(BadRow) as caught:
        read(value)
    return caught.value.reason


def test_a_row_becomes_a_chain():
    sample = read(row()).sample
    assert (sample.key, sample.group, sample.modality, sample.patient.laterality) == (
        "cfp_1",
        "odir/2909",
        "CFP",
        "right",
    )
    assert sample.image == Path("there.jpg") and sample.cut == Cut()
    first, second = sample.asked
    assert (first.task, first.chain, first.chain_step, first.variant, first.needs) == ("chain", "cfp_1", "IQA", "", ())
    assert (second.chain_step, second.needs) == ("DD", (Need("IQA"),))
    assert (first.choices, first.answer, first.tags) == (("good", "bad"), "good", {"stage": "IQA", **SET})


def test_an_image_inside_the_table():
    sample = read(row(), Cut(column="image", row=3)).sample
    assert (sample.image, sample.cut.row, sample.group) == (Path("a.json"), 3, "odir/2909")


def test_several_questions_of_a_stage_are_variants_of_their_places_and_stages_come_in_order():
    pairs = [pair("DD"), pair(), pair(answer="none"), pair(level="R", impact=5), pair("SG")]
    found = read(row(qa_pairs=pairs))
    assert [(q.chain_step, q.variant) for q in found.sample.asked] == [
        ("IQA", "1"),
        ("IQA", "3"),
        ("DD", ""),
        ("SG", ""),
    ]
    assert found.sample.asked[1].tags == {"stage": "IQA", "level": "R", "impact": "5", **SET}
    assert (
        list(found.problems) == ["answer not among the options"]
        and "question 3" in found.problems["answer not among the options"][0]
    )
    needed = {q.needs[0].variant for q in found.sample.asked if q.needs}
    assert len(needed) == 1 and needed <= {"1", "3"}, "later stages share one drawn question of an earlier stage"


def test_the_drawn_questions_differ_between_rows():
    drawn = {
        q.needs[0].variant
        for n in range(40)
        for q in read(row(id=f"r{n}", qa_pairs=[pair(), pair(), pair("DD")])).sample.asked
        if q.needs
    }
    assert drawn == {"1", "2"}


@tabled(
    ("why", "value"),
    [
        ("not a row", ["cfp_1"]),
        ("not a row", None),
        ("no id", row(id=None)),
        ("no id", row(id="")),
        ("unusable id", row(id="../x")),
        ("unusable id", row(id="a/../b")),
        ("unusable id", row(id="a.")),
        ("unusable id", row(id="x" * 200)),
        ("unusable id", row(id="a\nb")),
        ("unusable id", row(id=1.5)),
        ("unusable id", row(id="x.marked")),
        ("unknown modality", row(modality="MRI")),
        ("unknown modality", row(modality=["CFP"])),
        ("no image", row(image_path=None)),
        ("unusable image path", row(image_path=["a"])),
        ("unusable image path", row(image_path="a\x00b")),
        ("unusable image path", row(image_path="x" * 10**6)),
        ("image outside", row(image_path="/etc/passwd")),
        ("image outside", row(image_path="../../etc/passwd")),
        ("image outside", row(image_path="C:\\x.jpg")),
        ("missing image", row(image_path="CFP/none.jpg")),
        ("no questions", row(qa_pairs=None)),
        ("no questions", row(qa_pairs=[])),
        ("no questions", row(qa_pairs="[{")),
        ("no questions", row(qa_pairs="[" * 100_000)),
        ("no usable question", row(qa_pairs=[pair(answer="none"), 7])),
    ],
)
def test_each_reason_is_named(why, value):
    assert reason(value) == why


def test_questions_as_json_text_and_whole_numbers_as_ids():
    assert read(row(qa_pairs='[{"category": "IQA", "question": "Q?\\nOptions: [\'a\', \'b\']", "answer": "a"}]'))
    assert id_of(17) == "17"


@tabled(
    ("place", "group", "side"),
    stored(__file__, "rows.patients_by_the_names_of_files"),
)
def test_patients_by_the_names_of_files(place, group, side):
    assert patient_of(place) == (group, side)


SPELLINGS = ("CFP/Eye 1.png", "cfp/eye 1.png", "CFP/eye%201.png", "CFP /eye 1.PNG")
"""Different files of some file systems that have the same plain path."""


@tabled("names", [*permutations(SPELLINGS, 2), SPELLINGS])
@tabled("before", ["", "images/"])
def test_files_whose_names_are_alike_are_told_apart_or_the_row_is_left_out(names, before):
    files = [Path(f"ROOT/{before}{name}") for name in names]
    reader = Reader("xpcr", "none", words(), "drop", {plain_path(f"{before}{names[0]}"): files})
    for name in SPELLINGS:
        for place in (name, name.replace("/", "\\"), f"./{name}"):
            value = row(image_path=place)
            if name in names:
                assert reader.read(value, Path("a.json"), None, "").sample.image == Path(f"ROOT/{before}{name}")
            else:
                with pytest.raises(BadRow, match="ambiguous image"):
                    reader.read(value, Path("a.json"), None, "")
