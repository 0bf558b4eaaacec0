"""Every config that is shipped parses against the real classes, and none is left out of the count."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lmod_train.cli import PLAIN
from lmod_train.cli.listing import configs_folder
from lmod_train.cli.parse import parser_of

CONFIGS = configs_folder()
COUNT = {"curate": 2}
"""Folder -> number of configs; "" is the experiments at the top. A new config is counted here."""


def of(folder: str) -> list[Path]:
    return sorted((CONFIGS / folder).glob("*.yaml" if folder == "" else "**/*.yaml"))


def test_every_config_is_counted():
    files = sorted(CONFIGS.rglob("*.yaml"))
    rooms = [f.relative_to(CONFIGS).parts[0] if f.parent != CONFIGS else "" for f in files]
    assert {room: rooms.count(room) for room in rooms} == COUNT


@pytest.mark.parametrize("file", of("curate"), ids=lambda f: f.stem)
def test_curation_configs_build_their_tasks(file: Path):
    parser = parser_of(PLAIN["curate"], "curate")
    values = parser.instantiate(parser.parse_args(["--config", str(file), "--out", "curated"]))
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert values.protocol == written["protocol"]
    assert [f"{type(t).__module__}.{type(t).__qualname__}" for t in values.tasks] == [
        t["class_path"] if isinstance(t, dict) else t for t in written["tasks"]
    ]
