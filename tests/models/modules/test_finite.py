"""A loss, gradient, weight or moment that is NaN or infinite stops a training and reaches no checkpoint."""

import re

import pytest
import torch
from lightning import Callback
from lightning.pytorch.plugins import MixedPrecision

from lmod_train.core.errors import LmodError, WeightsNotFound
from tests.models.modules import finite_ranks
from tests.models.modules.finite_ranks import Learner, fit
from tests.tiny import record, write_curated


@pytest.fixture
def place(tmp_path):
    return write_curated(tmp_path, [record(f"glaucoma/p/{i}", image=[f"{i}.png"], split="train") for i in range(6)])


class Watch(Callback):
    """Notes the records of each batch, and optionally spoils a tensor after the third step."""

    def __init__(self, spoil=None):
        self.seen, self.spoil = [], spoil

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.seen.append([r.id for r in batch.records])

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.spoil and trainer.global_step == 3:
            self.spoil(trainer, pl_module)


def saved(place):
    return torch.load(place / "kept" / "last.ckpt", weights_only=True)


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("fault", ["loss", "gradient"])
def test_training_stops_before_the_step_and_names_its_records(place, fault, at_once):
    watch, module = Watch(), Learner(fault, "/2")
    with pytest.raises(
        LmodError, match=rf"(?s)the {fault} at step \d+ is NaN .*\nNext: .*model\.init_args\.lr"
    ) as told:
        fit(place, module, watch, accumulate_grad_batches=at_once)
    named = set(re.findall(r"glaucoma/p/\d", str(told.value)))
    step = watch.seen[-at_once:] if fault == "gradient" else [["glaucoma/p/2"]]
    assert named == {i for batch in step for i in batch}, "a loss names its batch, a gradient all batches of its step"
    assert all(p.isfinite().all() for p in module.parameters()), "the step was not taken"
    if (place / "kept").exists():
        assert all(t.isfinite().all() for t in saved(place)["state_dict"].values())


def test_finite_training_runs_to_its_end(place):
    assert fit(place, Learner()).global_step == saved(place)["global_step"] == 12


@pytest.mark.parametrize(
    "spoil",
    [
        lambda trainer, module: module.second.data.fill_(torch.inf),
        lambda trainer, module: trainer.optimizers[0].state[module.first]["exp_avg_sq"].fill_(torch.nan),
    ],
)
def test_a_tensor_that_is_not_finite_replaces_no_checkpoint(place, spoil):
    expected = r"step 3 was not written, and the previous one is unchanged: 1 of \d+ tensors"
    with pytest.raises(LmodError, match=expected):
        fit(place, Learner(), Watch(spoil))
    assert saved(place)["global_step"] == 2
    assert all(t.isfinite().all() for t in saved(place)["state_dict"].values())


def test_a_step_that_a_gradient_scaler_leaves_out_is_no_error_but_a_scale_below_one_is(place):
    scaler = torch.amp.GradScaler("cpu", init_scale=3e38, growth_interval=100)  # overflows at first
    fit(place, module := Learner(), plugins=[MixedPrecision("16-mixed", "cpu", scaler)])
    assert 1 < scaler.get_scale() < 3e38 and all((p != 1).all() for p in module.parameters())
    with pytest.raises(LmodError, match="the loss at step"):
        fit(place, Learner("loss", "/2"), plugins=[MixedPrecision("16-mixed", "cpu", scaler)])
    small = torch.amp.GradScaler("cpu", init_scale=0.5, growth_interval=100)
    with pytest.raises(LmodError, match="the gradient at step 0"):
        fit(place, Learner(), plugins=[MixedPrecision("16-mixed", "cpu", small)])


def test_all_processes_stop_together_and_name_the_record_of_one(place, tmp_path):
    errors = finite_ranks.run(place, tmp_path)
    assert errors[0] == errors[1] and re.findall(r"glaucoma/p/\d", errors[0]) == ["glaucoma/p/2"]


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e30])
def test_a_checkpoint_with_impossible_values_is_not_loaded(value):
    module = Learner()
    tensors = {"first": torch.ones(2), "second": torch.zeros(2)}
    module.on_load_checkpoint({"state_dict": tensors, "global_step": 1})
    with pytest.raises(WeightsNotFound, match=r"1 of 2 tensors hold NaN, .*e\.g\. second"):
        module.on_load_checkpoint({"state_dict": {**tensors, "second": torch.tensor([0.0, value])}, "global_step": 1})
