"""Cases with several images: read, damaged, and questions that give away answers."""

import json

from lmod_train.core.types import Dropped, Sample
from lmod_train.extensions.xpcr.questions import StatedQuestion
from lmod_train.extensions.xpcr.source import Xpcr, given_away, modalities_in
from tests.tabled import stored, tabled

PAIRS = stored(__file__, "cases.PAIRS")
CASE = {
    "id": "case_7",
    "images": [{"modality": "CFP", "file": "a.jpg"}, {"modality": "fluorescein angiography", "file": "b.PNG"}],
    "qa_pairs": PAIRS,
}


def read(tmp_path, case=CASE, names=("a.jpg", "b.png")):
    folder = tmp_path / "multimodal_cases" / "case_001"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(b"pixels")
    (folder / "case.json").write_text(case if isinstance(case, str) else json.dumps(case), encoding="utf-8")
    assert Xpcr.found_in(tmp_path)
    items = list(Xpcr(tmp_path).samples())
    dropped = [i for i in items if isinstance(i, Dropped)]
    assert [d.key for d in dropped if d.reason == "missing table"] == ["rows"]
    return [i for i in items if isinstance(i, Sample)], [d for d in dropped if d.reason != "missing table"]


def test_a_case_is_a_sample_with_shared_images(tmp_path):
    (sample,), dropped = read(tmp_path)
    assert not dropped
    assert (sample.key, sample.group, sample.modality, sample.image) == (
        "cases/case_7",
        "cases/case_7",
        "CFP+FFA",
        None,
    )
    assert [(i.key, i.modality, i.path.name) for i in sample.shared_images] == [
        ("cases/case_7/a", "CFP", "a.jpg"),
        ("cases/case_7/b", "FFA", "b.png"),
    ]
    assert [(q.variant, q.answer) for q in sample.asked] == [
        ("correspondence", "a vein"),
        ("integration", "a hole"),
        ("selection", "first"),
    ]
    assert sample.asked[0].tags == {"kind": "correspondence", "modalities": "2"}
    assert all(q.task == "cross_modality" and not q.chain for q in sample.asked)


def test_without_a_list_the_modality_begins_the_name_of_the_file(tmp_path):
    (sample,), _ = read(tmp_path, {"qa_pairs": PAIRS}, ("cfp_1.jpg", "ICGA-2.png"))
    assert (sample.key, sample.modality) == ("cases/case_001", "CFP+ICGA")


def test_several_questions_of_a_kind_are_variants(tmp_path):
    more = {"category": "selection", "question": "Why?\nOptions: ['x1', 'y1']", "answer": "x1", "level": "S"}
    (sample,), _ = read(tmp_path, CASE | {"qa_pairs": [*PAIRS, more]})
    assert [q.variant for q in sample.asked][2:] == ["selection-1", "selection-2"]
    assert sample.asked[3].tags["level"] == "S"


@tabled(
    ("why", "case", "names"),
    [
        ("unreadable case file", "[", ("a.jpg", "b.png")),
        ("unreadable case file", "[]", ("a.jpg", "b.png")),
        ("unreadable case file", "[" * 100_000, ("a.jpg", "b.png")),
        ("missing image", CASE, ("a.jpg",)),
        ("number of images", CASE | {"images": CASE["images"][:1]}, ("a.jpg", "b.png")),
        ("number of images", CASE | {"images": [CASE["images"][0]] * 2}, ("a.jpg", "b.png")),
        ("unreadable images", CASE | {"images": "a.jpg"}, ("a.jpg", "b.png")),
        ("unreadable images", CASE | {"images": [None, 3]}, ("a.jpg", "b.png")),
        ("unknown modality", CASE | {"images": [{"modality": "MRI", "file": "a.jpg"}]}, ("a.jpg", "b.png")),
        ("unknown modality", {"qa_pairs": PAIRS}, ("a.jpg", "b.png")),
        ("missing image", CASE | {"images": [{"modality": "CFP", "file": "../../up.jpg"}]}, ("a.jpg", "b.png")),
        ("unusable id", CASE | {"id": "../up"}, ("a.jpg", "b.png")),
        ("no questions", CASE | {"qa_pairs": None}, ("a.jpg", "b.png")),
        ("no usable question", CASE | {"qa_pairs": [{"category": "IQA"}, 3]}, ("a.jpg", "b.png")),
    ],
)
def test_each_reason_is_named(tmp_path, why, case, names):
    samples, dropped = read(tmp_path, case, names)
    assert not samples and [d.reason for d in dropped if d.reason != "no samples"] == [why]


def pairs(*rows):
    return {n: StatedQuestion("selection", text, options, options[0]) for n, (text, *options) in enumerate(rows, 1)}


def test_figure_4_of_the_paper_gives_its_third_answer_away():
    asked = pairs(
        ("In the CFP, a lesion is seen. Which area on the FFA corresponds to it?", "A temporal spot", "A halo"),
        ("Considering the CFP, FFA, and ICGA findings together, what is it?", "PCV", "Diabetic macular edema"),
        ("Which additional modality is most helpful?", "Indocyanine green angiography (ICGA).", "B-scan ultrasound"),
    )
    assert given_away(asked, ["CFP", "FFA", "ICGA"]) == {3: "the words of question 2 contain its answer"}
    alone = {3: asked[3]}
    assert given_away(alone, ["CFP", "FFA", "ICGA"]) == {3: "of the modalities in its options, only ICGA is shown"}
    assert given_away(alone, ["CFP", "FFA"]) == {}
    assert given_away(pairs(("Which shows it?", "FFA", "ICGA")), ["CFP", "FFA", "ICGA"]) == {}


def test_words_of_an_answer_in_another_question_and_common_words():
    asked = pairs(("What is it?", "macular hole", "tear"), ("Where is the Macular Hole?", "a", "b"))
    assert list(given_away(asked, [])) == [1]
    assert given_away(pairs(("Is there one?", "both", "none"), ("What do both show?", "a tear", "b tear")), []) == {}
    assert given_away(pairs(("What is it?", "a hole", "tear"), ("Is a holey thing there?", "c d", "b")), []) == {}


def test_modalities_are_found_as_whole_words():
    assert modalities_in("octopus, RETCAM and Optical Coherence Tomography") == {"OCT", "RetCam"}
