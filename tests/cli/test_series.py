"""``--seeds``: one run for each seed, resumed where it was interrupted, and evaluated by one command."""

from __future__ import annotations

import shutil

import pytest
import torch

from lmod_train import cli
from lmod_train.cli.seeds_and_folds import series_of
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument

FIT = ["fit", "--config", "configs/cnn_glaucoma.yaml"]


def commands(*options):
    return series_of([*FIT, *options]).commands


def test_each_seed_is_a_command_that_can_be_typed_alone():
    assert series_of(FIT) is None
    for typed, seeds in (("2", (0, 1)), ("4,7", (4, 7)), ("4,", (4,))):
        own = commands("--data.limit", "3", f"--seeds={typed}", "--run", "R")
        tails = [["--seed_everything", f"{s}", "--data.seed", f"{s}", "--run", f"R/seed_{s}"] for s in seeds]
        assert own == tuple([*FIT, "--data.limit", "3", *tail] for tail in tails)
    assert commands("--seeds", "1")[0][-1] == "runs/cnn_glaucoma/fit/seed_0"


def test_each_fold_is_a_command_too_and_each_seed_may_have_its_folds():
    series = series_of(["test", "--folds", "3", "--run", "R"])
    assert series.commands == tuple(["test", "--data.fold", f"{k}/3", "--run", f"R/fold_{k}of3"] for k in (1, 2, 3))
    assert [path.as_posix() for path in series.pooled] == ["R"] and series_of(["fit", "--folds", "3"]).pooled == ()
    both = series_of(["validate", "--seeds", "2", "--folds", "3", "--run", "R"])
    runs = [command[command.index("--run") + 1] for command in both.commands]
    assert runs == [f"R/seed_{s}/fold_{k}of3" for s in (0, 1) for k in (1, 2, 3)]
    assert [path.as_posix() for path in both.pooled] == ["R/seed_0", "R/seed_1"]
    for wrong in ("2", "x", "0", "1000"):
        with pytest.raises(BadArgument, match=f"^--folds='{wrong}': expected a number from 3 to 999"):
            commands("--folds", wrong)
    with pytest.raises(BadArgument, match=r"one of --data.fold and --folds"):
        commands("--folds", "3", "--data.fold", "1/3")


@pytest.mark.parametrize("typed", ["0", "-1", "two", "1.5", "3,3", ",", "", "1,b", "1000", "1,4294967296"])
def test_what_is_no_number_of_seeds_is_refused(typed):
    with pytest.raises(BadArgument, match=r"^--seeds="):
        commands(f"--seeds={typed}")


def test_a_seed_that_is_given_twice_and_the_folder_of_a_single_run_are_refused(tmp_path):
    for name in ("--data.seed", "--seed_everything"):
        with pytest.raises(BadArgument, match=f"^{name}='3': expected one of {name} and --seeds"):
            commands("--seeds", "2", name, "3")
    (tmp_path / "config.yaml").touch()
    with pytest.raises(BadArgument, match="this is one of a single run"):
        commands("--seeds", "2", "--run", str(tmp_path))
    (tmp_path / "config.yaml").rename(tmp_path / "notes.txt")
    with pytest.raises(BadArgument, match=r"other files \(notes.txt\)"):
        commands("--seeds", "2", "--run", str(tmp_path))


def test_checkpoints_are_those_of_each_seed_and_of_complete_trainings(tmp_path):
    typed = tmp_path / "FIT" / "checkpoints" / "last.ckpt"

    def of(command):
        series = series_of([command, "--seeds", "2", "--ckpt_path", str(typed)])
        return [own[own.index("--ckpt_path") + 1] for own in series.commands]

    with pytest.raises(BadArgument, match="neither this file nor one of a series"):
        of("test")
    typed.parent.mkdir(parents=True)
    typed.touch()
    assert of("test") == of("fit") == [str(typed)] * 2, "a single one, which all runs start from"
    for seed in (0, 1):
        own = tmp_path / "FIT" / f"seed_{seed}" / "checkpoints" / "last.ckpt"
        own.parent.mkdir(parents=True)
        own.touch()
        Run(own.parents[1]).write_config({"provenance": {"steps": 4}})
    assert of("test") == [str(tmp_path / "FIT" / f"seed_{seed}" / "checkpoints" / "last.ckpt") for seed in (0, 1)]
    Run(tmp_path / "FIT" / "seed_1").write_config({"provenance": {}})
    with pytest.raises(BadArgument, match=r"that of .*seed_1 was interrupted\.\nNext: type the command of `fit` again"):
        of("test")
    (tmp_path / "FIT" / "seed_1" / "checkpoints" / "last.ckpt").unlink()
    with pytest.raises(BadArgument, match=r"a checkpoint of each run; .*seed_1"):
        of("test")


def test_seeds_are_trained_once_each_and_evaluated_together(curated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false", "--trainer.max_epochs", "1"]
    common = ["--config", "cnn_glaucoma", "--data.curated", str(curated), *quiet]
    common += ["--model.init_args.side", "16", "--trainer.check_val_every_n_epoch", "1"]

    def weights(run):
        return torch.load(Run(tmp_path / run).last, weights_only=True)["state_dict"]

    assert cli.main(["fit", *common, "--seeds", "2", "--run", "FIT"]) == 0
    assert cli.main(["fit", *common, "--seed_everything", "1", "--data.seed", "1", "--run", "ALONE"]) == 0
    ours, alone, other = weights("FIT/seed_1"), weights("ALONE"), weights("FIT/seed_0")
    assert all(torch.equal(ours[k], alone[k]) for k in alone), "bit for bit the run that is typed alone"
    assert not all(torch.equal(ours[k], other[k]) for k in ours)
    before = Run(tmp_path / "FIT" / "seed_0").last.stat().st_mtime_ns
    shutil.rmtree(tmp_path / "FIT" / "seed_1")  # as if it had not begun
    capsys.readouterr()
    assert cli.main(["fit", *common, "--seeds", "2", "--run", "FIT"]) == 0
    assert Run(tmp_path / "FIT" / "seed_0").last.stat().st_mtime_ns == before, "a complete training is left alone"
    assert all(torch.equal(weights("FIT/seed_1")[k], alone[k]) for k in alone)
    assert cli.main(["fit", *common, "--seeds", "2", "--run", "FIT", "--model.init_args.lr", "0.5"]) == 2
    assert "model.init_args.lr: 0.001 -> 0.5" in capsys.readouterr().err, "no other training is taken for this one"
    assert cli.main(["fit", *common, "--seeds", "2,", "--run", "FIT", "--model.init_args.lr", "0.5"]) == 2
    assert "model.init_args.lr: 0.001 -> 0.5" in capsys.readouterr().err, "nor does it join their mean"
    scores = Run(tmp_path / "FIT" / "seed_1").scores
    before = scores.read_text()
    scores.unlink()  # as if killed between training and scores
    assert cli.main(["fit", *common, "--seeds", "2", "--run", "FIT"]) == 0
    assert scores.read_text() == before and all(torch.equal(weights("FIT/seed_1")[k], alone[k]) for k in alone)
    test = ["test", *common, "--seeds", "2", "--ckpt_path", "FIT/checkpoints/last.ckpt", "--run", "TEST"]
    assert cli.main(test) == 0
    printed = capsys.readouterr().out
    assert "sd over seeds" in printed and "| TEST | accuracy_strict" in printed
    used = {Run(tmp_path / "TEST" / f"seed_{s}").read_config()["weights"] for s in range(2)}
    assert used == {f"FIT/seed_{s}/checkpoints/last.ckpt" for s in range(2)}


@pytest.mark.slow
def test_folds_are_trained_evaluated_and_pooled(curated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    common = ["--config", "cnn_glaucoma", "--data.curated", str(curated), "--model.init_args.side", "16"]
    common += ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false", "--trainer.max_epochs", "1"]
    assert cli.main(["fit", *common, "--folds", "3", "--run", "CV"]) == 0
    test = ["test", *common, "--folds", "3", "--ckpt_path", "CV/checkpoints/last.ckpt", "--run", "OUT"]
    assert cli.main(test) == 0
    assert "| OUT " in capsys.readouterr().out
    everything = {r.id for r in read_records(curated / "records") if r.task == "glaucoma"}
    assert {p.record.id for p in read_predictions(Run(tmp_path / "OUT").predictions)} == everything
    assert cli.main(test) == 0, "the same command again finds its own folder"
    capsys.readouterr()
    assert cli.main([*test[:-1], "OTHER", "--data.draw_seed", "1"]) == 2, "folds of which the models have seen a part"
    assert "Next: divide the records as in the training" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("there", "typed", "named"),
    [
        ("fold_1of5", ["--folds", "3"], "R.*fold_1of5"),
        ("seed_0", ["--folds", "3"], "R.*seed_0"),
        ("fold_1of3", ["--seeds", "2"], "R.*fold_1of3"),
        ("seed_0/fold_1of5", ["--seeds", "2", "--folds", "3"], "seed_0.*fold_1of5"),
        ("seed_1/replies", ["--seeds", "2", "--folds", "3"], "seed_1.*a single run"),
    ],
)
def test_series_are_not_mixed_in_a_folder(tmp_path, there, typed, named):
    place = tmp_path / "R" / there
    place.mkdir(parents=True)
    with pytest.raises(BadArgument, match=f"^--run=.*{named}"):
        commands(*typed, "--run", str(tmp_path / "R"))
    commands(*typed, "--run", str(tmp_path / "NEW"))


def test_a_series_is_continued_with_more_seeds(tmp_path):
    for name in ("seed_0/fold_1of3", "seed_1/fold_3of3"):
        (tmp_path / name).mkdir(parents=True)
    assert len(commands("--seeds", "3", "--folds", "3", "--run", str(tmp_path))) == 9
