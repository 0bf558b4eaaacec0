"""Metrics over two processes: the values of one, gathered once and scored once, however the records are divided."""

import pytest
import torch

from lmod_train.scoring.completeness import share_failed
from lmod_train.tasks.glaucoma import Glaucoma
from tests import forks
from tests.scoring.metrics.answers import of_regions, of_words
from tests.scoring.metrics.two_ranks import EYES, FOUND, SHARES, WORDS, work


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    forks.ranks(work, forks.free_port(), str(folder))
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in (0, 1)]


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("how", ["as it is", "half", "pickled"])
@pytest.mark.parametrize("shares", SHARES)
def test_each_rank_has_the_values_of_all(both, rank, how, shares):
    values, (found, scores), calls, gathered, (held, local), again = both[rank][shares, how]
    expected = of_words(*WORDS) | {"RegionF1": of_regions(*EYES)["f1_lmod_plus"]}
    del expected["kappa_quadratic"]
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert found == FOUND and scores == [*Glaucoma().score(FOUND), share_failed("glaucoma", 0, 31)]
    assert calls == [31], "scored once for the whole collection"
    assert gathered == 1, "gathered once for the whole collection"
    first, last = SHARES[shares][rank] or (0, 0)
    assert held == last - first, "after compute a rank holds its own predictions again"
    own = of_words(*(side[first:last] for side in WORDS))["accuracy_strict"] if last else float("nan")
    assert local == pytest.approx(own, nan_ok=True), "without sync_on_compute a rank scores its own"
    assert again == pytest.approx(of_words(*(side[:3] for side in WORDS))["accuracy_strict"]), "after reset too"
