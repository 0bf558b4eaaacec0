"""Which code and which weights made a run stands in its config."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest
import transformers
import yaml

from lmod_train import __version__
from lmod_train.cli.run_provenance import network_of, note, revision, write_provenance
from lmod_train.core.errors import RunConflict, WeightsNotFound
from lmod_train.core.files import sha256_of
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.backends.openai import OpenAI
from lmod_train.models.chat.checkpoint_files import SHIPPED
from lmod_train.models.chat.pictures import input_of
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.frozen import Frozen


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("seed: 1\n")
    for name in ("base", "last.ckpt"):
        (tmp_path / name).write_text(name)
    return tmp_path / "run"


def provenance_of(config: dict) -> tuple[str, str | None, dict[str, str]]:
    """Return version, revision and weights that a run's config states."""
    known = config.get("provenance", {})
    return known.get("lmod_train", ""), known.get("git"), known.get("weights", {})


def written(run: Path) -> dict:
    return yaml.safe_load((run / "config.yaml").read_text())


def test_version_revision_and_the_hash_of_every_file_are_written(run: Path, tmp_path: Path):
    write_provenance(run, (tmp_path / "base", "https://models.example/v1", tmp_path / "last.ckpt"))
    assert written(run)["seed"] == 1
    version, git, weights = provenance_of(written(run))
    assert version == __version__ and (git is None or len(git) >= 40)
    assert weights == {
        f"{tmp_path.name}/base": sha256_of(tmp_path / "base"),
        "https://models.example/v1": "https://models.example/v1",
        f"{tmp_path.name}/last.ckpt": sha256_of(tmp_path / "last.ckpt"),
    }
    write_provenance(run, ())
    assert provenance_of(written(run))[2] == {}, "drawn at random"


def test_a_training_does_not_go_on_from_other_weights_and_an_evaluation_does(run: Path, tmp_path: Path):
    weights = [tmp_path / "base"]
    write_provenance(run, weights)
    write_provenance(run, weights, continues=True)
    (tmp_path / "base").write_text("esab")
    with pytest.raises(RunConflict, match=f"weights.{tmp_path.name}/base: "):
        write_provenance(run, weights, continues=True)
    write_provenance(run, weights)
    assert provenance_of(written(run))[2] == {f"{tmp_path.name}/base": sha256_of(tmp_path / "base")}


def test_a_run_of_an_earlier_version_goes_on(run: Path, tmp_path: Path):
    write_provenance(run, [tmp_path / "base"], continues=True)
    assert provenance_of(written(run))[0] == __version__


def test_the_revision_is_that_of_the_checkout_and_none_elsewhere(tmp_path: Path):
    (tmp_path / "package").mkdir()
    assert revision(tmp_path / "package") is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tmp_path / "package" / "a").write_text("1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert revision(tmp_path / "package") == head
    (tmp_path / "package" / "a").write_text("2")
    assert revision(tmp_path / "package") == f"{head}-dirty"


def test_how_long_the_weights_were_trained_stands_beside_them(run: Path, tmp_path: Path):
    write_provenance(run, [tmp_path / "base"])
    note(run, epochs=3, steps=120)
    said = written(run)["provenance"]
    assert (said["epochs"], said["steps"]) == (3, 120) and provenance_of(written(run))[2] and written(run)["seed"] == 1
    write_provenance(run, [tmp_path / "base"])
    assert "epochs" not in written(run)["provenance"], "the next command answers with other weights"


def test_a_matrix_of_zeros_is_printed_and_written_and_nan_is_refused(run: Path, tmp_path: Path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    file = tmp_path / "model.safetensors"
    save_file({"a.weight": torch.zeros(2, 2), "b.weight": torch.ones(2, 2)}, file)
    with pytest.warns(UserWarning, match=r"1 weight matrices contain only zeros, e\.g\. a\.weight"):
        write_provenance(run, [file])
    assert written(run)["provenance"]["zero_matrices"] == {f"{tmp_path.name}/model.safetensors": ["a.weight"]}
    save_file({"a.weight": torch.full((2, 2), torch.nan)}, file)
    with pytest.raises(WeightsNotFound, match="1 of 1 tensors hold NaN"):
        write_provenance(run, [file])


def test_what_was_loaded_of_a_file_is_written_beside_the_rest(run: Path):
    write_provenance(run, [])
    note(run, loaded="w.pth: 3 tensors loaded; the file also holds 'model_ema'")
    found = written(run)["provenance"]
    assert found["loaded"].endswith("'model_ema'") and found["lmod_train"] == __version__
    note(run, loaded="")
    assert written(run)["provenance"]["loaded"].endswith("'model_ema'")


def test_parameters_and_input_of_a_local_network_are_written(run: Path):
    from safetensors import safe_open

    backend = HuggingFace("small_base")
    backend.prepare("cpu")
    note(run, network=network_of(Frozen(backend)))
    with safe_open(SHIPPED / "small_base" / "model.safetensors", "pt") as file:
        count = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    assert written(run)["provenance"]["network"] == {"parameters": count, "resolution": "192 x 192"}


def test_a_classifier_has_the_side_of_its_crops_and_a_server_nothing(run: Path):
    module = Classifier(("a", "b"), side=64)
    module.configure_model()
    note(run, network=network_of(module))
    known = written(run)["provenance"]["network"]
    assert known == {"parameters": sum(p.numel() for p in module.parameters()), "resolution": "64 x 64"}
    (run / "config.yaml").write_text("seed: 1\n")
    note(run, network=network_of(Frozen(OpenAI("http://localhost:1", "m"))))
    assert written(run) == {"seed": 1}


@pytest.mark.parametrize(
    ("kind", "options", "known"),
    [
        ("CLIPImageProcessor", {"crop_size": 336}, {"resolution": "336 x 336"}),
        ("LlavaNextImageProcessor", {"crop_size": 336, "size": 336}, {"resolution": "336 x 336", "tiles": 4}),
        ("GotOcr2ImageProcessor", {"size": 448, "crop_to_patches": True}, {"resolution": "448 x 448", "tiles": 12}),
        ("MllamaImageProcessor", {"size": 560}, {"resolution": "560 x 560", "tiles": 4}),
        ("Idefics3ImageProcessor", {}, {"resolution": "longest_edge 1456", "tiles": 16}),
    ],
)
def test_resolution_and_tiles_are_those_of_the_processor(kind: str, options: dict, known: dict):
    sizes = {k: {"height": v, "width": v} if v is not True else v for k, v in options.items()}
    assert input_of(getattr(transformers, kind)(**sizes)) == known
