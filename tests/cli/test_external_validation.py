"""External validation by commands: images that the model was trained on are refused, and the cure works."""

import re
import shlex
import shutil

import pytest

from lmod_train.cli import experiment
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import read_training_set, training_warnings
from lmod_train.core.shipped import configs_folder
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import discover
from lmod_train.phantom.folders import refuge
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.training_images import Leaked
from tests.drawn import origa

SEED = 1
SHARED = next(number for number, eye in origa.eyes(6, SEED) if eye.diagnosis == "glaucoma")
"""Of ORIGA, with the diagnosis of the photograph that replaces it: contradictory copies are dropped by curation."""


@pytest.fixture
def shared(tmp_path):
    """A curated folder of two sources, of which ORIGA shows one photograph of REFUGE; there is no test split."""
    raw, out = tmp_path / "raw", tmp_path / "curated"
    refuge.write(raw, 12, 0, size=128, workers=0)
    origa.write(raw, 6, SEED, size=128, workers=0)
    photograph = next((raw / "REFUGE" / "REFUGE-Training400").rglob("g0001.jpg"))
    shutil.copy(photograph, raw / "ORIGA" / "Images" / f"{SHARED}.jpg")
    curate(discover(raw).sources, [Glaucoma()], out, ratios=(0.5, 0.5, 0), workers=1, progress=False)
    return out


def test_an_image_of_the_training_in_another_source_is_refused_and_the_printed_cure_passes(
    shared, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    common = ["--config", str(configs_folder() / "cnn_glaucoma.yaml"), "--data.curated", str(shared)]
    common += ["--model.init_args.side", "16", "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]
    fit = ["--data.sources", "refuge", "--data.batch_size", "4", "--trainer.max_epochs", "1", "--run", "FIT"]
    experiment.run(["fit", *common, *fit])
    assert {image.source for image in read_training_set(tmp_path / "FIT")} == {"refuge"}
    said = Run(tmp_path / "FIT").read_config()["provenance"]["trained_on"]["warnings"]
    assert said["nothing learned"].startswith("the training loss never left ln 2"), "two steps teach nothing"
    ids = {r.id for r in read_records(shared / "records") if r.source == "origa"}
    test = ["test", *common, "--data.exclude_sources", "refuge", "--data.split", "all"]
    test += ["--ckpt_path", "FIT/checkpoints/last.ckpt", "--run", "TEST"]
    with pytest.raises(
        Leaked, match=rf"^1 of {len(ids)} records belong to the training of .*glaucoma/origa/{SHARED} \(.*\)"
    ) as error:
        experiment.run(test)
    assert not Run(tmp_path / "TEST").predictions.exists()
    (cure,) = re.findall(f"Next: evaluate the other {len(ids) - 1}: add `(.*)`$", str(error.value))
    experiment.run([*test, *shlex.split(cure)])
    asked = {p.record.id for p in read_predictions(Run(tmp_path / "TEST").predictions)}
    assert asked == ids - {f"glaucoma/origa/{SHARED}"} and len(asked) > 2
    assert training_warnings(Run(tmp_path / "TEST").read_config()) == said, "they follow the checkpoint"
