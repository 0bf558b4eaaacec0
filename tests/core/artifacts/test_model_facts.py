"""The facts of the shipped model configs are complete, name every published row, and agree with the configs."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmod_train.core.artifacts.model_facts import PAPERS, STATES, Cache, ModelFacts, PublishedRow, known_models
from lmod_train.core.shipped import configs_folder
from tests.tabled import tabled

PRINTED = Path(__file__).parents[3] / "lmod_train" / "report" / "papers" / "model_aliases.csv"
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
    assert [hub for hub, times in Counter(m.hub for m in models()).items() if times > 1] == []


@EVERY
def test_facts_are_complete(model: ModelFacts):
    assert model.route in "NCKSAX" and model.why and model.licence and model.revision and model.tried
    assert model.contamination and model.about
    assert model.published.keys() <= PAPERS.keys()
    assert all({row.state, row.otherwise} <= STATES.keys() and row.rows for row in model.published.values())
    assert all(row.note for row in model.published.values() if row.state != "reproducible")
    if "/" in model.hub and "none" not in model.hub:  # weights on the hub
        assert model.parameters and model.cache and model.tokens and model.image


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


def test_no_other_config_of_a_model_repeats_a_hub_id_as_a_fact():
    files = {file.stem for file in (configs_folder() / "model").glob("*.yaml")}
    assert {m.name for m in models()} < files
    assert not {m.name for m in models() if m.name.endswith(("_lora", "_full"))}
