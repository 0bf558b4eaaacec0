"""Every command that reads the images of a curated folder stops at one that lies elsewhere, and says how to go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records, write_records
from lmod_train.core.shipped import configs_folder
from lmod_train.phantom.folders import eye_diseases, refuge

SECRET = b"Li Wei, born 1961"

COMMANDS = {
    "validate": "validate --config scripted --data.curated CURATED --run OUT",
    "predict": "predict --config scripted --data.curated CURATED --run OUT",
    "fit": "fit --config cnn_four_way --data.curated CURATED --run OUT --trainer.max_steps 1",
    "doctor": "doctor --config quickstart --data.curated CURATED",
    "export": "export CURATED --to llava --out OUT",
    "export, linked": "export CURATED --to sharegpt --out OUT --images link",
    "export, embedded": "export CURATED --to hugging_face --out OUT",
    "answers": "answers --blank OUT/sheet.csv --curated CURATED --tasks four_way --split all",
    "blind": "blind CURATED",
    "report": "report RUN --curated CURATED --out OUT",
    "report, of the config": "report HERE --out OUT --config BRIEF",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A curated folder of phantoms, and a run on it."""
    root = tmp_path_factory.mktemp("made")
    for drawn in (eye_diseases, refuge):
        drawn.write(root / "raw", 16, 0, size=128, workers=0)  # small: each command curates or copies them again
    curate = [
        "curate",
        "--raw",
        str(root / "raw"),
        "--out",
        str(root / "curated"),
        "--config",
        str(configs_folder() / "curate" / "quickstart.yaml"),
    ]
    assert cli.main(curate) == 0
    at = ["--data.curated", str(root / "curated"), "--data.split", "all", "--run", str(root / "run")]
    assert cli.main(["validate", "--config", "scripted", *at]) == 0
    return root


@pytest.fixture
def received(made: Path, tmp_path: Path) -> Path:
    """A copy of both beside a photograph that is not theirs."""
    for name in ("curated", "run"):
        shutil.copytree(made / name, tmp_path / name)
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace(str(made), str(tmp_path)))
    sections = [f"lmod_train.report.sections.{name}" for name in ("scores.Scores", "examples.Examples")]
    (tmp_path / "brief.yaml").write_text(f"sections: {sections}\n")
    Image.effect_noise((64, 64), 60).convert("RGB").save(tmp_path / "patient.jpg", comment=SECRET)
    return tmp_path


def typed(command: str, received: Path) -> list[str]:
    places = {
        "CURATED": received / "curated",
        "OUT": received / "out",
        "RUN": received / "run",
        "HERE": received / "run",
        "BRIEF": received / "brief.yaml",
    }
    words = []
    for word in command.split():
        head, _, rest = word.partition("/")
        words.append(str(places[head] / rest if rest else places[head]) if head in places else word)
    return words


def by_link(received: Path) -> None:
    """Put a link to the photograph in the place of every image."""
    for image in sorted((received / "curated" / "images").rglob("*.jpg")):
        image.unlink()
        image.symlink_to(received / "patient.jpg")


def by_folder(received: Path) -> None:
    """Put the folder of images elsewhere, and a link in its place."""
    (received / "curated" / "images").rename(received / "elsewhere")
    (received / "curated" / "images").symlink_to(received / "elsewhere")


@pytest.mark.parametrize("how", [by_link, by_folder])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_link_out_of_the_folder_stops_it(received: Path, capsys, command: str, how):
    how(received)
    kept = {file: file.read_bytes() for file in received.rglob("*") if file.is_file() and not file.is_symlink()}
    assert cli.main(typed(command, received)) == 2
    printed = " ".join("".join(capsys.readouterr()).split())
    assert "a link leads out of the folder" in printed and "`--follow_links`" in printed
    new = [file for file in received.rglob("*") if file.is_file() and file not in kept and not file.is_symlink()]
    assert not [file for file in new if SECRET in file.read_bytes()]
    assert not [file for file in new if file.suffix in (".jpg", ".png")]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_name_out_of_the_folder_stops_it(received: Path, capsys, command: str):
    for file in (received / "curated" / "records").glob("*.parquet"):
        first, *rest = read_records(file)
        object.__setattr__(first, "image", ("../patient.jpg",))
        object.__setattr__(first, "image_plain", ("../patient.jpg",))
        write_records(file, [first, *rest])
    of_a_run = command.startswith("report")  # its own records name images of the folder
    assert cli.main(typed(command, received)) == (0 if of_a_run else 2)
    if not of_a_run:
        assert "outside its curated folder" in " ".join("".join(capsys.readouterr()).split())
    out = [file for file in (received / "out").rglob("*") if file.is_file()] if (received / "out").exists() else []
    assert not [file for file in out if SECRET in file.read_bytes()]


def test_the_printed_command_opens_ones_own_links(received: Path, capsys):
    by_folder(received)
    assert cli.main(typed(COMMANDS["export"], received)) == 2
    error = capsys.readouterr().err
    printed = error[error.rindex("`python -m lmod_train ") + 22 : error.rindex("`")]
    assert cli.main(printed.split()) == 0
    assert len(list((received / "out" / "images").rglob("*.jpg"))) > 16


def test_the_config_of_a_received_run_names_no_folder_of_photographs(received: Path, capsys):
    mine = received / "mine"
    shutil.copytree(received / "curated" / "images", mine / "images")
    for image in (mine / "images").rglob("*.jpg"):
        shutil.copy(received / "patient.jpg", image)
    config = received / "run" / "config.yaml"
    config.write_text(config.read_text().replace(str(received / "curated"), str(mine)))
    assert cli.main(typed(COMMANDS["report, of the config"], received)) == 0
    assert "does not list its images: none is shown" in capsys.readouterr().out
    assert not list((received / "out").rglob("*.jpg"))
    assert cli.main([*typed(COMMANDS["report, of the config"], received), "--curated", str(received / "curated")]) == 0
    assert list((received / "out").rglob("*.jpg"))
