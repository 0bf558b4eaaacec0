"""A run folder: its name, its config, and text files that hold anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import SCORE_COLUMNS, read_scores
from lmod_train.core.errors import ArtifactError
from tests.tabled import tabled

OF_TEXT = {"scores.csv": lambda f: read_scores(f), "config.yaml": lambda f: Run(f.parent).read_config(),
           "manifest.json": lambda f: read_manifest(f.parent)}  # fmt: skip


@pytest.mark.parametrize("name", OF_TEXT)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(held=st.one_of(st.binary(max_size=80), st.text(alphabet="[]{}:,-&*!'\"a1 \n\t", max_size=80).map(str.encode)))
@example(held=b"")
@example(held=b"[1]")
@example(held=b"words")
@example(held=b"[" * 3_000)
@example(held=(",".join(SCORE_COLUMNS) + "\nr,m,t,all,f1,many,0.5,,\n").encode())
@example(held=(",".join(SCORE_COLUMNS) + "\nr,m,t\n").encode())
@example(held=(",".join(SCORE_COLUMNS) + "\n" + "r," * 30 + "\n").encode())
def test_whatever_a_text_file_of_ours_holds_is_read_or_refused(name: str, held: bytes, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(held)
    try:
        OF_TEXT[name](file)
    except ArtifactError as error:
        assert str(file) in str(error) and "\nNext: " in str(error)


def test_a_config_comes_back_and_begins_the_run(tmp_path: Path):
    run = Run(tmp_path / "new")
    assert run.read_config() == {} and not run.has_begun()
    run.write_config({"b": [1, None], "a": "模型"})
    assert run.read_config() == {"a": "模型", "b": [1, None]} and run.has_begun()
    assert [file.name for file in run.folder.iterdir()] == ["config.yaml"]


@tabled("model", [None, "model/x.yaml", [], {"class_path": ["a"]}, {"class_path": "own.Net"}])
def test_any_other_model_is_read_as_it_is(model: object, tmp_path: Path):
    Run(tmp_path).write_config({"model": model})
    assert Run(tmp_path).read_config() == {"model": model}


@pytest.mark.parametrize("name", ["records.parquet", "replies", "predictions.parquet"])
def test_what_was_asked_replied_or_read_makes_a_folder_a_run(name: str, tmp_path: Path):
    (tmp_path / "scores.csv").touch()
    assert not Run(tmp_path).has_begun()
    (tmp_path / name).touch()
    assert Run(tmp_path).has_begun()


def test_a_config_whose_aliases_expand_to_a_billion_values_is_refused(tmp_path: Path):
    lines = ["notes:", "  - &a0 [x, x]", *(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    (tmp_path / "config.yaml").write_text("\n".join(lines))
    with pytest.raises(ArtifactError, match=r"an alias .*in line 3"):
        Run(tmp_path).read_config()
