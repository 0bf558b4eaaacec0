"""The datamodule of OphthalWeChat."""

from lmod_train.cli.short_names import data_class
from lmod_train.cli.typed import content_of
from lmod_train.core.shipped import config_files
from lmod_train.core.types import class_path
from lmod_train.extensions.ophthalwechat.datamodule import OphthalWeChatDataModule
from lmod_train.tasks.building import build
from lmod_train.tasks.probe import Probe


def test_its_tasks_are_those_of_its_curation_with_an_image():
    tasks = content_of("--config", str(config_files("curate")["ophthalwechat"]))["tasks"]
    built = [build(task["class_path"], task.get("init_args") or {}) for task in tasks]
    assert {task.name for task in built if not isinstance(task, Probe)} == set(OphthalWeChatDataModule.of)
    assert data_class(["--data", "OphthalWeChatDataModule"]) == class_path(OphthalWeChatDataModule)
