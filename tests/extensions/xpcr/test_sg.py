from lmod_train.extensions.xpcr.stages import Missing, pose_sg
from tests.extensions.xpcr.samples import cupped, flagged, sample, scan
from tests.tabled import tabled


@tabled(
    ("asked", "truth", "options"),
    [
        (scan(stage="4"), "Gass stage 4", 4),
        (flagged("3"), "ICDR grade 3", 5),
        (sample(labels={"sdrg": "2"}), "SDRG grade 2", 5),
        (cupped(0.7), "cup grade 2", 4),
        (cupped(0.7, glaucoma="no"), "cup grade 2", 4),
    ],
)
def test_levels_of_the_scales(asked, truth, options):
    posed = pose_sg(asked)
    assert (posed.truth, len(posed.options), posed.level) == (truth, options, "S")
    assert posed.truth in posed.options and len({len(option) for option in posed.options}) == 1


def test_a_laser_scan_has_the_grade_of_its_cup_without_a_diagnosis():
    assert pose_sg(cupped(0.7, glaucoma=None, modality="SLO")).truth == "cup grade 2"
    assert pose_sg(cupped(None, glaucoma=None, modality="SLO")) == Missing("no outline of the cup")


def test_missing_levels():
    assert pose_sg(scan(hole=None)) == Missing("the mask shows no hole")
    assert pose_sg(flagged("2", diabetic_retinopathy="no")) == Missing("flag and grade of retinopathy contradict")
    assert pose_sg(cupped(0.7, glaucoma=None)) == Missing("no label of a severity")
    assert pose_sg(cupped(None)) == Missing("no outline of the cup")
