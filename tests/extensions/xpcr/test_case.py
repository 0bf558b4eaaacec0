from lmod_train.extensions.xpcr.stages import Case, Missing, case_of, cup_grade, retinopathy
from tests.extensions.xpcr.samples import cupped, flagged, sample, scan
from tests.tabled import tabled


@tabled(
    ("asked", "case"),
    [
        (scan(stage="2"), Case("macular hole", "Gass 2")),
        (flagged("0"), Case("diabetic retinopathy", "ICDR 0")),
        (flagged("3"), Case("diabetic retinopathy", "ICDR 3")),
        (flagged("3", macular_edema="yes"), Case("diabetic retinopathy with macular edema", "ICDR 3")),
        (
            sample(labels={"icdr": "2", "macular_edema_risk": "1"}),
            Case("diabetic retinopathy with macular edema", "ICDR 2"),
        ),
        (sample(labels={"icdr": "2", "macular_edema_risk": "0"}), Case("diabetic retinopathy", "ICDR 2")),
        (cupped(0.7), Case("glaucoma", "cup 2")),
        (cupped(0.4, glaucoma="no"), Case("no glaucoma", "cup 0")),
    ],
)
def test_diagnosis_and_grade_are_those_of_labels_and_masks(asked, case):
    assert case_of(asked) == case


@tabled(
    ("asked", "reason"),
    [
        (scan(hole=None), "the mask shows no hole"),
        (sample(labels={"macular_hole_stage": "2"}), "no mask that can be read"),
        (flagged("2", diabetic_retinopathy="no"), "flag and grade of retinopathy contradict"),
        (flagged("0", macular_edema="yes"), "macular edema without retinopathy"),
        (flagged("2", retinal_detachment="yes"), "retinal detachment decides, not retinopathy"),
        (cupped(None), "no outline of the cup"),
        (sample(labels={"drusen": "yes"}), "no graded diagnosis"),
    ],
)
def test_what_is_not_known_is_missing(asked, reason):
    assert case_of(asked) == Missing(reason)


def test_grades_and_flag_must_agree():
    assert (retinopathy(flagged("1")), retinopathy(flagged("0"))) == (True, False)
    assert retinopathy(sample()) == Missing("no label of a diagnosis")
    contradict = Missing("flag and grade of retinopathy contradict")
    assert retinopathy(sample(labels={"icdr": "1", "sdrg": "0"})) == contradict


def test_grades_of_the_cup_rise_with_the_ratio():
    assert [cup_grade(cupped(ratio)) for ratio in (0.4, 0.6, 0.7, 0.9)] == [0, 1, 2, 3]
