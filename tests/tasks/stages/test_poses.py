from lmod_train.tasks.stages.posed import Missing, Posed
from lmod_train.tasks.stages.poses import POSES, poses
from lmod_train.tasks.stages.stage import STAGE_NAMES
from tests.tasks.stages.samples import cupped, flagged, sample, scan


def test_every_stage_has_a_row_in_order():
    assert ("IQA", *POSES) == STAGE_NAMES == tuple(poses(sample()))


def test_a_sample_without_annotation_has_no_truth():
    assert all(isinstance(one, Missing) and one.reason for one in poses(sample()).values())


def test_the_truth_is_one_of_the_options():
    for asked in (scan(quality="blurred"), flagged("2", key="k3"), cupped(0.6)):
        posed = [one for one in poses(asked).values() if isinstance(one, Posed)]
        assert len(posed) >= 5 and all(one.options.count(one.truth) == 1 for one in posed)
