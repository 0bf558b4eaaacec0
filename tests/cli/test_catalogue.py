"""Parameters read from source text are those that the class itself has."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from lmod_train.cli.catalogue import class_names, module_file, parameters_of
from lmod_train.cli.names import GROUPS


@pytest.mark.parametrize(
    "path", [*GROUPS.values(), "lightning.Trainer", "lmod_train.models.modules.conversation.VisionLanguageModel"]
)
def test_the_text_tells_what_the_class_takes(path: str):
    module, _, name = path.rpartition(".")
    taken = list(inspect.signature(getattr(import_module(module), name).__init__).parameters)[1:]
    assert list(parameters_of(path) or ()) == taken


def test_what_the_text_cannot_tell_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "theirs.py").write_text(
        "import x\nclass A:\n    def __init__(self, a, *, b=1): ...\nclass B(A): ...\n"
        "class C(B):\n    def __init__(self, c, **more): ...\nclass D(x.Far):\n    def __init__(self, d, **more): ...\n"
        "class _E: ...\n"
    )
    (tmp_path / "broken.py").write_text("class A(:")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [parameters_of(f"theirs.{name}") for name in "ABC"] == [("a", "b"), ("a", "b"), ("c", "a", "b")]
    assert [parameters_of(path) for path in ("theirs.D", "theirs.Z", "broken.A", "nowhere.A", "A")] == [None] * 5
    assert class_names("theirs") == ("A", "B", "C", "D") and class_names("broken") == class_names("nowhere") == ()
    assert module_file("theirs") == tmp_path / "theirs.py"
