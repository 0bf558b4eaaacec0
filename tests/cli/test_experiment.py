"""Lightning's commands through their front door, in this process."""

import re
import shlex
import shutil
from collections import defaultdict

import pytest
import torch
import yaml

from lmod_train.cli import experiment
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_run_column
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import (
    BadArgument,
    FolderBusy,
    LmodError,
    NotScored,
    RunConflict,
    WeightsNotFound,
)
from lmod_train.core.shipped import configs_folder
from lmod_train.training.callbacks.tripwires import Collapsed
from tests.core.test_lock import end, hold

CONFIGS = configs_folder()
QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
CPU = ["--trainer.accelerator", "cpu", "--trainer.strategy", "auto"]


def test_validate_leaves_a_whole_run_folder(command, tmp_path):
    command("validate", "scripted.yaml", "--run", "here")
    run = tmp_path / "here"
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["model"]["class_path"] == "lmod_train.models.modules.frozen.Frozen"
    assert [t["class_path"].rpartition(".")[2] for t in written["data"]["tasks"]] == ["Anatomy", "FourWay", "Glaucoma"]
    predictions = read_predictions(run / "predictions.parquet")
    assert predictions and {p.record.split for p in predictions} == {"val"}
    assert {p.record.id for p in predictions} == {i for i, *_ in read_replies(run / "replies")}
    strict = {
        s.task: s.value
        for _, _, s in read_scores(run / "scores.csv")
        if (s.subset, s.metric) == ("all", "accuracy_strict")
    }
    assert strict == {"glaucoma": 1.0, "four_way": 1.0}, "the reference answer is always right"


def test_a_run_lies_where_its_config_and_command_say(command, tmp_path):
    command("test", "scripted.yaml")
    assert (tmp_path / "runs" / "scripted" / "test" / "scores.csv").exists()


def test_the_same_configuration_continues_and_another_is_refused(command, tmp_path, curated):
    command("validate", "scripted.yaml", "--run", "here")
    lines = (tmp_path / "here" / "replies" / "rank-0.jsonl").read_text().splitlines()
    (tmp_path / "here" / "replies" / "rank-0.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    command("validate", "scripted.yaml", "--run", tmp_path / "here")  # the same place, written otherwise
    again = (tmp_path / "here" / "replies" / "rank-0.jsonl").read_text().splitlines()
    assert again == lines, "what was answered stays, what was missing was asked"
    with pytest.raises(RunConflict, match=r"data\.limit: 0 -> 3\n  model\.init_args\.backend\.init_args\.text"):
        options = ["--data.limit", "3", "--model.init_args.backend.init_args.text", "no"]
        command("validate", "scripted.yaml", "--run", "here", *options)


def test_a_named_model_replaces_that_of_the_config_and_a_folder_with_both_is_refused(command, tmp_path):
    (tmp_path / "replies.jsonl").write_text('{"id": "x", "reply": "y"}\n')
    backend = {"class_path": "lmod_train.models.backends.scripted.Scripted", "init_args": {"replies": "replies.jsonl"}}
    model = {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": backend}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(model))
    command("predict", "scripted.yaml", "--model", "mine.yaml", "--run", "here")  # its own `text` would be an error
    config = Run(tmp_path / "here").read_config()
    assert config["model"]["init_args"]["backend"]["init_args"] == {"replies": "replies.jsonl", "text": ""}
    config["model"]["init_args"]["backend"]["init_args"]["text"] = "{answer}"
    Run(tmp_path / "here").write_config(config)
    with pytest.raises(RunConflict, match=r"text: '\{answer\}' -> ''\nNext: use the same values"):
        command("predict", "scripted.yaml", "--model", "mine.yaml", "--run", "here")


def test_other_ways_of_asking_continue_a_run_and_its_config_states_them(command, tmp_path, capsys):
    def run(*options):
        command("validate", "scripted.yaml", "--run", "here", *options)
        config = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text())["data"]
        return config, (tmp_path / "here" / "replies" / "rank-0.jsonl").read_text().splitlines()

    config, once = run()
    assert config["asking"]["wordings"] == 1
    config, twice = run("--data.asking.wordings", "2", "--data.asking.system_prompts", "{none: '', expert: You are.}")
    assert len(twice) == 4 * len(once) and twice[: len(once)] == once
    assert (config["asking"]["wordings"], config["asking"]["system_prompts"]["expert"]) == (2, "You are.")
    spread = "glaucoma: accuracy_strict 1.000 to 1.000 over system, sd 0.000; same answer 100.0 %"
    assert spread in capsys.readouterr().out
    subsets = {s.subset for _, _, s in read_scores(tmp_path / "here" / "scores.csv")}
    assert {"wording=0", "wording=1", "system=none", "system=expert"} <= subsets
    with pytest.raises(BadArgument, match=r"data\.asking\.shots=-1: expected a number from 0"):
        run("--data.asking.shots", "-1")


def test_a_run_that_another_process_writes_is_not_touched(command, tmp_path):
    other = hold(tmp_path / "here")
    for name in ("fit", "validate", "test", "predict"):
        with pytest.raises(FolderBusy, match=f"process {other.pid} on"):
            command(name, "cnn_glaucoma.yaml" if name == "fit" else "scripted.yaml", "--run", "here")
        assert [f.name for f in (tmp_path / "here").iterdir()] == [".lock"]
    end(other)


def test_a_start_that_came_to_nothing_does_not_hold_the_folder(command):
    with pytest.raises(WeightsNotFound):
        command("fit", "quickstart.yaml", "--run", "here", "--model.init_args.checkpoint", "nowhere")
    command("validate", "scripted.yaml", "--run", "here")


def test_predict_writes_replies_and_scores_nothing(command, tmp_path):
    command("predict", "scripted.yaml", "--run", "here")
    assert read_replies(tmp_path / "here" / "replies")
    assert not (tmp_path / "here" / "scores.csv").exists()


def test_a_classifier_learns_its_tasks_choices_and_goes_on_from_its_last_step(command, tmp_path):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--run", "here"]
    small += ["--trainer.max_epochs", "2", "--trainer.check_val_every_n_epoch", "1"]
    small += ["--checkpoint.every_n_train_steps", "1"]
    command("fit", "cnn_glaucoma.yaml", *small)
    steps = {step for _, step, _ in read_replies(tmp_path / "here" / "replies")}
    kept = {f.name for f in (tmp_path / "here" / "checkpoints").iterdir()}
    assert kept == {"best.ckpt", "best.json", "last.ckpt", "last.ckpt.before"}
    saved = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    before = (tmp_path / "here" / "replies" / "rank-0.jsonl").read_bytes()
    command("fit", "cnn_glaucoma.yaml", *small)
    assert len(steps) == 2 and (tmp_path / "here" / "replies" / "rank-0.jsonl").read_bytes() == before
    again = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    assert again["global_step"] == saved["global_step"] == max(steps)
    assert all(torch.equal(again["state_dict"][k], v) for k, v in saved["state_dict"].items())
    tuned = ["--model.init_args.side", "16", "--ckpt_path", "here/checkpoints/last.ckpt", "--run", "after"]
    tuned += ["--data.split", "val"]
    command("validate", "cnn_glaucoma.yaml", *tuned)
    after = read_replies(tmp_path / "after" / "replies")
    last = {i: r.reply for (i, step, _), r in read_replies(tmp_path / "here" / "replies").items() if step == max(steps)}
    assert {step for _, step, _ in after} == {max(steps)} and {i: r.reply for (i, *_), r in after.items()} == last
    for run in ("here", "after"):
        told = Run(tmp_path / run).read_config()["provenance"]
        assert (told["epochs"], told["steps"]) == (2, max(steps)), run
    torch.save({**again, "hyper_parameters": {"_class_path": "nowhere.Hostile", "side": 8}}, tmp_path / "received.ckpt")
    command("validate", "cnn_glaucoma.yaml", *tuned[:2], "--ckpt_path", "received.ckpt", "--run", "of_others")
    assert Run(tmp_path / "of_others").read_config()["model"] == Run(tmp_path / "after").read_config()["model"]


def test_the_best_weights_are_named_and_the_printed_command_asks_them(command, tmp_path, capsys):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--run", "here"]
    command("fit", "cnn_glaucoma.yaml", *small, "--trainer.max_epochs", "3", "--trainer.check_val_every_n_epoch", "1")
    printed = " ".join(capsys.readouterr().out.split())
    step, steps, best = re.search(
        r"best.ckpt: step (\d+) of (\d+), mean of the headline scores ([0-9.]+)", printed
    ).groups()
    answers = read_run_column(tmp_path / "here" / "records.parquet", "answer")
    rights = defaultdict(list)
    for (id, at, _), reply in read_replies(tmp_path / "here" / "replies").items():
        rights[at].append(reply.reply == answers[id])
    scores = {at: sum(own) / len(own) for at, own in sorted(rights.items())}
    assert len(scores) == 3 == len({len(own) for own in rights.values()}) * 3 and int(steps) == max(scores)
    assert float(best) == pytest.approx(max(scores.values()), abs=5e-4)
    assert int(step) == max(scores, key=scores.__getitem__)  # the first of equal ones
    typed = re.search(r"next: `python -m lmod_train (test .+?)`", printed)[1]
    experiment.run(shlex.split(typed))
    asked = read_replies(tmp_path / "here_test" / "replies")
    assert {at for _, at, _ in asked} == {int(step)} and (tmp_path / "here_test" / "scores.csv").exists()


def test_lightning_s_own_callbacks_write_into_the_run(command, tmp_path):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--run", "here", "--trainer.max_epochs", "4"]
    own = "lightning.pytorch.callbacks"
    more = [f"--trainer.callbacks+={own}.ModelCheckpoint", "--trainer.callbacks.init_args.save_top_k", "-1"]
    stops = [f"--trainer.callbacks+={own}.EarlyStopping", "--trainer.callbacks.init_args.monitor", "val/score"]
    stops += ["--trainer.callbacks.init_args.mode", "max", "--trainer.callbacks.init_args.stopping_threshold", "0"]
    command("fit", "cnn_glaucoma.yaml", *small, "--trainer.check_val_every_n_epoch", "2", *more, *stops)
    assert {f.name for f in tmp_path.iterdir()} == {"here"}
    kept = {f.name for f in (tmp_path / "here" / "checkpoints").iterdir()}
    assert {"best.ckpt", "last.ckpt"} < kept and any(name.startswith("epoch=") for name in kept)
    assert {f.suffix for f in tmp_path.rglob("*.ckpt")} and not list((tmp_path / "here").glob("lightning_logs"))
    assert {p.parent.name for p in tmp_path.rglob("*.ckpt")} == {"checkpoints"}


BEST = "lmod_train.training.callbacks.best_checkpoint.BestCheckpoint"


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("tpux", ["--trainer.accelerator", "tpux"]),
        ("0", ["--trainer.devices", "0"]),
        ("nope", ["--trainer.strategy", "nope"]),
        ("more than one stateful callback of type `BestCheckpoint`", [f"--trainer.callbacks+={BEST}"] * 2),
    ],
)
def test_a_trainer_that_cannot_be_built_is_two_lines(command, named, options):
    with pytest.raises(LmodError, match=rf"{named}.*\nNext: .*--help") as refused:
        command("validate", "scripted.yaml", "--run", "here", *options)
    assert str(refused.value).count("\n") == 1


def test_a_classifier_of_several_tasks_is_refused(command):
    tasks = [str(CONFIGS / "task" / name) for name in ("glaucoma.yaml", "four_way.yaml")]
    with pytest.raises(BadArgument, match="exactly one task"):
        command("fit", "cnn_glaucoma.yaml", "--data.tasks", f"[{', '.join(tasks)}]")


def test_the_paper_s_recipe_runs_whole_on_a_tiny_checkpoint(command, tiny, tmp_path):
    shutil.copytree(tiny, tmp_path / "tiny")
    tasks = ", ".join(str(CONFIGS / "task" / f"{name}.yaml") for name in ("anatomy", "glaucoma", "four_way"))
    options = [*CPU, "--model.init_args.checkpoint", "tiny", "--data.tasks", f"[{tasks}]"]
    short = [
        "--trainer.max_steps",
        "2",
        "--data.workers",
        "0",
        "--model.init_args.max_new_tokens",
        "32",
        "--data.limit",
        "2",
    ]
    command("fit", "llava_med_ft.yaml", *options, *short, "--run", "here")
    written = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text())
    recipe = written["model"]["init_args"]
    assert (recipe["lora"]["rank"], recipe["lora"]["alpha"], recipe["dtype"]) == (128, 256, "bfloat16")
    assert (recipe["optimisation"]["lr"], recipe["optimisation"]["projector_lr"]) == (2e-4, 2e-5)
    files = {f.name for f in (tmp_path / "here" / "checkpoints" / "adapter").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "chat_template.jinja", "tokenizer.json"} <= files


@pytest.mark.slow
def test_the_second_recipe_of_lmod_tunes_on_glaucoma_alone(command, tmp_path):
    config = yaml.safe_load((CONFIGS / "llava_glaucoma_ft.yaml").read_text())
    assert config["model"] == "model/llava_1_5_7b_lora.yaml" and config["data"]["tasks"] == [
        "task/glaucoma_lmod_v1.yaml"
    ]
    options = [*CPU, "--model.init_args.checkpoint", "small_base"]
    short = ["--trainer.max_steps", "2", "--data.workers", "0", "--data.global_batch", "0"]
    tasks = f"[{CONFIGS / 'task' / 'glaucoma.yaml'}]"  # the drawn eyes are not ORIGA's
    command("fit", "llava_glaucoma_ft.yaml", *options, "--data.tasks", tasks, *short, "--run", "here")
    written = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text())
    assert written["provenance"]["steps"] == 2 and written["model"]["init_args"]["checkpoint"] == "small_base"
    command("test", "llava_glaucoma_ft.yaml", *options, "--data.tasks", tasks, "--data.workers", "0",
            "--ckpt_path", "here/checkpoints/last.ckpt", "--run", "after")  # fmt: skip
    assert {score.task for _, _, score in read_scores(tmp_path / "after" / "scores.csv")} == {"glaucoma"}


def test_without_a_gpu_and_without_weights_one_error_says_what_to_do(command, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(BadArgument, match=r"(?s)trainer\.accelerator='gpu'.*CUDA.*Next: .*" + " ".join(CPU)):
        command("fit", "llava_med_ft.yaml")
    with pytest.raises(WeightsNotFound, match=r"(?s)llava-med-v1\.5-mistral-7b-hf.*Next: .*`hf download microsoft/"):
        command("fit", "llava_med_ft.yaml", *CPU)


def test_a_split_without_records_is_said(command):
    with pytest.raises(BadArgument, match=re.escape("data.modality='OCT'")):
        command("validate", "scripted.yaml", "--data.modality", "OCT", "--data.split", "test")


def test_a_run_that_its_tripwires_stop_leaves_their_picture(command, tiny, tmp_path):
    options = ["--model.init_args.checkpoint", tiny, "--trainer.max_steps", 4, "--trainer.limit_val_batches", 0]
    wires = ["--tripwires.every", 1, "--tripwires.n", 2, "--tripwires.limits.empty", 0]  # no reply is empty enough
    with pytest.raises(Collapsed, match="at step 2, for the second time in a row"):
        command("fit", "quickstart.yaml", "--run", "stopped", "--doctor.refuse", "false", *options, *wires)
    assert (tmp_path / "stopped" / "tripwires.png").stat().st_size > 0


@pytest.mark.parametrize("against", [["nowhere"], ["there", "nowhere"]])
def test_every_run_to_compare_with_must_have_scores(command, tmp_path, against):
    (tmp_path / "there").mkdir()
    Run(tmp_path / "there").scores.touch()
    with pytest.raises(NotScored, match=r"nowhere.scores\.csv"):
        command("validate", "scripted.yaml", "--run", "here", *(f"--against={name}" for name in against))
    assert not (tmp_path / "here").exists(), "before anything is asked"
