"""The command `audit`: which model is meant, and what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lmod_train.cli import main
from tests.models.chat.real_sizes import write_processor
from tests.tabled import stored
from tests.tiny import record, write_curated


@pytest.fixture
def curated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "curated"
    folder.mkdir()
    write_curated(folder, [record("glaucoma/p/1", image=["oct.png"], split="val", modality="OCT")])
    Image.new("RGB", (256, 124), (90, 60, 30)).save(folder / "oct.png")
    return folder


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["audit", *arguments]) == 0
    return capsys.readouterr().out


def test_a_folder_without_weights_is_measured_padded_and_cropped(curated: Path, capsys: pytest.CaptureFixture[str]):
    folder = curated.parent / "checkpoints" / "llava"
    folder.mkdir(parents=True)
    write_processor(folder, "llava")
    assert "| OCT | 1 | 100 % | 336 x 163 |" in printed(capsys, str(folder), "curated")
    assert "| OCT | 1 | 48 % | 693 x 336 |" in printed(capsys, str(folder), "curated", "--fit", "crop")
    assert (curated / "preprocessing" / "llava" / "OCT.png").is_file()
    assert (curated / "preprocessing" / "llava_crop" / "page.md").is_file()


def test_a_config_is_measured_with_its_options(curated: Path, capsys: pytest.CaptureFixture[str]):
    folder = curated.parent / "tiles"
    folder.mkdir()
    write_processor(folder, "internvl")
    backend = "lmod_train.models.backends.huggingface.HuggingFace"
    (curated.parent / "own.yaml").write_text(
        "class_path: lmod_train.models.modules.frozen.Frozen\ninit_args:\n  backend:\n"
        f"    class_path: {backend}\n    init_args: {{checkpoint: tiles, images: {{tiles: 1}}}}\n"
    )
    assert "| 448 x 448 |" in printed(capsys, "own.yaml", "curated", "--out", "out")
    assert "| 896 x 448 |" in printed(capsys, "tiles", "curated")
    assert (curated.parent / "out" / "images.csv").is_file()


def test_a_shipped_config_is_found_by_its_name(curated: Path, capsys: pytest.CaptureFixture[str]):
    assert "| OCT | 1 | 100 % | 192 x 93 |" in printed(capsys, "small_base", "curated")


@pytest.mark.parametrize(
    ("arguments", "said"),
    stored(__file__, "audit.what_cannot_be_measured_is_refused_with_the_next_step"),
)
def test_what_cannot_be_measured_is_refused_with_the_next_step(
    arguments: list[str], said: str, curated: Path, capsys: pytest.CaptureFixture[str]
):
    try:
        code = main(["audit", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert said in capsys.readouterr().err


def test_folders_whose_names_differ_behind_a_dot_have_reports_of_their_own(
    curated: Path, capsys: pytest.CaptureFixture[str]
):
    for name in ("llava-1.5-7b-hf", "llava-1.6-7b-hf", "plain"):
        (curated.parent / name).mkdir()
        write_processor(curated.parent / name, "llava")
        assert f"wrote curated/preprocessing/{name}: " in printed(capsys, f"./{name}/", "curated")
        assert f"# What {name} sees" in (curated / "preprocessing" / name / "page.md").read_text()


BACKEND = "class_path: lmod_train.models.backends.huggingface.HuggingFace\n"


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\n",
        "- 1\n",
        "words\n",
        "",
        "model: model/small_base.yaml\n",
        BACKEND,
        f"{BACKEND}init_args: {{dtype: float32}}\n",
        f"{BACKEND}init_args: {{checkpoint: small_base, images: {{shape: 1}}}}\n",
        f"{BACKEND}init_args: {{checkpoint: small_base, images: {{fit: stretch}}}}\n",
        f"{BACKEND}init_args: {{checkpoint: small_base, images: {{tiles: many}}}}\n",
    ],
)
def test_a_file_that_is_no_model_config_is_refused(text: str, curated: Path, capsys: pytest.CaptureFixture[str]):
    (curated.parent / "own.yaml").write_text(text)
    assert main(["audit", "own.yaml", "curated"]) == 2
    assert "expected" in (found := capsys.readouterr().err) and "\nNext: " in found


@pytest.mark.parametrize("content", [b"no image", b"", None])
def test_a_damaged_image_is_named(content: bytes | None, curated: Path, capsys: pytest.CaptureFixture[str]):
    file = curated / "oct.png"
    file.write_bytes(file.read_bytes()[:20] if content is None else content)
    assert main(["audit", "small_base", "curated"]) == 2
    assert "oct.png" in (found := capsys.readouterr().err) and "\nNext: " in found
