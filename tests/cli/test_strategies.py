"""Which strategy a configuration means: DeepSpeed is always ours, whatever it is called."""

import pytest
from jsonargparse import Namespace

from lmod_train.cli.experiment import DEEPSPEED, ours


@pytest.mark.parametrize(
    ("named", "arguments"),
    [
        ("deepspeed", {"stage": 2}),
        ("deepspeed_stage_1", {"stage": 1}),
        ("deepspeed_stage_2_offload", {"stage": 2, "offload_optimizer": True, "offload_parameters": False}),
        ("deepspeed_stage_3_offload", {"stage": 3, "offload_optimizer": True, "offload_parameters": True}),
    ],
)
def test_lightnings_short_names_mean_ours(named, arguments):
    strategy = ours(named)
    assert strategy.class_path == DEEPSPEED and vars(strategy.init_args) == arguments


def test_lightnings_class_means_ours_with_its_arguments():
    theirs = Namespace(class_path="lightning.pytorch.strategies.DeepSpeedStrategy", init_args=Namespace(stage=3))
    assert ours(theirs) == Namespace(class_path=DEEPSPEED, init_args=Namespace(stage=3))


@pytest.mark.parametrize("other", ["auto", "ddp", Namespace(class_path="lightning.pytorch.strategies.DDPStrategy")])
def test_other_strategies_are_left_as_they_are(other):
    assert ours(other) is other
