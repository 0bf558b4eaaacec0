"""The facts of the shipped model configs are complete, name every published row, and agree with the configs."""

from __future__ import annotations

import csv
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub.cli import download as hub_download
from huggingface_hub.cli.hf import app as hub_cli

from lmod_train.core.artifacts.model_facts import (
    PAPERS,
    STATES,
    Cache,
    ModelFacts,
    PublishedRow,
    download,
    known_models,
    nearest,
    of_service,
)
from lmod_train.core.shipped import configs_folder
from tests.parsed import parse
from tests.tabled import tabled

PRINTED = Path(__file__).parents[3] / "lmod_train" / "extensions" / "papers" / "model_aliases.csv"
"""Names of the models in the tables of the five papers, as printed."""


@cache
def models() -> list[ModelFacts]:
    return list(known_models())


EVERY = tabled("model", models)
BACKENDS = {"huggingface.HuggingFace": "NCK", "openai.OpenAI": "SA", "": "X"}


def config(model: ModelFacts) -> dict[str, Any]:
    return dict(yaml.safe_load((configs_folder() / "model" / f"{model.name}.yaml").read_text(encoding="utf-8")))


def backend(model: ModelFacts) -> dict[str, Any]:
    return dict(config(model)["init_args"].get("backend", {"class_path": "", "init_args": {}}))


def test_a_file_is_read_and_one_without_facts_is_left_out(tmp_path: Path):
    (tmp_path / "plain.yaml").write_text("# For trials.\nclass_path: a.B\n")
    (tmp_path / "tiny.yaml").write_text(
        "# A tiny one,\n# of two lines.\n#: hub: a/tiny\n#: revision: '1'\n#: licence: MIT\n#: route: N\n"
        "#: why: class\n#: contamination: none\n#: tried: all\n#: cache: {layers: 2, heads: 3, width: 4}\n"
        "#: published:\n#:   xpcr: {rows: [Tiny], state: retired, scores: {sex: 0.5}}\nclass_path: a.B\n"
    )
    (model,) = known_models(tmp_path)
    assert (model.name, model.about, model.hub) == ("tiny", "A tiny one, of two lines.", "a/tiny")
    assert (model.cache, model.parameters) == (Cache(2, 3, 4), None)
    assert model.published == {"xpcr": PublishedRow(("Tiny",), "retired", "", {"sex": 0.5})}


@tabled("line", ["#: hub: a", "#: hob: a", "#: [", "#: text"])
def test_incomplete_or_unknown_facts_are_an_error_that_names_the_file(line: str, tmp_path: Path):
    (tmp_path / "tiny.yaml").write_text(f"{line}\nclass_path: a.B\ninit_args: {{}}\n")
    with pytest.raises(ValueError, match=r"tiny\.yaml"):
        list(known_models(tmp_path))


@pytest.mark.parametrize("name", ["llava_1_5_7b", "yi_vl_6b", "gpt_4o"])
def test_a_file_without_one_of_its_lines_gives_facts_or_an_error_that_names_it(name: str, tmp_path: Path):
    lines = (configs_folder() / "model" / f"{name}.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    for i in range(len(lines)):
        (tmp_path / "broken.yaml").write_text("".join(lines[:i] + lines[i + 1 :]), encoding="utf-8")
        with suppress_naming("broken.yaml"):
            assert [m.name for m in known_models(tmp_path)] == ["broken"]


@contextmanager
def suppress_naming(file: str) -> Iterator[None]:
    """Suppress a ValueError that names a file."""
    try:
        yield
    except ValueError as error:
        assert file in str(error)


def test_every_published_row_is_one_of_a_model():
    with PRINTED.open(encoding="utf-8", newline="") as file:
        printed = {(row["paper"], row["printed_name"]) for row in csv.DictReader(file)}
    covered = Counter((paper, name) for m in models() for paper, row in m.published.items() for name in row.rows)
    assert covered.keys() == printed
    assert [row for row, times in covered.items() if times > 1] == []


def test_every_hub_id_appears_once():
    # a repository can hold two models, of which only one is converted
    assert [key for key, times in Counter((m.hub, m.route) for m in models()).items() if times > 1] == []


@EVERY
def test_facts_are_complete(model: ModelFacts):
    assert model.route in "NCKSAX" and model.why and model.licence and model.revision and model.tried
    assert model.contamination and model.about
    assert model.published.keys() <= PAPERS.keys()
    assert all({row.state, row.otherwise} <= STATES.keys() and row.rows for row in model.published.values())
    assert all(row.note for row in model.published.values() if row.state != "reproducible")
    if "/" in model.hub and "none" not in model.hub:  # weights on the hub
        assert model.parameters and model.image
        # what public pages did not say of a newer model stays unknown
        assert (model.cache and model.tokens) or model.looked_up


@EVERY
def test_the_route_is_that_of_the_config(model: ModelFacts):
    path = backend(model)["class_path"].removeprefix("lmod_train.models.backends.")
    assert model.route in BACKENDS[path]
    assert (model.route == "X") == (config(model)["class_path"] == "lmod_train.models.modules.unavailable.Unavailable")


@EVERY
def test_the_config_names_the_model_of_the_facts(model: ModelFacts):
    chosen, name = backend(model)["init_args"], model.hub.rpartition("/")[2]
    if model.route in "NC":
        assert chosen["checkpoint"] == f"checkpoints/{name}"
    elif model.route == "K":
        assert chosen["checkpoint"] == f"checkpoints/{name}-hf"
    elif model.route == "A":
        assert model.hub.endswith(f": {chosen['model']}") and chosen["base_url"].startswith("https://")
    elif model.route == "S":
        assert chosen["model"].rpartition("/")[2].lower() == name.lower() and "localhost" in chosen["base_url"]


@EVERY
def test_facts_of_time_are_days_in_order(model: ModelFacts):
    for day in (model.ends, model.looked_up):
        assert day is None or isinstance(day, date)
    assert model.ends is None or model.looked_up is not None, "an announced end has the day on which it was read"
    assert not model.page or model.looked_up is not None, "a page has the day on which it was read"
    assert bool(model.ends) >= bool(model.replaced)
    assert model.ends is None or model.route in "AX"


def test_an_announced_end_is_said_before_and_after_it():
    model = replace(models()[0], hub="P: m-1", ends=date(2026, 12, 11), looked_up=date(2026, 11, 27), replaced="gone")
    assert model.ending(date(2026, 12, 10)) == (
        "the service m-1 ends on 2026-12-11 (the provider's notice, read on 2026-11-27); gone"
    )
    assert model.ending(date(2026, 12, 11)).startswith("the service m-1 was to end on 2026-12-11 (")
    assert replace(model, ends=None).ending(date(2026, 12, 11)) == ""


@tabled(("name", "found"), [
    ("gpt-4o-2024-11-20", "gpt_4o"), ("gpt-4o", "gpt_4o"), ("gpt-4o-2024-08-06", "gpt_4o"), ("gpt-4o-mini", None),
    ("gemini-2.5-pro", "gemini_2_5_pro"), ("claude-haiku-4-5", "claude_haiku_4_5"), ("Qwen/Qwen3-VL-8B-Instruct", None),
])  # fmt: skip
def test_a_service_is_known_by_its_name_with_or_without_a_date(name: str, found: str | None):
    facts = of_service(name)
    assert (facts.name if facts else None) == found


@tabled(("typed", "first"), [
    ("llava-1.5-7b", "llava_1_5_7b"), ("Qwen/Qwen3-VL-8B-Instruct", "qwen3_vl_8b"), ("qwen3vl8b", "qwen3_vl_8b"),
    ("GPT4o", "gpt_4o"), ("google/medgemma-4b-it", "medgemma_4b"), ("gpt-5", "gpt_5"), ("smal_base", "small_base"),
])  # fmt: skip
def test_the_nearest_name_comes_first(typed: str, first: str):
    found = nearest(typed)
    assert found[0] == first and len(set(found)) == len(found) <= 3


def test_what_is_like_no_name_has_no_neighbour():
    assert nearest("xyzzy") == []


MADE_HERE = {"checkpoints/eyes_vlm", "checkpoints/smollm2_vlm"}
"""Checkpoints that scripts of this project make."""


def checkpoints() -> dict[str, str]:
    """Return config -> folder of its checkpoint, of all configs with one outside the package."""
    found = {}
    for file in (configs_folder() / "model").glob("*.yaml"):
        named = re.search(r"^ +checkpoint: (checkpoints/\S+)", file.read_text(encoding="utf-8"), re.M)
        if named and named[1] not in MADE_HERE:
            found[file.stem] = named[1]
    return found


@tabled("config", lambda: sorted(checkpoints()))
def test_the_command_that_is_printed_fetches_what_the_config_names(config: str, monkeypatch: pytest.MonkeyPatch):
    """Executed by the program that it names, with the last function before the network put aside."""
    place = checkpoints()[config]
    fetch, *convert = re.findall(r"`([^`]+)`", download(place))
    asked: dict[str, Any] = {}
    monkeypatch.setattr(hub_download, "snapshot_download", lambda **given: asked.update(given) or place)
    hub_cli.main(shlex.split(fetch)[1:], standalone_mode=False)
    facts = next(m for m in models() if (m.hub, m.folder) == (asked["repo_id"], Path(place).name))
    assert asked["revision"] == (None if facts.revision == "unknown" else facts.revision)
    assert not asked["ignore_patterns"]
    if facts.route == "K":
        parse(shlex.split(convert[0])[3:])
        assert convert[0].endswith(f"weights convert {asked['local_dir']} --out {place}")
    else:
        assert asked["local_dir"] == place and not convert


def test_small_files_are_fetched_without_weights_and_a_revision_is_named(tmp_path: Path):
    assert "--exclude '*.safetensors' --local-dir checkpoints/llava-1.5-7b-hf`" in download(
        "checkpoints/llava-1.5-7b-hf", small=True
    )
    assert "--exclude" not in download("checkpoints/InternVL2-2B-hf", small=True), "it is converted, weights too"
    assert download("elsewhere/llava-1.5-7b-hf").endswith("--local-dir elsewhere/llava-1.5-7b-hf`")
    assert download("checkpoints/other") == ""


def test_no_other_config_of_a_model_repeats_a_hub_id_as_a_fact():
    files = {file.stem for file in (configs_folder() / "model").glob("*.yaml")}
    assert {m.name for m in models()} < files
    assert not {m.name for m in models() if m.name.endswith(("_lora", "_full"))}
