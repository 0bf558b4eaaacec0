"""Which strategy a configuration means: DeepSpeed is always ours, whatever it is called."""

import pytest
from jsonargparse import ArgumentParser, Namespace
from lightning.pytorch.strategies import Strategy

from lmod_train.cli.examination import plain
from lmod_train.cli.experiment import DEEPSPEED, ours


@pytest.mark.parametrize(
    ("named", "arguments"),
    [
        ("deepspeed", {"stage": 2}),
        ("deepspeed_stage_1", {"stage": 1}),
        ("deepspeed_stage_2_offload", {"stage": 2, "offload_optimizer": True, "offload_parameters": False}),
        ("deepspeed_stage_3_offload", {"stage": 3, "offload_optimizer": True, "offload_parameters": True}),
        (
            "deepspeed_stage_3_offload_nvme",
            {"stage": 3, "offload_optimizer": True, "offload_parameters": True}
            | {"remote_device": "nvme", "offload_params_device": "nvme", "offload_optimizer_device": "nvme"},
        ),
    ],
)
def test_lightnings_short_names_mean_ours(named, arguments):
    strategy = ours(named)
    assert strategy.class_path == DEEPSPEED and vars(strategy.init_args) == arguments


def test_a_file_sets_what_lightnings_class_takes_and_the_run_folder_keeps_it(tmp_path):
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 1}}')
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(Strategy, "strategy")
    given = {"class_path": DEEPSPEED, "init_args": {"config": str(tmp_path / "ds.json"), "reduce_bucket_size": 5}}
    config = parser.parse_object({"strategy": given})
    kept = plain(parser, config)["strategy"]["init_args"]
    assert kept["reduce_bucket_size"] == 5 and kept["config"] == str(tmp_path / "ds.json")
    assert parser.parse_object({"strategy": {"class_path": DEEPSPEED, "init_args": kept}}).strategy == config.strategy
    built = parser.instantiate(config).strategy
    assert built.config["zero_optimization"]["stage"] == 1 and built.exclude_frozen_parameters


def test_lightnings_class_means_ours_with_its_arguments():
    theirs = Namespace(class_path="lightning.pytorch.strategies.DeepSpeedStrategy", init_args=Namespace(stage=3))
    assert ours(theirs) == Namespace(class_path=DEEPSPEED, init_args=Namespace(stage=3))


@pytest.mark.parametrize("other", ["auto", "ddp", Namespace(class_path="lightning.pytorch.strategies.DDPStrategy")])
def test_other_strategies_are_left_as_they_are(other):
    assert ours(other) is other
