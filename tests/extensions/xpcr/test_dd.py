from lmod_train.extensions.xpcr.stages import CATARACT, DIAGNOSES, GLAUCOMA, HOLES, OTHERS, Missing, pose_dd
from tests.extensions.xpcr.samples import cupped, flagged, lens, sample, scan
from tests.tabled import tabled


def test_options_have_one_length():
    assert [len({len(text) for text in options}) for options in (DIAGNOSES.values(), HOLES, GLAUCOMA, CATARACT)] == [
        *(1, 1, 1, 1)
    ]


@tabled("diagnosis", DIAGNOSES)
def test_four_classes(diagnosis):
    assert pose_dd(sample(labels={"diagnosis": diagnosis})).truth == DIAGNOSES[diagnosis]


def test_stage_1_is_impending_and_a_scan_beside_the_hole_is_not_asked():
    assert [pose_dd(scan(stage=stage)).truth for stage in "1234"] == ["impending hole only"] + 3 * [
        "full-thickness hole"
    ]
    assert pose_dd(scan(hole=None)) == Missing("the mask shows no hole")


def test_glaucoma_needs_no_mask():
    assert [pose_dd(cupped(None, glaucoma=label)).truth for label in ("yes", "no")] == [
        "glaucoma present",
        "without glaucoma",
    ]


def test_a_photograph_of_the_lens_has_cataract_or_none_and_no_disease_of_the_fundus():
    assert [pose_dd(lens(label)).truth for label in ("yes", "no")] == ["cataract present", "without cataract"]
    assert pose_dd(lens()).options == CATARACT and "cataract" in pose_dd(lens()).question


def test_retinopathy_is_asked_with_one_other_disease():
    asked = [pose_dd(flagged("2", key=f"k{i}", myopic_fundus="yes")) for i in range(60)]
    assert {next(name for name in OTHERS if name in one.question) for one in asked} == set(OTHERS)
    for one in asked:
        both = "myopic fundus" in one.question
        assert one.truth.startswith("diabetic retinopathy, as well as" if both else "diabetic retinopathy but without")
        assert one.level == ("S" if both else "A")


def test_idrid_grades_the_risk_of_edema():
    graded = sample(labels={"icdr": "3", "macular_edema_risk": "2"})
    assert pose_dd(graded).truth == "diabetic retinopathy, as well as a risk of macular edema"
    assert pose_dd(sample(labels={"icdr": "0"})) == Missing("no second diagnosis is labelled")
    assert pose_dd(sample()) == Missing("no label of a diagnosis")
