"""RETFound's recipe and its views by commands: what a run states of them, and what it keeps."""

import pytest

from lmod_train.cli import experiment
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import RunConflict
from lmod_train.core.shipped import configs_folder
from lmod_train.report.origin import origin_of
from lmod_train.report.results import read_outcomes


def test_a_test_of_the_checkpoint_names_its_recipe_and_views_are_another_run(curated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configs = configs_folder()
    common = ["--config", str(configs / "retfound_glaucoma.yaml"), "--model", str(configs / "model/retfound_2025.yaml")]
    common += ["--trainer", str(configs / "trainer/retfound_2025.yaml"), "--data.curated", str(curated)]
    common += ["--data.workers", "0", "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
    common += ["--trainer.precision", "32-true", "--trainer.accelerator", "cpu", "--trainer.max_epochs", "1"]
    common += [f"--model.init_args.{option}" for option in ("size=tiny", "image_size=32", "weights=random")]
    experiment.run(["fit", *common, "--data.batch_size", "4", "--run", "FIT"])
    recipe = "own recipe: label smoothing 0, norm twice, best macro_f1 + auroc_macro + kappa, 1 epochs"
    assert Run(tmp_path / "FIT").read_config()["provenance"]["trained_on"]["recipe"] == recipe
    evaluate = ["validate", *common, "--ckpt_path", "FIT/checkpoints/best.ckpt"]
    for run, options in (("VAL", []), ("FLIP", ["--model.init_args.views", "flip"])):
        experiment.run([*evaluate, *options, "--run", run])
        assert origin_of(read_outcomes(tmp_path / run)).trained.endswith(f"({recipe})")
    with pytest.raises(RunConflict, match=r"views: 'none' -> 'flip'|views: None -> 'flip'"):
        experiment.run([*evaluate, "--model.init_args.views", "flip", "--run", "VAL"])
    rendered = {
        run: {reply.rendered for reply in read_replies(tmp_path / run / "replies").values()} for run in ("VAL", "FLIP")
    }
    assert rendered == {"VAL": {"<32 px picture>"}, "FLIP": {"<32 px picture and its mirror image>"}}
