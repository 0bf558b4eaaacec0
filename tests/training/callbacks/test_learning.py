"""A training that never left ln K, and classes that are balanced twice, are named."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from lmod_train.training.callbacks import learning
from lmod_train.training.callbacks.learning import Learning
from tests.tabled import stored


@pytest.fixture
def warned(monkeypatch):
    """The warnings of a training."""
    found: list[str] = []
    monkeypatch.setattr(learning, "rank_zero_warn", found.append)
    return found


def batches(callback, losses, choices=("a", "b", "c")):
    for loss in losses:
        module = SimpleNamespace(choices=choices)
        callback.on_train_batch_end(SimpleNamespace(callback_metrics={"train/loss": loss}), module)


def train(losses, choices=("a", "b", "c"), callback=None):
    """Let the callback see the losses of batches, a list per epoch."""
    callback, module = callback or Learning(), SimpleNamespace(choices=choices)
    for epoch in losses:
        batches(callback, epoch, choices)
        callback.on_train_epoch_end(None, module)
    callback.on_fit_end(None, module)
    return callback


@pytest.mark.parametrize(
    ("losses", "stuck"),
    stored(__file__, "learning.only_a_loss_that_stays_at_ln_k_is_named"),
)
def test_only_a_loss_that_stays_at_ln_k_is_named(losses, stuck, warned):
    callback = train(losses)
    assert bool(warned) == stuck
    assert callback.warnings.keys() == ({"nothing learned"} if stuck else set())
    if stuck:
        assert f"never left ln 3 = {math.log(3):.3f}" in warned[0]
        assert warned[0].startswith(f"{callback.warnings['nothing learned']}. Next: ")


def test_an_epoch_that_was_interrupted_counts_whole(warned):
    begun, again = Learning(), Learning()
    batches(begun, [0.1, 0.1])
    again.load_state_dict(begun.state_dict())
    batches(again, [2.1, 2.1])
    again.on_train_epoch_end(None, None)
    assert again.state_dict() == {"lowest": pytest.approx(1.1), "losses": []}


def test_a_continued_training_remembers_its_lowest_loss_and_other_models_have_no_classes(warned):
    begun = train([[0.5]])
    again = Learning()
    again.load_state_dict(begun.state_dict())
    train([[1.2]], callback=again)
    train([[5.0]], choices=())
    assert warned == []
    train([[0.69, 0.70]], choices=("yes", "no"))
    assert "ln 2 = 0.693" in warned[0]


@pytest.mark.parametrize(
    ("balance", "weighted", "twice"),
    stored(__file__, "learning.weights_and_draws_together_are_named"),
)
def test_weights_and_draws_together_are_named(balance, weighted, twice, warned):
    trainer = SimpleNamespace(datamodule=SimpleNamespace(balance=balance))
    (callback := Learning()).on_fit_start(trainer, SimpleNamespace(weighted=weighted))
    assert callback.warnings.keys() == ({"classes balanced twice"} if twice else set())
    assert bool(warned) == twice and all("compensate twice" in text for text in warned)
