"""A part that is named whole on the command line is what its file states, whatever the config names."""

from __future__ import annotations

import json
from itertools import groupby, permutations
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmod_train.cli.curation import curate
from lmod_train.cli.parse import values_of
from lmod_train.cli.typed import content_of, in_order
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import configs_folder

CONFIGS = configs_folder()
MODELS = sorted((CONFIGS / "model").glob("*.yaml"))
TUNED, FROZEN = "lmod_train.models.modules.conversation.VisionLanguageModel", "lmod_train.models.modules.frozen.Frozen"
SCRIPTED = "lmod_train.models.backends.scripted.Scripted"
STRATEGY = "lmod_train.models.strategies.sharding_deepspeed.DeepSpeed"
TABLE = "lmod_train.training.callbacks.prediction_table.PredictionTable"
BASE = {"data": {"curated": "curated", "tasks": [str(CONFIGS / "task" / "glaucoma.yaml")]}}


@pytest.fixture(scope="module")
def parser() -> Any:
    """Lightning's parser with the groups that a config names; a whole command's is ten times as slow."""
    from lightning import Trainer
    from lightning.pytorch.cli import LightningArgumentParser

    from lmod_train.data.datamodules.records import RecordsDataModule
    from lmod_train.models.modules.base import LmodModule

    parser = LightningArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_lightning_class_args(Trainer, "trainer")
    parser.add_lightning_class_args(RecordsDataModule, "data")
    parser.add_lightning_class_args(LmodModule, "model", subclass_mode=True, required=True)
    return parser


@pytest.fixture
def parsed(parser: Any, tmp_path: Path) -> Any:
    """Return a group of options, as resolved from a config and arguments."""

    def parsed(group: str, config: dict[str, Any], *arguments: str, after: bool = False) -> Any:
        file = tmp_path / "config.yaml"
        file.write_text(yaml.safe_dump(BASE | config))
        named = ["--config", str(file)]
        words = [*arguments, *named] if after else [*named, *arguments]
        return without_paths(parser.parse_args(in_order(words))[group].as_dict())

    return parsed


def without_paths(tree: Any) -> Any:
    """Return a tree without the files that its parts were read from."""
    if isinstance(tree, dict):
        return {key: without_paths(value) for key, value in tree.items() if key != "__path__"}
    return [without_paths(item) for item in tree] if isinstance(tree, list) else tree


def class_of(file: Path) -> str:
    """Return the class of a model, with that of its backend."""
    model = yaml.safe_load(file.read_text())
    return f"{model['class_path']} {((model.get('init_args') or {}).get('backend') or {}).get('class_path')}"


@pytest.mark.parametrize("kind", [name for name, _ in groupby(sorted(map(class_of, MODELS)))])
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "every"])
def test_a_shipped_model_over_another_of_its_class_is_that_of_its_file_alone(kind: str, every: bool, parsed: Any):
    files = [file for file in MODELS if class_of(file) == kind]
    files = files if every or len(files) < 3 else [files[0], files[-1]]
    for file, other in zip(files, [*files[1:], *files[:1]], strict=True):
        alone = parsed("model", {}, "--model", str(file))
        assert parsed("model", {"model": str(other)}, "--model", str(file)) == alone, (file, other)
    assert parsed("model", {"model": str(other)}, "--model", str(file), after=True) == alone


def test_options_of_the_configs_model_do_not_reach_the_named_one(parsed: Any, tmp_path: Path):
    (tmp_path / "other.yaml").write_text(yaml.safe_dump({"class_path": TUNED, "init_args": {"checkpoint": "other"}}))
    config = {"model": {"class_path": TUNED, "init_args": {"checkpoint": "x", "max_new_tokens": 999}}}
    for named in (["--model", str(tmp_path / "other.yaml")], [f"--model={tmp_path / 'other.yaml'}"],
                  ["--model", json.dumps({"class_path": TUNED, "init_args": {"checkpoint": "other"}})],
                  ["--model", TUNED, "--model.checkpoint", "other"]):  # fmt: skip
        got = parsed("model", config, *named)["init_args"]
        assert (got["checkpoint"], got["max_new_tokens"]) == ("other", 512), named
    scripted = {"class_path": FROZEN, "init_args": {"backend": {"class_path": SCRIPTED, "init_args": {"text": "no"}}}}
    for name in ("backend", "init_args.backend"):
        got = parsed("model", {"model": scripted}, f"--model.{name}", SCRIPTED)["init_args"]["backend"]
        assert got["init_args"]["text"] == "", name


def test_single_options_apply_to_the_named_model_in_any_order(parsed: Any):
    config = {"model": {"class_path": TUNED, "init_args": {"checkpoint": "x"}}}
    named = ("--model", str(CONFIGS / "model" / "small_base_lora.yaml"))
    for order in permutations([named, ("--model.init_args.max_new_tokens", "7"), ("--model.init_args.dtype=float32",)]):
        got = parsed("model", config, *(word for option in order for word in option))["init_args"]
        assert (got["checkpoint"], got["max_new_tokens"], got["dtype"]) != ("x", 7, "float32")
        assert (got["max_new_tokens"], got["dtype"]) == (7, "float32"), order


def test_a_part_without_a_class_changes_the_configs_model(parsed: Any, tmp_path: Path):
    config = {"model": {"class_path": TUNED, "init_args": {"checkpoint": "x", "max_new_tokens": 999}}}
    (tmp_path / "part.yaml").write_text("init_args: {checkpoint: y}\n")
    for part in (str(tmp_path / "part.yaml"), "{init_args: {checkpoint: y}}"):
        got = parsed("model", config, "--model", part)["init_args"]
        assert (got["checkpoint"], got["max_new_tokens"]) == ("y", 999)


def test_a_trainer_is_merged_but_for_its_strategy_and_callbacks(parsed: Any, tmp_path: Path):
    offload = str(CONFIGS / "trainer" / "deepspeed_zero3_offload.yaml")
    zero2 = CONFIGS / "trainer" / "deepspeed_zero2.yaml"
    config = {"model": str(MODELS[0]), "trainer": offload}
    (tmp_path / "part.yaml").write_text("max_epochs: 7\n")
    assert parsed("trainer", config, "--trainer", str(zero2)) == parsed("trainer", {**config, "trainer": str(zero2)})
    merged = parsed("trainer", config, "--trainer", str(tmp_path / "part.yaml"))
    assert (merged["max_epochs"], merged["strategy"]["init_args"]["stage"], merged["precision"]) == (7, 3, "bf16-mixed")
    one = parsed("trainer", config, "--trainer.strategy", STRATEGY, "--trainer.strategy.init_args.stage", "1")
    assert (one["strategy"]["init_args"]["stage"], one["strategy"]["init_args"]["offload_optimizer"]) == (1, False)
    config["trainer"] = {"callbacks": [{"class_path": TABLE, "init_args": {"rows": 77}}]}  # type: ignore[assignment]
    (tmp_path / "part.yaml").write_text(yaml.safe_dump({"callbacks": [{"class_path": TABLE}]}))
    for options in (["--trainer", str(tmp_path / "part.yaml")], ["--trainer.callbacks", f"[{TABLE}]"]):
        assert parsed("trainer", config, *options)["callbacks"][0]["init_args"]["rows"] == 32, options


def test_a_named_task_has_none_of_the_options_of_the_configs_task(parsed: Any, tmp_path: Path):
    origa, every = (str(CONFIGS / "task" / name) for name in ("glaucoma_lmod_v1.yaml", "glaucoma.yaml"))
    config = {"data": {"curated": "curated", "tasks": [origa]}, "model": str(MODELS[0])}
    (tmp_path / "part.yaml").write_text(f"tasks: [{every}]\nsplit: test\n")
    for options in (["--data.tasks", f"[{every}]"], ["--data", str(tmp_path / "part.yaml")]):
        got = parsed("data", config, *options)
        assert ([t["init_args"]["sources"] for t in got["tasks"]], str(got["curated"])) == ([None], "curated")
    more = parsed("data", config, "--data.tasks+", every)["tasks"]
    assert [t["init_args"]["sources"] for t in more] == [["origa"], None], "with + they are added"
    (tmp_path / "curate.yaml").write_text(f"tasks: [{origa}]\n")
    typed = ["--out", "out", "--tasks", f"[{every}]", "--config", str(tmp_path / "curate.yaml")]
    (task,) = values_of(curate, "curate", typed)["tasks"]
    assert task.settings() == type(task)().settings()


@pytest.mark.parametrize(
    "typed",
    [
        ["RUN", "OTHER", "--out", "page"],
        ["--seed", "-1", "--strict", "--out=x"],
        ["--model.lr", "3", "--model.lr", "4"],
        ["--config"],
        ["--model"],
        ["--trainer", "nowhere.yaml"],
        ["--trainer", "{a: ["],
        ["--data.tasks+", "sex", "--verify", "a", "b"],
        [],
    ],
)
def test_everything_else_stays_as_typed(typed: list[str]):
    assert in_order(typed) == typed


def test_it_is_the_same_twice():
    typed = ["--model.a", "1", "--model", SCRIPTED, "--config", "a.yaml", "--config=b.yaml", "--data.tasks", "[x]"]
    once = in_order(typed)
    assert once[:3] == ["--config", "a.yaml", "--config=b.yaml"]
    assert [word for word in once if word not in ("null", "[]")][-2:] == ["--model.a", "1"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_config_in_another_encoding_is_named_with_its_cure(tmp_path: Path, encoding: str):
    file = tmp_path / "mine.yaml"
    file.write_bytes("run: né 眼\n".replace("眼" if encoding == "latin-1" else "", "").encode(encoding))
    with pytest.raises(BadArgument, match=r"a YAML file in UTF-8 .*\n.*iconv -f utf-16 -t utf-8 .*mine\.yaml"):
        content_of("--config", str(file))
    file.write_bytes("run: né\n".encode("utf-8-sig"))
    assert content_of("--config", str(file)) == {"run": "né"}
