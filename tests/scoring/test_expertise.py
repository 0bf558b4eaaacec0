import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.xpcr.scores import SWA_MEAN, chain_scores
from lmod_train.scoring.expertise import ENVELOPES, ESA, ESA_MEAN, LEVELS, in_envelope
from tests.scoring.chains import mean, random_items, step_item
from tests.scoring.make import by_metric, values
from tests.tabled import tabled


@tabled("seed", range(3))
def test_accuracy_at_each_level(seed):
    items = random_items(seed, several=True)
    scores, levels = chain_scores("chain", items), []
    for level in "RAS":
        own = [i.answer == i.truth for i in items if i.tags["level"] == level]
        got = by_metric(scores, f"level={level}")["esa"]
        assert (got.value, got.n) == (pytest.approx(mean(own)), len(own)) and got.low < got.value < got.high
        levels.append(got.value)
    assert values(scores)["esa_mean"] == pytest.approx(mean(levels))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 20))])
def test_stages_and_levels_weighted_by_their_questions_give_one_accuracy(seed):
    items = random_items(seed, several=seed % 2 == 0, chains=500 // 20)
    scores = [s for s in chain_scores("chain", items) if s.metric in ("swa", "esa")]
    for metric in ("swa", "esa"):
        own = [s for s in scores if s.metric == metric]
        assert sum(s.n for s in own) == len(items)
        total = sum(s.n * s.value for s in own) / len(items)
        assert total == pytest.approx(mean([i.answer == i.truth for i in items]))


def test_stages_and_levels_give_one_accuracy_on_10_000_random_chains():
    rng = np.random.default_rng(0)
    right = rng.random((10_000, 6)) < rng.random(6)
    level = rng.integers(3, size=right.shape)
    at = (level[..., None] == np.arange(3)).astype(float)
    sums = {"level_items": at.sum(axis=(0, 1)), "level_right": (at * right[..., None]).sum(axis=(0, 1))}
    esa = [float(measure.value(sums)) for measure in ESA.values()]
    assert np.average(esa, weights=sums["level_items"]) == pytest.approx(right.mean())
    steps = {"step_items": np.full(6, 10_000.0), "step_right": right.sum(axis=0).astype(float)}
    assert float(SWA_MEAN.value(steps)) == pytest.approx(right.mean()), "all steps have one number of questions"
    assert float(ESA_MEAN.value(sums)) == pytest.approx(np.mean(esa))


def test_without_levels_there_is_no_accuracy_by_level():
    scores = chain_scores("chain", [step_item("a", "IQA", True)])
    assert not any(s.metric == "esa" for s in scores) and by_metric(scores)["esa_mean"].n == 0


def test_an_unknown_level_is_an_error_that_names_the_record():
    with pytest.raises(BadArgument, match=r"level of a/IQA/0.*'resident'.*R, A, S"):
        chain_scores("chain", [step_item("a", "IQA", True, level="resident")])


def test_every_level_has_an_envelope_and_bounds_belong_as_printed():
    assert {level for _, level in ENVELOPES} == set(LEVELS)
    for least, largest in ENVELOPES.values():
        assert in_envelope((least + largest) / 2, least, largest)
        assert in_envelope(least, least, largest) == (largest < 1)
        assert in_envelope(largest, least, largest) == (least > 0)
        assert not in_envelope(largest + 0.01, least, largest) and not in_envelope(least - 0.01, least, largest)
