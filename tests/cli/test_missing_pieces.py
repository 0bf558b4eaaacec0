"""What a command lacks is told at once: in one list, each with its next command, and without torch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.cli.missing_pieces import check_gpu
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import config_files

PIECES = ("data", "weights", "GPU", "key", "disk")


def refused(capsys: pytest.CaptureFixture[str], *typed: str) -> str:
    assert main([*typed]) == 2
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("lmod_train.cli.missing_pieces.GPUS", ())


@pytest.mark.parametrize(
    ("typed", "pieces"),
    [
        ("fit --config llava_med_ft", ("data", "weights", "GPU")),
        ("doctor --config llava_med_ft", ("data", "weights", "GPU")),
        ("validate --config retfound_glaucoma", ("data", "weights")),
        ("validate --config zero_shot --model gpt_5_6_sol --trainer.accelerator gpu", ("data", "GPU", "key")),
    ],
)
def test_all_pieces_are_in_one_list_each_with_its_next_step(typed, pieces, capsys):
    told = refused(capsys, *typed.split())
    assert f"{len(pieces)} things are missing" in told
    lines = told.splitlines()
    heads = [line.partition(":")[0] for line in lines if not line.startswith((" ", "Next: "))][1:]
    assert tuple(heads) == pieces
    assert sum(line.startswith("  Next: ") for line in lines) == len(pieces)


def test_one_missing_piece_is_an_error_as_before(capsys):
    told = refused(capsys, "fit", "--config", "quickstart")
    assert "quickstart/curated/manifest.json: missing" in told and "things are missing" not in told


def test_a_full_disk_is_told_before_anything_is_written(capsys, monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 1 << 40, (1 << 30) - 1))
    assert "--run='new': expected a folder on a disk with 1024 MiB free, and 1023 MiB are" in refused(
        capsys, "fit", "--config", "quickstart", "--run", "new"
    )
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 0, 1 << 30))
    assert "disk" not in refused(capsys, "fit", "--config", "quickstart", "--run", "new")


def test_a_machine_with_a_driver_passes_and_other_accelerators_always_do(tmp_path, monkeypatch):
    with pytest.raises(BadArgument, match="no CUDA device"):
        check_gpu("gpu")
    check_gpu("cpu")
    check_gpu("auto", seen=False)
    (tmp_path / "device").touch()
    monkeypatch.setattr("lmod_train.cli.missing_pieces.GPUS", (str(tmp_path / "device"),))
    check_gpu("cuda")
    with pytest.raises(BadArgument, match="no CUDA device"):
        check_gpu("cuda", seen=False)


def test_the_list_needs_no_torch(tmp_path):
    program = "import sys; from lmod_train.cli import main; main(sys.argv[1:]); sys.exit(3 * ('torch' in sys.modules))"
    typed = [sys.executable, "-c", program, "fit", "--config", "llava_med_ft"]
    done = subprocess.run(typed, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and "things are missing" in done.stderr


@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict", "doctor"])
def test_a_bare_command_names_a_config(command, capsys):
    told = refused(capsys, command)
    assert f"`python -m lmod_train {command} --config quickstart`" in told and "list configs" in told


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--model.lr 1", "--model.optimisation.lr"),
        ("--optimizer.lr 1", "--model.optimisation.lr"),
        ("--lr 1", "--model.optimisation.lr"),
        ("--rank 8", "--model.lora.rank"),
        ("--data.max_epochs 3", "--trainer.max_epochs"),
        ("--batch_size 8", "--data.batch_size"),
        ("--model.init_args.warmup 0.1", "--model.optimisation.warmup"),
        ("--patience 3", "--best.patience"),
        ("--trainer.max_epoch 3", "--trainer.max_epochs"),
        ("--model.lora.rnk 3", "--model.lora.rank"),
    ],
)
def test_a_key_that_lies_deeper_is_found(typed, meant, capsys):
    assert f"did you mean `{meant}`?" in refused(capsys, "fit", "--config", "quickstart", *typed.split())


CONFIGS = sorted(name for name, file in config_files().items() if "\nmodel:" in f"\n{file.read_text(encoding='utf-8')}")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "quickstart" else pytest.mark.slow) for n in CONFIGS]
)
def test_a_config_is_printed_without_data_weights_or_gpu(name, capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "--config", name, "--print_config"])
    printed = capsys.readouterr().out
    assert ended.value.code in (0, None) and "model:" in printed and "class_path:" in printed
    assert not list(tmp_path.iterdir())
