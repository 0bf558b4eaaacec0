"""The headline metric of a task follows from the metrics it has."""

from lmod_train.core.types import Score
from lmod_train.scoring.headline_metrics import ERRORS, HEADLINES, SCORES, direction, headline_metric


def test_the_headline_follows_from_the_figures_a_task_has():
    scores = [Score("a", "all", m, 1, 0.5) for m in ("precision", "f1_lmod_plus")] + [Score("b", "all", "bleu", 1, 0.1)]
    scores += [Score("c", "sex=male", "accuracy_strict", 1, 0.5), Score("c", "all", "accuracy_strict", 1, 0.5)]
    assert [headline_metric(scores, task) for task in "abc"] == ["f1_lmod_plus", "bleu", "accuracy_strict"]


def test_the_direction_of_every_metric_of_this_package_is_known_and_of_another_one_is_not():
    assert {direction(m) for m in (*HEADLINES, "exact_match", "kappa")} == {1}
    assert direction("brier") == -1 and direction("rmse") == 0
    larger = "ccr uas esa_mean recall_of_types f1_lmod_v1_answered hr_macro auroc_confidence token_f1_answered"
    smaller = "ece_4 ece_10_debiased ece_10_debiased_likelihood brier_confidence share_failed mean_absolute_error"
    assert {*map(direction, larger.split())} == {1} and {*map(direction, smaller.split())} == {-1}
    assert {*map(direction, ("chance", "majority", "share_answered", "share_refused", "mine_answered"))} == {0}
    assert not ERRORS & SCORES
