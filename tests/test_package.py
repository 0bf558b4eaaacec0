"""`import lmod_train` offers its names: each is what it is called, loads late, and is known to a type checker."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import lmod_train

FILE = Path(lmod_train.__file__)
ALIASES = {"Answer", "SampleStream"}
"""Names of types made of others, which have no module and no docstring of their own."""
WITHOUT_TORCH = {
    *("Prediction", "Record", "Reply", "Score", "Scripted", "curate", "discover", "parse_replies", "read_predictions"),
    *("read_records", "read_scores", "rescore", "scores_of", "write_report", "Source", "Sample", "SourceNotFound"),
    *(
        "read_sheet",
        "Task",
        "Question",
        "Answer",
        "prompt",
        "read",
        "parse_choice",
        "items_of",
        "Measure",
        "Conversation",
    ),
}


def checked() -> dict[str, str]:
    """Return name -> path of everything that a type checker is shown."""
    found = {}
    for node in ast.walk(ast.parse(FILE.with_suffix(".pyi").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {a.name: f"lmod_train.{node.module}.{a.name}" for a in node.names}
    return found


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_each_name_is_what_a_type_checker_is_shown_and_stands_in_the_docstring():
    assert sorted(checked()) == sorted(lmod_train.__all__) and {*lmod_train.__all__} <= {*dir(lmod_train)}
    lines = re.findall(r"^- (.+?):", lmod_train.__doc__ or "", re.M)
    assert sorted(name for line in lines for name in re.findall(r"`(\w+)`", line)) == sorted(lmod_train.__all__)


@pytest.mark.parametrize("name", lmod_train.__all__)
def test_each_name_leads_to_its_definition(name: str):
    module, _, attribute = checked()[name].rpartition(".")
    found = getattr(lmod_train, name)
    assert found is getattr(import_module(module), attribute)
    if name not in ALIASES:
        assert found.__module__ == module and found.__doc__


def test_importing_the_package_loads_nothing_and_names_without_torch_do_not_load_it():
    ours = python(
        "import sys, lmod_train; print([m for m in sys.modules if m.startswith('lmod_train')], dir(lmod_train))"
    )
    assert ours.stdout.startswith("['lmod_train'] ") and "'curate'" in ours.stdout, ours.stderr
    used = "\n".join(f"lmod_train.{name}" for name in sorted(WITHOUT_TORCH))
    done = python(f"import sys, lmod_train\n{used}\nsys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr
    assert {*lmod_train.__all__} > WITHOUT_TORCH


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No lmod_train attribute train"):
        _ = lmod_train.train  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="train"):
        from lmod_train import train  # type: ignore[attr-defined]  # noqa: F401


def test_examples_for_classes_of_ones_own_import_from_the_package_itself():
    page = FILE.parents[1] / "docs" / "extend.md"
    if not page.is_file():
        pytest.skip("the pages are not installed")
    blocks = re.findall(r"^```python.*?\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block)) if isinstance(node, ast.ImportFrom)]
    found = {name.name for node in nodes if node.module == "lmod_train" for name in node.names}
    assert len(found) > 30 and found <= {*lmod_train.__all__}
    assert not [node.module for node in nodes if str(node.module).startswith("lmod_train.")]


@pytest.mark.slow
def test_a_type_checker_sees_the_signatures_and_refuses_other_names(tmp_path: Path):
    lines = ["import lmod_train", *(f"reveal_type(lmod_train.{n})" for n in ("read_records", "evaluate", "train"))]
    (tmp_path / "used.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(tmp_path / "used.py")]
    done = subprocess.run(command, cwd=FILE.parents[1], capture_output=True, text=True, check=False)
    assert 'Revealed type is "def (path: pathlib.Path) -> list[lmod_train.core.types.Record]"' in done.stdout
    assert "-> list[lmod_train.core.types.Prediction]" in done.stdout
    assert 'Module has no attribute "train"' in done.stdout and "Found 1 error" in done.stdout


def test_every_place_states_the_same_version():
    root = FILE.parents[1]
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    newest = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert {cited[1], newest[1]} == {lmod_train.__version__}
