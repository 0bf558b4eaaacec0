"""The command `doctor`: the published command is refused, a sound one is not, and neither is started."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import torch
import yaml

from lmod_train.cli import doctor, main
from lmod_train.core.extension import named
from lmod_train.core.shipped import configs_folder
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.chat.delta import make_delta
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.staging import Staging
from tests import published
from tests.drawn import drawn_folders

CONFIGS = configs_folder()


def test_the_published_command_is_refused_for_its_delta_its_two_sharding_systems_and_its_precision(
    tmp_path, monkeypatch, capsys, recwarn
):
    monkeypatch.chdir(tmp_path)
    assert doctor.run(["doctor", "--config", str(CONFIGS / "llava_med_published.yaml"), "--run", "looked"]) == 2
    assert not [w for w in recwarn if "args parameter" in str(w.message)], "arguments were given once"
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "looked" / "doctor.json").read_text())
    failed = {f["check"]: f for f in report["findings"] if f["level"] == "fail"}
    assert report["passed"] is False and {"delta", "strategy", "recipe"} <= failed.keys()
    assert "weights apply-delta" in failed["delta"]["cure"] and "deepspeed_zero3.yaml" in failed["strategy"]["cure"]
    assert "bf16-true" in failed["recipe"]["what"] and "bf16-mixed" in failed["recipe"]["cure"]
    assert "`fit` would refuse to start" in printed and "FAIL  delta" in printed
    assert [p.name for p in (tmp_path / "looked").iterdir()] == ["doctor.json"], "nothing was started"


def test_a_classifier_is_not_refused_for_writing_no_text(curated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--config", str(CONFIGS / "cnn_glaucoma.yaml"), "--data.curated", str(curated), "--run", "looked"]
    assert doctor.run(["doctor", *options]) == 0
    found = {f["check"]: f for f in json.loads((tmp_path / "looked" / "doctor.json").read_text())["findings"]}
    assert found["records"]["level"] == "ok" and "Classifier generates no text" in found["module"]["what"]


def test_the_quick_start_is_sound(curated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--config", str(CONFIGS / "quickstart.yaml"), "--data.curated", str(curated), "--run", "looked"]
    assert doctor.run(["doctor", *options]) == 0
    found = json.loads((tmp_path / "looked" / "doctor.json").read_text())
    assert found["passed"] is True and {f["level"] for f in found["findings"]} <= {"ok", "warn"}
    assert "no check failed" in capsys.readouterr().out


def test_weights_in_the_layout_of_their_own_code_are_refused_with_the_command_that_converts_them(
    curated, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    published.write_llava_med_1_5(tmp_path / "llava-med")

    def failed(checkpoint):
        options = ["--config", str(CONFIGS / "quickstart.yaml"), "--data.curated", str(curated), "--run", "looked"]
        doctor.run(["doctor", *options, "--model.init_args.checkpoint", checkpoint])
        found = json.loads((tmp_path / "looked" / "doctor.json").read_text())["findings"]
        return {f["check"]: f["cure"] for f in found if f["level"] == "fail"}

    cures = failed("llava-med")
    typed = re.search(r"`python -m lmod_train (weights convert [^`]*)`", cures["load_report"])[1]
    assert "delta" not in cures and main(shlex.split(typed)) == 0
    assert "load_report" not in failed(shlex.split(typed)[-1])
    make_delta(tmp_path / "llava-med", tmp_path / "llava-med", tmp_path / "llava-med-7b")
    assert "apply-delta --delta llava-med-7b" in failed("llava-med-7b")["delta"]


@pytest.mark.slow
def test_the_published_training_draws_oct_and_cfp_equally_and_asks_about_macular_holes(tmp_path, monkeypatch):
    """Of a folder of LMOD, the sources of other modalities are left out, and OCT is as frequent as CFP."""
    monkeypatch.chdir(tmp_path)
    for name in [
        "cataract_1k",
        "oimhs",
        "fairseg",
        "cau001",
        "cataract_detection_2",
        "refuge",
        "idrid",
        "origa",
        "g1020",
    ]:
        named(drawn_folders()[name]).write(Path("raw"), 16, 0, workers=0)
    published = (CONFIGS / "llava_med_published.yaml").read_text()
    protocol = re.search(r"curated: curated/(\w+)", published)[1]
    assert main(["curate", "--config", protocol, "--raw", "raw", "--out", "folder"]) == 0
    written = yaml.safe_load(published)["data"]
    tasks = [Anatomy(), Glaucoma(), Staging()]
    data = RecordsDataModule(
        Path("folder"), tasks, batch_size=1, sources=written["sources"], balance=written["balance"]
    )
    data.setup("fit")
    records, draw = data._draw()
    counted = Counter((records[i].modality, records[i].task) for group in draw(0) for i in group)
    by_modality = {m: sum(n for (own, _), n in counted.items() if own == m) for m, _ in counted}
    assert by_modality.keys() == {"OCT", "CFP"}
    assert abs(by_modality["OCT"] - by_modality["CFP"]) <= 1
    assert {task for _, task in counted} == {"anatomy", "glaucoma", "macular_hole_stage"}
