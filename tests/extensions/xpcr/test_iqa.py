from collections import Counter

from lmod_train.core.perturbations import parse_perturbation
from lmod_train.extensions.xpcr.stages import Missing
from lmod_train.extensions.xpcr.tasks import CLEAN, DEFECTS, GRADES, KINDS, perturbation_of, pose_iqa
from tests.extensions.xpcr.samples import sample
from tests.tabled import stored, tabled


@tabled(
    ("quality", "noted"),
    stored(__file__, "iqa.each_defect_that_is_asked_for_is_there_if_and_only_if_it_is_noted"),
)
def test_each_defect_that_is_asked_for_is_there_if_and_only_if_it_is_noted(quality, noted):
    asked = [pose_iqa(sample(f"k{i}", quality=quality), 0.5) for i in range(30)]
    named = {word for one in asked for words in DEFECTS.values() for word in words.values() if word in one.question}
    own = DEFECTS["Adequate" if "dequate" in quality else "no defect noted"]
    assert named == set(own.values()), "every defect of this set of flags is asked for of some sample"
    for one in asked:
        in_question = [word for word in named if word in one.question]
        affirmed = one.truth.replace("neither", "without").replace(" nor ", " without ").partition("without")[0]
        assert sorted(word for word in in_question if word in affirmed) == sorted(set(noted) & set(in_question))
        assert one.truth in one.options and one.level == "R"


@tabled("quality", ["Inadequate", "Adequate (dust)", "3"])
def test_what_names_no_defect_is_missing(quality):
    assert isinstance(pose_iqa(sample(quality=quality), 0.5), Missing)


def test_half_of_the_images_without_flags_get_one_of_the_listed_defects():
    drawn = [sample(f"k{i}") for i in range(900)]
    asked, names = [pose_iqa(one, 0.5) for one in drawn], [perturbation_of(one, 0.5) for one in drawn]
    assert 400 < names.count("") < 500
    for one, name in zip(asked, names, strict=True):
        kind, grade = parse_perturbation(name) if name else ("", GRADES[0])
        assert one.truth == (KINDS[kind] if kind else CLEAN) and one.truth in one.options and grade in GRADES
        assert len(one.options) == 4 and CLEAN in one.options and one.level == "R"
    assert min(Counter(name.partition("-")[0] for name in names).values()) > 60
    assert len({len(text) for text in (CLEAN, *KINDS.values())}) == 1


def test_the_list_does_not_depend_on_whether_there_is_a_defect():
    for one in (sample(f"k{i}") for i in range(50)):
        assert pose_iqa(one, 1.0).options == pose_iqa(one, 0.001).options


def test_without_a_share_or_with_flags_no_image_is_changed():
    assert pose_iqa(sample(), 0) == Missing("no quality flag") and perturbation_of(sample(), 0) == ""
    assert perturbation_of(sample(quality="Adequate"), 1) == "" == perturbation_of(sample(image=None), 1)
    assert isinstance(pose_iqa(sample(image=None), 1), Missing)
