"""Listing reads source text: what it says is what importing would say, and nothing is imported."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmod_train.cli import catalogue, listing
from lmod_train.core.shipped import config_files, configs_folder
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.discovery import source_classes
from lmod_train.tasks.base import Task

ROOM = '''
"""A room."""
import nowhere_to_be_found
from lmod_train.tasks.base import Task

_TREE = "root/*.jpg"
name = "of the file"

class Middle(Task):
    """Between."""

class Leaf(Middle):
    """First line.

    More.
    """
    name: ClassVar[str] = "leaf"
    version = 3
    choices = computed()

class Stranger:
    name = "stranger"
'''


def test_a_task_is_found_at_any_depth_and_a_stranger_is_not(tmp_path: Path):
    (tmp_path / "some.py").write_text(ROOM)
    (leaf,) = catalogue.descendants("Task", list(catalogue.classes_in(tmp_path, "package.room")))
    assert (leaf.path, leaf.doc.splitlines()[0]) == ("package.room.some.Leaf", "First line.")
    assert leaf.constants == {"name": "leaf", "version": 3, "_TREE": "root/*.jpg"}


@pytest.mark.parametrize(("base", "room"), [(Source, "data.sources"), (Task, "tasks")])
def test_what_is_listed_is_what_importing_finds(base: type, room: str):
    package = f"lmod_train.{room}"
    listed = [one for one in catalogue.known_classes(base.__name__) if one.path.startswith(package)]
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)

    def below(parent: type) -> set[type]:
        return {c for child in parent.__subclasses__() for c in {child, *below(child)}}

    concrete = {f"{c.__module__}.{c.__qualname__}": c for c in below(base)
                if c.__module__.startswith(package) and "name" in vars(c)}  # fmt: skip
    assert {c.path for c in listed} == set(concrete)
    for c in listed:
        assert c.doc, f"{c.path} has no docstring to list"
        for constant, value in c.constants.items():
            if constant in ("name", "modality", "licence", "reference", "version"):
                assert getattr(concrete[c.path], constant) == value


def test_each_model_config_is_listed_with_how_to_choose_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tiny.yaml").write_text("# A tiny one.\n# Paper: none.\nclass_path: a.b.C\n")
    monkeypatch.setattr("lmod_train.core.shipped.config_folders", lambda: [tmp_path])
    assert listing.models() == (
        f"tiny  (--model {tmp_path / 'model' / 'tiny.yaml'})\n  a.b.C\n  A tiny one.\n  Paper: none."
    )


def test_the_shipped_configs_are_found_in_a_checkout():
    assert (configs_folder() / "curate" / "default.yaml").exists()


def test_every_source_is_listed_with_licence_address_and_folders():
    listed = listing.sources().split("\n\n")
    for name, cls in source_classes().items():
        (paragraph,) = [p for p in listed if p.startswith(f"{name}  (")]
        assert paragraph.startswith(f"{name}  ({cls.modality}; licence: {cls.licence})\n")
        addresses = [line for line in paragraph.splitlines() if line.startswith("  Published at: ")]
        assert addresses == [f"  Published at: {cls.reference}"]
        assert cls.reference.startswith("https://")
    assert "Expected folders:\n  ?" not in listing.sources()
    assert "{cataract,diabetic_retinopathy,glaucoma,normal}/*.jpg" in listing.sources()


def test_what_a_source_does_not_state_is_listed_as_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "data" / "sources").mkdir(parents=True)
    (tmp_path / "data" / "sources" / "bare.py").write_text('class Bare(Source):\n    """Bare."""\n    name = "bare"\n')
    monkeypatch.setattr(catalogue, "PACKAGE", tmp_path)
    assert listing.sources().startswith(
        "bare  (?; licence: ?)\n  lmod_train.data.sources.bare.Bare\n  Published at: ?\n"
        "  Bare.\n  Expected folders:\n  ?"
    )


def test_a_reader_that_stops_early_is_no_error():
    """`list sources | head -1` ends quietly."""
    line = f"{sys.executable} -m lmod_train list sources | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("brset")


def test_every_experiment_and_curation_is_listed_with_its_name_and_its_first_line():
    lines = listing.configs().splitlines()
    assert sorted(line.split()[2] for line in lines) == sorted([*config_files(), *config_files("curate")])
    assert all(len(line.split()) > 3 for line in lines), "each says in its first comment what it is"
