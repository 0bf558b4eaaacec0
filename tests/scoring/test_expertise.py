import pytest

from lmod_train.errors import BadArgument
from lmod_train.scoring.chain import chain_scores
from tests.scoring.chains import mean, random_items, step_item
from tests.scoring.make import by_metric, values


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_at_each_level(seed):
    items = random_items(seed, several=True)
    scores, levels = chain_scores("chain", items), []
    for level in "RAS":
        own = [i.answer == i.truth for i in items if i.tags["level"] == level]
        got = by_metric(scores, f"level={level}")["esa"]
        assert (got.value, got.n) == (pytest.approx(mean(own)), len(own)) and got.low < got.value < got.high
        levels.append(got.value)
    assert values(scores)["esa_mean"] == pytest.approx(mean(levels))


@pytest.mark.parametrize("seed", range(20))
def test_stages_and_levels_weighted_by_their_questions_give_one_accuracy(seed):
    items = random_items(seed, several=seed % 2 == 0, chains=500 // 20)
    scores = [s for s in chain_scores("chain", items) if s.metric in ("swa", "esa")]
    for metric in ("swa", "esa"):
        own = [s for s in scores if s.metric == metric]
        assert sum(s.n for s in own) == len(items)
        total = sum(s.n * s.value for s in own) / len(items)
        assert total == pytest.approx(mean([i.answer == i.truth for i in items]))


def test_without_levels_there_is_no_accuracy_by_level():
    scores = chain_scores("chain", [step_item("a", "IQA", True)])
    assert not any(s.metric == "esa" for s in scores) and by_metric(scores)["esa_mean"].n == 0


def test_an_unknown_level_is_an_error_that_names_the_record():
    with pytest.raises(BadArgument, match=r"level of a/IQA/0.*'resident'.*R, A, S"):
        chain_scores("chain", [step_item("a", "IQA", True, level="resident")])
