"""Lightning's commands through their front door, in this process."""

import re
import shutil
import signal

import pytest
import torch
import yaml

from lmod_train.cli import experiment
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.core.errors import (
    ArtifactError,
    BadArgument,
    FolderBusy,
    LmodError,
    NotScored,
    RunConflict,
    WeightsNotFound,
)
from lmod_train.core.shipped import configs_folder
from lmod_train.models.modules.base import LmodModule
from lmod_train.scoring.steps import STEPS
from lmod_train.training.callbacks.tripwires import Collapsed
from tests.core.test_lock import end, hold
from tests.report.chained import chain_run, planted
from tests.report.test_other_regimes import write_run

CONFIGS = configs_folder()
QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
CPU = ["--trainer.accelerator", "cpu", "--trainer.strategy", "auto"]


@pytest.fixture
def command(curated, tmp_path, monkeypatch):
    """Run one command on the phantoms; relative paths are below a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(name, config, *options):
        chosen = ["--config", str(CONFIGS / config), "--data.curated", str(curated), *QUIET]
        experiment.run([name, *chosen, *map(str, options)])

    return command


def test_validate_leaves_a_whole_run_folder(command, tmp_path):
    command("validate", "scripted.yaml", "--run", "here")
    run = tmp_path / "here"
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["model"]["class_path"] == "lmod_train.models.modules.frozen.Frozen"
    assert [t["class_path"].rpartition(".")[2] for t in written["data"]["tasks"]] == ["Anatomy", "Glaucoma", "FourWay"]
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
    config["model"]["init_args"]["backend"]["init_args"]["text"] = "{answer}"  # as of a run of an earlier version
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
    config.pop("asking")  # as a run of an earlier version has none
    whole = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text())
    (tmp_path / "here" / "config.yaml").write_text(yaml.safe_dump({**whole, "data": config}))
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
    assert kept == {"last.ckpt", "last.ckpt.before"}
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


def test_a_run_that_was_stopped_and_moved_goes_on_in_the_one_file_it_is_continued_from(command, tmp_path, monkeypatch):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--checkpoint.every_n_train_steps", "1"]

    def stop(self, batch, batch_idx):
        if self.global_step == 1:
            raise RuntimeError("the machine is gone")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="gone"):
        patched.setattr(LmodModule, "on_train_batch_start", stop)
        command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    (tmp_path / "here").rename(tmp_path / "there")
    command("fit", "cnn_glaucoma.yaml", *small, "--run", "there")
    kept = {f.name for f in (tmp_path / "there" / "checkpoints").iterdir()}
    assert kept == {"last.ckpt", "last.ckpt.before"}


def test_ctrl_c_in_training_is_an_interruption_and_the_same_command_goes_on(command, tmp_path, monkeypatch):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--checkpoint.every_n_train_steps", "1"]

    def press(self, batch, batch_idx):
        if self.global_step == 1:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(LmodModule, "on_train_batch_start", press)
            command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    finally:
        signal.signal(signal.SIGINT, before)  # Lightning ignores it while it ends
    stopped = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    ended = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    assert stopped["global_step"] == 1 < ended["global_step"]


def test_a_last_checkpoint_that_cannot_be_read_gives_way_to_the_one_before_and_is_kept_to_look_at(tmp_path):
    last = tmp_path / "last.ckpt"
    assert experiment.continued(last) is None
    torch.save({"global_step": 1}, tmp_path / "last.ckpt.before")
    assert experiment.continued(last) == tmp_path / "last.ckpt.before", "a kill between two renamings"
    torch.save({"global_step": 2}, last)
    assert experiment.continued(last) == last
    last.write_bytes(last.read_bytes()[:-40])
    with pytest.warns(
        UserWarning, match=r"last\.ckpt cannot be read \(truncated.*continuing from the previous checkpoint"
    ):
        assert experiment.continued(last) == tmp_path / "last.ckpt.before"
    assert {f.name for f in tmp_path.iterdir()} == {"last.ckpt.before", "last.ckpt.damaged"}
    (tmp_path / "last.ckpt.before").write_bytes(b"")
    with pytest.raises(ArtifactError, match="no other checkpoint of this run can"):
        experiment.continued(last)


FOUR_STEPS = ["--model.init_args.side", "16", "--data.batch_size", "2", "--checkpoint.every_n_train_steps", "1"]
FOUR_STEPS += ["--trainer.max_steps", "4", "--trainer.max_epochs", "9"]


@pytest.fixture(scope="module")
def stopped(curated, tmp_path_factory):
    """The folders `whole` of a complete training, and `here` of one that was stopped before its last step."""
    folder = tmp_path_factory.mktemp("stopped")

    def stop(self, batch, batch_idx):
        if self.global_step == 3:
            raise RuntimeError("the machine is gone")

    chosen = ["--config", str(CONFIGS / "cnn_glaucoma.yaml"), "--data.curated", str(curated), *QUIET, *FOUR_STEPS]
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        experiment.run(["fit", *chosen, "--run", "whole"])
        patched.setattr(LmodModule, "on_train_batch_start", stop)
        with pytest.raises(RuntimeError, match="gone"):
            experiment.run(["fit", *chosen, "--run", "here"])
    return folder


@pytest.mark.parametrize(
    "fault", ["truncated", pytest.param("missing", marks=pytest.mark.slow), "killed between two renames"]
)
def test_a_training_goes_on_from_the_checkpoint_before_the_last_as_if_nothing_had_happened(
    command, stopped, tmp_path, fault
):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    kept = tmp_path / "here" / "checkpoints"
    last, before = kept / "last.ckpt", kept / "last.ckpt.before"
    if fault == "truncated":
        last.write_bytes(last.read_bytes()[:-60])
    elif fault == "missing":
        last.unlink()
    else:  # the new one is complete, and the last one has been renamed
        before.unlink()
        shutil.copy(last, kept / "last.ckpt.partial")
        last.rename(before)
    command("fit", "cnn_glaucoma.yaml", *FOUR_STEPS, "--run", "here")
    ended, whole = (torch.load(tmp_path / run / "checkpoints" / "last.ckpt") for run in ("here", "whole"))
    assert ended["global_step"] == whole["global_step"] == 4
    assert all(torch.equal(ended["state_dict"][name], tensor) for name, tensor in whole["state_dict"].items())


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


def test_without_a_gpu_and_without_weights_one_error_says_what_to_do(command, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(BadArgument, match=r"(?s)trainer\.accelerator='gpu'.*CUDA.*Next: .*" + " ".join(CPU)):
        command("fit", "llava_med_ft.yaml")
    with pytest.raises(WeightsNotFound, match=r"(?s)llava-med-v1\.5-mistral-7b-hf.*Next: download"):
        command("fit", "llava_med_ft.yaml", *CPU)


def test_a_split_without_records_is_said(command):
    with pytest.raises(BadArgument, match=re.escape("data.split='test'")):
        command("validate", "scripted.yaml", "--data.modality", "OCT", "--data.split", "test")


def test_a_run_that_its_tripwires_stop_leaves_their_picture(command, tiny, tmp_path):
    options = ["--model.init_args.checkpoint", tiny, "--trainer.max_steps", 4, "--trainer.limit_val_batches", 0]
    wires = ["--tripwires.every", 1, "--tripwires.n", 2, "--tripwires.limits.empty", 0]  # no reply is empty enough
    with pytest.raises(Collapsed, match="at step 2, for the second time in a row"):
        command("fit", "quickstart.yaml", "--run", "stopped", "--doctor.refuse", "false", *options, *wires)
    assert (tmp_path / "stopped" / "tripwires.png").stat().st_size > 0


def test_a_run_of_chains_ends_with_a_line_a_stage(tmp_path):
    run, _ = chain_run("one", planted([[(True, 0.9)] * 6, [(False, 0.9)] * 6, [(True, 0.4)] * 6]))
    write_scores(tmp_path / "one" / "scores.csv", "one", "base", run.scores)
    headline, _, table = experiment.scored(tmp_path / "one").partition("\n\n")
    assert "accuracy_strict" in headline and headline.count("\n") == 2
    shown = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert [name.split(",")[0] for name in shown[:6]] == [f"SWA {stage}" for stage in STEPS]
    assert {"CCR, complete chains", "ESA resident", "UAS, points", "ECE, 4 bins, debiased"} < set(shown)


def test_a_cascade_ends_with_what_its_context_did_or_the_command_of_a_run_without_it(tmp_path):
    cascade = write_run(tmp_path / "runs" / "cas_all", {"AL": 9}, "cas_all")
    typed = ["validate", "--config", "xpcr", "--data.regime", "cas_all", "--run", str(cascade)]
    wanted = (
        f"`python -m lmod_train validate --config xpcr --data.regime independent --run {cascade.parent}/independent`"
    )
    assert wanted in experiment.compared(cascade, [], [], typed)
    stranger = write_run(tmp_path / "there" / "other", model="other")
    assert f"not compared with {stranger}: of another model" in experiment.compared(cascade, [stranger], [], typed)
    write_run(tmp_path / "runs" / "alone")
    found = experiment.compared(cascade, [], [], typed)
    (line,) = (line for line in found.splitlines() if "| AL " in line)
    assert [cell.strip() for cell in line.split("|")[1:6]] == ["cas_all - independent", "alone", "AL", "12", "-0.750"]
    assert "type `" not in found


@pytest.mark.parametrize("against", [["nowhere"], ["there", "nowhere"]])
def test_every_run_to_compare_with_must_have_scores(command, tmp_path, against):
    (tmp_path / "there").mkdir()
    Run(tmp_path / "there").scores.touch()
    with pytest.raises(NotScored, match=r"nowhere.scores\.csv"):
        command("validate", "scripted.yaml", "--run", "here", *(f"--against={name}" for name in against))
    assert not (tmp_path / "here").exists(), "before anything is asked"


def test_a_model_without_a_training_step_is_refused_before_a_folder_is_made(command, tmp_path):
    with pytest.raises(BadArgument, match=r"--model='.*Frozen'.*\nNext: .*`--model small_base_lora`"):
        command("fit", "scripted.yaml", "--run", "here")
    assert not (tmp_path / "here").exists()
