"""Missing weights end a command before torch is imported, with the error that the model's class itself would raise."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.cli.model_weights import check_model_weights
from lmod_train.cli.short_names import by_name
from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch, WeightsNotFound
from lmod_train.core.shipped import configs_folder
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.models.vision.backbone import Backbone

CHAT = "--model llava_1_5_7b"
RETFOUND = "--model retfound_faithful"
TIMM = "--model timm"
BACKEND = "lmod_train.models.backends.huggingface.HuggingFace"
TUNED = "lmod_train.models.modules.fine_tuning.FineTuning"
PROBE = "lmod_train.models.modules.linear_probe.LinearProbe"


def check(typed: str) -> None:
    """Check the weights of a command as it is typed."""
    check_model_weights(by_name("validate", typed.split()))


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, where no shipped config finds weights."""
    monkeypatch.chdir(tmp_path)


def test_a_command_without_its_weights_ends_before_torch_is_imported(curated: Path, tmp_path: Path):
    shutil.copytree(SHIPPED / "small_base", "broken")
    Path("broken/model.safetensors").unlink()
    commands = [
        f"validate --config zero_shot {CHAT}",
        "test --config zero_shot --model small_base --model.backend.checkpoint broken",
        "predict --config zero_shot --model small_base --model.init_args.backend.init_args.checkpoint=gone",
        "fit --config llava_med_ft",
        "fit --config retfound_glaucoma",
        f"fit --config cnn_glaucoma {TIMM}",
        "fit --config retfound_glaucoma --seeds 2 --run SERIES",
        "validate --config zero_shot --model linear_probe --data.tasks glaucoma",
    ]
    program = (
        "import json, sys\nfrom lmod_train.cli import main\n"
        "ended = [main([*c.split(), '--data.curated', sys.argv[1]]) for c in json.loads(sys.argv[2])]\n"
        "print(ended, sorted({'torch', 'transformers', 'lightning', 'timm'} & sys.modules.keys()))"
    )
    told = [sys.executable, "-c", program, str(curated), json.dumps(commands)]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{[2] * len(commands)} []"
    errors = done.stderr.splitlines()
    assert sum(line.strip().startswith("Next: ") for line in errors) >= len(commands)
    assert len([line for line in errors if re.match("(error|weights): (checkpoint|weights)=", line)]) == len(commands)
    assert sum(line.startswith("error: ") for line in errors) == len(commands)
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]  # no run was begun


def said(make: object) -> str:
    """Return the text of the error that a function raises."""
    with pytest.raises(LmodError) as caught:
        make()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("missing", ["", "config.json", "model.safetensors", "layout", "shard", "damaged"])
def test_the_error_of_a_chat_model_is_that_of_its_class(missing: str):
    folder = Path("checkpoints/llava-1.5-7b-hf")
    if missing:
        shutil.copytree(SHIPPED / "small_base", folder)
    if (folder / missing).is_file():
        (folder / missing).unlink()
    if missing == "layout":
        (folder / "config.json").write_text('{"model_type": "internvl_chat", "llm_config": {}}')
    if missing == "shard":
        index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    if missing == "damaged":
        (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    text = said(lambda: check(CHAT))
    assert text == said(lambda: HuggingFace(str(folder)))
    assert text.startswith("WeightsMismatch" if missing == "layout" else "WeightsNotFound")


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        (RETFOUND, {"weights": "checkpoints/RETFound_mae_natureCFP.pth"}),
        (f"{RETFOUND} --model.weights other.pth", {"weights": "other.pth"}),
        (f"{RETFOUND} --model.weights .", {"weights": "."}),
        (
            TIMM,
            {
                "weights": "checkpoints/vit_base_patch16_224.mae/model.safetensors",
                "architecture": "vit_base_patch16_224.mae",
            },
        ),
        (
            "--model efficientnet_lite0 --model.weights package:no_such_package/a.pth",
            {"weights": "package:no_such_package/a.pth", "architecture": "tf_efficientnet_lite0.in1k"},
        ),
    ],
)
def test_the_error_of_a_vision_model_is_that_of_its_class(
    typed: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Backbone, "build", lambda *_: None)  # no network, which takes seconds, is needed for an error
    if "package" in typed:
        typed += f" --model.architecture {options['architecture']}"
    assert said(lambda: check(typed)) == said(FineTuning(choices=("A", "B"), **options).configure_model)


def test_every_shipped_model_with_weights_of_its_own_is_refused_without_them():
    for file in sorted((configs_folder() / "model").glob("*.yaml")):
        stated = [line for line in file.read_text().splitlines() if ": checkpoints/" in line and line[0] != "#"]
        if stated:
            with pytest.raises((WeightsNotFound, WeightsMismatch)) as caught:
                check(f"--model {file.stem}")
            assert stated[0].partition(": ")[2] in str(caught.value)
        else:
            check(f"--model {file.stem}")


@pytest.mark.parametrize(
    "typed",
    [
        "--model small_base",
        f"{CHAT} --model small_base",
        f"{CHAT} --model.backend.checkpoint small_base",
        f"--model.init_args.backend.init_args.checkpoint small_base {CHAT}",
        f"{CHAT} --model.backend lmod_train.models.backends.openai.OpenAI",
        f"{CHAT} --model.backend.class_path lmod_train.models.backends.openai.OpenAI",
        f"{CHAT} --model.backend.class_path my.Backend",
        f"{CHAT} --model my.Model --model.checkpoint gone",
        "--model.checkpoint gone",
        f"{RETFOUND} --model.weights random",
        f"{RETFOUND} --model.finetuned true",
        f"{TIMM} --model.architecture tf_efficientnet_lite0",
        "--model openai",
        "--model null",
    ],
)
def test_what_is_there_or_cannot_be_told_is_left_to_the_class(typed: str):
    check(typed)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--model", "small_base", "--model", "llava_1_5_7b"], "checkpoints/llava-1.5-7b-hf"),
        (["--model", "small_base", "--model.backend.checkpoint", "gone"], "gone"),
        (["--config", "zero_shot", "--model.init_args.backend.checkpoint=gone"], "gone"),
        (["--config", "zero_shot", "--model", f"{{class_path: {TUNED}, init_args: {{weights: gone}}}}"], "gone"),
        (["--model.encoder.weights", "gone", "--model", PROBE], "gone"),
        (["--model", "small_base", "--model.backend", BACKEND, "--model.backend.checkpoint", "gone"], "gone"),
    ],
)
def test_the_last_word_counts(words: list[str], named: str):
    with pytest.raises(WeightsNotFound, match=f"'{named}'"):
        check_model_weights(by_name("validate", words))


def test_a_config_that_names_its_model_by_path_is_read(tmp_path: Path):
    (tmp_path / "model.yaml").write_text((configs_folder() / "model" / "llava_1_5_7b.yaml").read_text())
    (tmp_path / "own.yaml").write_text("model: model.yaml\ndata: {curated: nowhere}\n")
    with pytest.raises(WeightsNotFound, match=r"llava-1\.5-7b-hf"):
        check("--config own.yaml")
    (tmp_path / "own.yaml").write_text("model: gone.yaml\n")
    with pytest.raises(BadArgument, match=r"gone\.yaml"):
        check("--config own.yaml")


def test_a_complete_series_of_trainings_needs_no_weights(curated: Path, capsys: pytest.CaptureFixture[str]):
    for seed in (0, 1):
        folder = Path(f"SERIES/seed_{seed}")
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text("{schema_version: 3, provenance: {steps: 1}}")
    told = ["fit", "--config", "retfound_glaucoma", "--data.curated", str(curated), "--run", "SERIES"]
    assert main([*told, "--seeds", "2"]) == 2
    assert "weights=" not in capsys.readouterr().err  # the configuration differs: `fit` itself says so
    shutil.rmtree("SERIES/seed_1")
    assert main([*told, "--seeds", "2"]) == 2 and "error: weights=" in capsys.readouterr().err
