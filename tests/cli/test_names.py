"""Names are looked up before torch loads, and a wrong one is answered with the closest."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lmod_train.cli import main
from lmod_train.cli.commands import LIGHTNING
from lmod_train.cli.names import check_configs, check_names
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import configs_folder


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--trainer.max_epoch 3", r"--trainer.max_epoch'.*\nNext: did you mean `--trainer.max_epochs`"),
        ("--trainr.max_epochs 3", r"--trainr.max_epochs'.*\nNext: did you mean `--trainer.max_epochs`"),
        ("--data.curatd x", r"--data.curatd'.*\nNext: did you mean `--data.curated`"),
        (
            "--model llava-1.5-7b",
            r"--model='llava-1.5-7b'.*\nNext: did you mean `--model llava_1_5_7b`\? Others near",
        ),
        ("--model Qwen/Qwen3-VL-8B-Instruct", r"--model=.*\nNext: did you mean `--model qwen3_vl_8b`"),
        ("--model gpt4o", r"--model='gpt4o'.*\nNext: did you mean `--model gpt_4o`"),
        ("--model xyzzy", r"--model='xyzzy'.*\nNext: `python -m lmod_train list models` lists them"),
        ("--model .", r"--model='.'.*\nNext: .*`--model llava_1_5_7b --model.backend.checkpoint .`"),
        ("--config quickstrt", r"--config='quickstrt'.*\nNext: did you mean `--config quickstart`"),
        ("quickstart.yaml", r"'quickstart.yaml'.*\nNext: .*`--config quickstart.yaml`"),
        (
            "--model lmod_train.models.modules.frozen.Frozn",
            r"class_path=.*Frozn'.*\nNext: did you mean `.*frozen.Frozen`",
        ),
        ("--model lmod_train.models.modules.frzen.Frozen", r"class_path=.*\nNext: did you mean `.*frozen.Frozen`"),
        ("--model model/nothing.yaml", r"--model='model/nothing.yaml'"),
        (
            f"--model {configs_folder()}/model/small_base_lora.yaml --model.init_args.optimisation.lrr 1",
            r"optimisation.lrr'.*\nNext: did you mean `--model.init_args.optimisation.lr`",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_answered_with_the_closest(typed: str, said: str):
    for command in LIGHTNING:
        with pytest.raises(BadArgument, match=said):
            check_names(command, typed.split())


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ("trainer: {max_epoch: 3}", r"trainer.max_epoch'.*\nNext: did you mean `trainer.max_epochs`"),
        ("modl: {class_path: a.B}", r"key='modl.class_path'.*\nNext: did you mean `model.class_path`"),
        ("model: model/none.yaml", r"model='model/none.yaml': expected an existing YAML file"),
        ("model: [1", r"expected a valid YAML file \(.*line 1"),
        ("data: {tasks: [{class_path: lmod_train.tasks.glaucoma.Glaucma}]}", r"did you mean `.*glaucoma.Glaucoma`"),
        ("{" * 3000, "a valid YAML file"),
    ],
)
def test_what_is_wrong_in_a_config_is_named_before_torch(tree: str, said: str, tmp_path: Path):
    (tmp_path / "own.yaml").write_text(tree)
    with pytest.raises(BadArgument, match=said):
        check_names("fit", ["--config", str(tmp_path / "own.yaml")])


def test_a_model_that_is_named_replaces_that_of_the_config_with_its_options():
    typed = ["--config", str(configs_folder() / "zero_shot.yaml"), "--model"]
    given = ["--data.curated", "nowhere"]
    for model in ("small_base_lora", "yi_vl_6b", "openai"):
        known = check_names("validate", [*typed, str(configs_folder() / "model" / f"{model}.yaml"), *given])
        assert known["data.curated"] == "nowhere"


def test_every_shipped_experiment_passes_but_for_its_curated_folder(tmp_path: Path):
    (tmp_path / "manifest.json").write_text('{"schema_version": 4}')
    files = sorted(configs_folder().glob("*.yaml"))
    assert files
    for file in files:
        check_names("fit", ["--config", str(file), f"--data.curated={tmp_path}"])


def test_classes_and_parts_of_ones_own_are_left_to_the_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("part.yaml").write_text("class_path: my_models.Net\ninit_args: {depth: 3}\n")
    Path("own.yaml").write_text("model: part.yaml\ntrainer:\n  callbacks:\n    - class_path: my_models.Watch\n")
    check_names("fit", ["--config", "own.yaml", "--model.init_args.width", "3", "--trainer.callbacks+=my_models.More"])
    check_names("fit", ["--model", "some_package.module.Class", "--model.init_args.optimisation.rate", "3"])
    check_names("fit", ["--trainer.logger", "my_models.Log", "--trainer.logger.save_dir", "x"])


def test_a_class_path_is_known_with_its_options(tmp_path: Path):
    path = "lmod_train.models.modules.conversation.VisionLanguageModel"
    (tmp_path / "own.yaml").write_text(f"model:\n  class_path: {path}\n  init_args: {{max_tokens: 64}}\n")
    check_names("fit", ["--config", str(tmp_path / "own.yaml")])
    with pytest.raises(BadArgument, match=r"did you mean `--model\.init_args\.max_tokens`"):
        check_names("fit", ["--config", str(tmp_path / "own.yaml"), "--model.init_args.max_token", "3"])


def test_a_typo_does_not_wait_for_torch(tmp_path: Path):
    program = (
        "import sys\nfrom lmod_train.cli import main\nstatus = main(sys.argv[1:])\n"
        "print(status, 'torch' in sys.modules, 'lightning' in sys.modules)"
    )
    typed = ["fit", "--config", str(configs_folder() / "zero_shot.yaml"), "--trainer.max_epoch", "3"]
    done = subprocess.run([sys.executable, "-c", program, *typed], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "False", "False"] and len(done.stderr.splitlines()) == 2


def test_a_checkpoint_that_is_missing_leaves_the_run_folder_alone(tmp_path: Path):
    (tmp_path / "manifest.json").write_text('{"schema_version": 4}')
    given = ["--config", str(configs_folder() / "quickstart.yaml"), f"--data.curated={tmp_path}"]
    with pytest.raises(BadArgument, match=r"--ckpt_path='gone.ckpt': expected an existing file"):
        check_names("validate", [*given, "--ckpt_path", "gone.ckpt", "--run", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Everything that may be named by mistake where a checkpoint, a run or a curated folder belongs."""
    (tmp_path / "curated").mkdir()
    (tmp_path / "curated" / "manifest.json").write_text('{"schema_version": 4}')
    (tmp_path / "empty").mkdir()
    (tmp_path / "run" / "replies").mkdir(parents=True)
    (tmp_path / "text").write_text("hi")
    (tmp_path / "cut.ckpt").write_bytes(b"PK\x03\x04" + bytes(500))
    return tmp_path


def test_what_is_no_checkpoint_is_refused_before_a_run_is_begun(places: Path):
    typed = ["--config", str(configs_folder() / "quickstart.yaml"), f"--data.curated={places / 'curated'}"]
    names = ["nowhere", "empty", "run", "curated", "text", "cut.ckpt", "last", "best", "hpc"]
    commands = list(LIGHTNING)
    asked = [(commands[0], name) for name in names] + [(c, n) for c in commands[1:] for n in (names[0], names[-1])]
    for command, name in asked:  # reading the config takes longer than the check, which is the same of each command
        refused = rf"--ckpt_path='.*{name}'.*\nNext: .*--ckpt_path RUN/checkpoints/last.ckpt"
        with pytest.raises(BadArgument, match=refused):
            check_names(command, [*typed, "--ckpt_path", str(places / name), "--run", str(places / "new")])
        assert not (places / "new").exists()


def test_a_checkpoint_is_a_zip_or_a_folder_with_its_facts(places: Path):
    with ZipFile(places / "last.ckpt", "w") as file:
        file.writestr("archive/data.pkl", b"")
    typed = ["--config", str(configs_folder() / "quickstart.yaml"), f"--data.curated={places / 'curated'}"]
    for name in ("meta.pt", "latest"):
        (places / name.replace(".", "-")).mkdir()
        (places / name.replace(".", "-") / name).write_text("")
        check_names("validate", [*typed, "--ckpt_path", str(places / name.replace(".", "-"))])
    check_names("validate", [*typed, "--ckpt_path", str(places / "last.ckpt")])


def test_a_run_is_not_begun_in_a_curated_folder(places: Path):
    with pytest.raises(BadArgument, match="--run="):
        check_names("fit", ["--run", str(places / "curated")])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(held=st.one_of(st.binary(max_size=60), st.text(alphabet="[]{}:,-&*!%'\"a1 \n\t", max_size=60).map(str.encode)))
@example(held=b"[" * 3_000)
@example(held=b"")
def test_whatever_a_config_holds_is_read_or_refused(held: bytes, tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_bytes(held)
    with suppress(BadArgument):
        check_configs(["--config", str(file)])
        assert isinstance(yaml.load(file.read_bytes(), yaml.CSafeLoader), dict)


@pytest.mark.parametrize("held", [b"", b"- 1\n", b"words", b"tasks: [", b"\xc2\x28", b"[" * 3_000])
def test_the_commands_without_torch_refuse_a_damaged_config_too(
    held: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "own.yaml").write_bytes(held)
    for option in (["--config", str(tmp_path / "own.yaml")], [f"--config={tmp_path / 'own.yaml'}"]):
        assert main(["curate", "--out", str(tmp_path / "out"), *option]) == 2
        first, second = capsys.readouterr().err.splitlines()
        assert first.startswith("error: --config=") and second.startswith("Next: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("holds", "allowed"),
    [
        ("photo.jpg", False),
        ("train/images/1.png", False),
        ("scores.csv", False),
        (".lock", True),
        (".DS_Store", True),
        ("config.yaml", True),
        ("doctor.json", True),
        ("replies/rank-0.jsonl", True),
    ],
)
def test_a_run_folder_is_new_or_empty_or_that_of_a_run(holds: str, allowed: bool, tmp_path: Path):
    (tmp_path / holds).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / holds).write_text("")
    refused = pytest.raises(BadArgument, match=r"--run=.*expected a new or empty folder, or the folder of a run")
    with nullcontext() if allowed else refused:
        check_names("validate", ["--run", str(tmp_path)])


def test_another_process_of_a_run_meets_what_the_first_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "begun.part").write_text("")
    monkeypatch.setenv("RANK", "1")
    check_names("fit", ["--run", str(tmp_path)])


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


ODD = (BOMB, "model: &m {class_path: x.Y, init_args: *m}", "a: &a {x: 1}\ndata: {<<: *a}", "data: {seed: 1, seed: 2}")


@pytest.mark.parametrize("text", ODD)
def test_a_config_that_expands_or_says_two_things_is_refused(tmp_path, text):
    (tmp_path / "odd.yaml").write_text(text)
    for check in (lambda words: check_names("validate", words), check_configs):
        with pytest.raises(BadArgument, match=r"a valid YAML file .*(expected the values themselves|twice)"):
            check(["--config", str(tmp_path / "odd.yaml")])


@pytest.mark.parametrize("words", [["--config", ""], ["--config="], ["-c", ""], ["--config", "."], ["--config", "/"]])
def test_a_config_without_a_name_is_refused(words):
    with pytest.raises(BadArgument, match="an existing YAML file"):
        check_names("validate", words)
