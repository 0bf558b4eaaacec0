import pickle

import torch
from sklearn.metrics import accuracy_score

from lmod_train.scoring.metrics.named import Accuracy
from lmod_train.scoring.metrics.prediction import PredictionMetric
from tests import forks
from tests.scoring.make import prediction
from tests.scoring.metrics.score_functions import binary
from tests.scoring.metrics.two_ranks import ALL, ANSWERS, SHARES, TRUTHS, work

STRICT = accuracy_score(TRUTHS, [s if isinstance(s, str) else "-" for s in ANSWERS])


def single():
    metric = PredictionMetric(binary)
    metric.update(ALL)
    return metric


def test_batches_in_any_order_with_duplicates_give_the_scores_of_the_unique_items():
    metric = PredictionMetric(binary)
    metric.update(ALL[6:])
    metric.update([])
    metric.update(ALL[:8])
    assert list(metric.compute()) == binary(ALL) == list(single().compute())
    assert metric.predictions() == ALL


def test_the_last_update_of_an_id_wins():
    metric = PredictionMetric(binary)
    metric.update([prediction("a", "no"), prediction("b", "yes")])
    metric.update([prediction("a", "yes")])
    assert [p.answer for p in metric.predictions()] == ["yes", "yes"]


def test_pickle_clone_reset():
    metric = single()
    copy, clone = pickle.loads(pickle.dumps(metric)), metric.clone()
    metric.reset()
    metric.update([])
    assert list(metric.compute()) == []
    assert list(copy.compute()) == list(clone.compute()) == binary(ALL)


def test_it_can_be_forwarded_and_composed_like_any_metric():
    metric = Accuracy(binary)
    torch.testing.assert_close(metric(ALL[:2]), torch.tensor(1.0))
    metric(ALL[2:])
    torch.testing.assert_close(metric.compute(), torch.tensor(STRICT, dtype=torch.float32))


def test_two_processes_give_the_scores_of_one(tmp_path, unused_port):
    forks.ranks(work, unused_port, str(tmp_path))
    for rank in (0, 1):
        for name, (scores, accuracy, local, held) in torch.load(tmp_path / f"{rank}.pt", weights_only=False).items():
            assert scores == binary(ALL), (name, rank)
            assert abs(accuracy - STRICT) < 1e-6, (name, rank)
            assert local == binary(SHARES[name][rank]), "without syncing a rank scores its own items"
            assert held == len(SHARES[name][rank]), "after compute a rank holds its own items again"
