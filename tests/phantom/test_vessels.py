import math

from lmod_train.phantom.eye import draw_eye

EYES = [draw_eye(seed, "normal") for seed in range(12)]


def test_eight_trunks_leave_the_disc_and_veins_are_wider_than_their_arteries():
    for eye in EYES:
        trunks = eye.vessels[:8]
        for vessel in trunks:
            assert math.dist(vessel.points[0], eye.disc) < 0.05
        for artery, vein in zip(trunks[::2], trunks[1::2], strict=True):
            assert (artery.vein, vein.vein) == (False, True)
        assert sum(v.width for v in trunks if v.vein) > sum(v.width for v in trunks if not v.vein)


def test_temporal_arcades_pass_above_and_below_the_fovea():
    for eye in EYES:
        over = [min(v.points, key=lambda p: abs(p[0] - eye.fovea[0]))[1] for v in (eye.vessels[0], eye.vessels[4])]
        assert over[0] < eye.fovea[1] - 0.05 < eye.fovea[1] + 0.05 < over[1]


def test_no_vessel_enters_the_fovea_and_all_grow_thinner():
    for eye in EYES:
        assert min(math.dist(p, eye.fovea) for v in eye.vessels for p in v.points) > 0.04
        assert all(v.end < v.width and len(v.points) > 2 for v in eye.vessels)
