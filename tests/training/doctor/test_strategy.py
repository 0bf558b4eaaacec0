"""The check of strategy, devices, launcher and precision; nothing is started."""

import pytest

from lmod_train.training.doctor.check_result import failures
from lmod_train.training.doctor.strategy import strategy, strategy_of
from lmod_train.training.doctor.subject import Subject

SOUND = {"accelerator": "cpu", "devices": 1, "gradient_clip_val": 1.0}
OURS = "lmod_train.models.strategies.sharding_fsdp.FullyShard"


def found(environment=None, dtype="float32", **trainer):
    config = {"trainer": SOUND | trainer, "model": {"init_args": {"dtype": dtype}}}
    return list(strategy(Subject(config, environment=environment or {})))


def levels(findings):
    return [f.level for f in findings]


def test_one_device_passes_and_the_result_names_the_setup():
    (only,) = found()
    assert (only.level, only.what) == ("ok", "auto, devices 1, nodes 1, precision 32-true")


def test_a_launcher_without_a_strategy_is_refused_and_with_one_it_is_not():
    launched = {"WORLD_SIZE": "8"}
    (refused,) = failures(found(launched))
    assert "8 processes" in refused.what and "ddp.yaml" in refused.cure
    assert not failures(found(launched, strategy="ddp", devices=8))
    assert not failures(found({"WORLD_SIZE": "1"}))
    for devices in ("auto", -1, [0], "0,", "1"):
        assert len(failures(found(launched, devices=devices))) == 1, devices
    assert not failures(found(launched, devices=[0, 1])) and not failures(found(launched, devices="0,1"))


def test_the_deepspeed_launcher_without_its_strategy_is_refused():
    pytest.importorskip("deepspeed")
    launched = {"WORLD_SIZE": "8", "CROSS_SIZE": "1", "LOCAL_SIZE": "8"}
    for name in ("auto", "ddp"):
        (refused,) = failures(found(launched, strategy=name, devices=8))
        assert "DeepSpeed would not be used" in refused.what and "deepspeed_zero2" in refused.cure
    ours = {"class_path": "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed", "init_args": {"stage": 2}}
    assert not failures(found(launched, strategy=ours, devices=8))


@pytest.mark.parametrize("options", [{"stage": 0}, {"config": {}}, {"config": {"zero_optimization": {"stage": 0}}}])
def test_a_deepspeed_that_shards_nothing_is_refused(options):
    pytest.importorskip("deepspeed")
    named = {"class_path": "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed", "init_args": options}
    (refused,) = failures(found(strategy=named))
    assert "ZeRO stage 0" in refused.what


@pytest.mark.parametrize("written", ["fsdp", {"class_path": "lightning.pytorch.strategies.FSDPStrategy"}])
def test_fsdp_of_version_1_is_refused(written):
    (refused,) = failures(found(strategy=written))
    assert "fsdp2.yaml" in refused.cure


def test_fsdp2_is_not():
    assert not failures(found(strategy={"class_path": OURS}))


def test_an_optimiser_in_deepspeeds_own_file_is_refused():
    pytest.importorskip("deepspeed")
    named = {"class_path": "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed"}
    own = {"config": {"optimizer": {}, "scheduler": {}, "zero_optimization": {"stage": 2}}}
    (refused,) = failures(found(strategy=named | {"init_args": own}))
    assert "names optimizer, scheduler" in refused.what
    assert not failures(found(strategy=named | {"init_args": {"stage": 2}}))


def test_deepspeeds_own_file_is_read_like_its_mapping(tmp_path):
    pytest.importorskip("deepspeed")
    named = {"class_path": "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed"}
    file = tmp_path / "zero.json"
    for text, message in (
        ('{"scheduler": {}, "zero_optimization": {"stage": 2}}', "names scheduler"),
        ("[1]", "expected a JSON object"),
        ('{"zero_optimization": ', "JSONDecodeError"),
    ):
        file.write_text(text)
        (refused,) = failures(found(strategy=named | {"init_args": {"config": str(file)}}))
        assert message in refused.what
    (absent,) = failures(found(strategy=named | {"init_args": {"config": str(tmp_path / "none.json")}}))
    assert "none.json" in absent.what and "deepspeed_zero2" in absent.cure
    file.write_text('{"zero_optimization": {"stage": 2}}')
    assert not failures(found(strategy=named | {"init_args": {"config": str(file)}}))


def test_float16_and_missing_gradient_clipping_warn():
    assert levels(found(precision="16-mixed")) == ["warn", "ok"]
    assert levels(found(precision="bf16-mixed", dtype="bfloat16")) == ["ok"]
    (warned, _) = found(gradient_clip_val=None)
    assert (warned.level, warned.what) == ("warn", "gradients are not clipped")


def test_the_warning_about_float16_names_the_dtype_of_the_weights_and_float32_where_the_config_names_none():
    def warned(config):
        trainer = SOUND | {"precision": "16-mixed"}
        return next(f.what for f in strategy(Subject({"trainer": trainer} | config, environment={})))

    named = {"model": {"class_path": "pkg.Module", "init_args": {"dtype": "bfloat16"}}}
    assert warned(named) == "precision 16-mixed with bfloat16 weights"
    for config in ({}, {"model": None}, {"model": {"class_path": "pkg.Module"}}, {"model": {"init_args": {}}}):
        assert warned(config) == "precision 16-mixed with float32 weights", config


def test_a_strategy_is_read_by_name_or_class():
    assert strategy_of({"strategy": {"class_path": OURS, "init_args": None}}) == ("fullyshard", {})
    assert strategy_of({"strategy": None}) == ("auto", {})
