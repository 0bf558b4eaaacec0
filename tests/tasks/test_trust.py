"""Whose classes may be imported: decided before anything is, from where it would come."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lmod_train.core.errors import Untrusted
from lmod_train.tasks.building import build, tasks_asked
from lmod_train.tasks.trust import Trust
from tests.tabled import stored, tabled
from tests.tasks.test_reading import record

EVIL = "from pathlib import Path\nPath({mark!r}).write_text('executed')\n"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module and a package on the search path that leave a mark when they are imported."""
    for name in ("evil_module.py", "evil_package/__init__.py", "evil_package/tasks.py", "lmod_train_extra.py"):
        file = tmp_path / "path" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(EVIL.format(mark=str(tmp_path / "mark")))
    monkeypatch.syspath_prepend(tmp_path / "path")
    return tmp_path


@pytest.mark.parametrize("path", ["evil_module.X", "evil_package.X", "evil_package.tasks.X", "lmod_train_extra.X"])
@pytest.mark.parametrize(
    "trusted", [(), ("evil",), ("evil_modul", "evil_package.task", "evil_module.X.y", "lmod_trai")]
)
def test_nothing_of_a_module_that_is_not_trusted_is_executed(evil: Path, path: str, trusted: tuple[str, ...]):
    trust = Trust(trusted)
    with pytest.raises(Untrusted, match=str(evil / "path")) as refused:
        build(path, {}, trust)
    with pytest.raises(Untrusted):
        tasks_asked([record("a", task_class=path)], trust=trust)
    with pytest.raises(Untrusted):
        tasks_asked([record("a", task_class=path)], [(path, {})], trust)
    with pytest.raises(Untrusted):  # a class within the arguments of one of ours
        build("lmod_train.tasks.probe.Probe", {"of": {"class_path": path}}, trust)
    module = path.rpartition(".")[0]
    again = refused.value.typed(["rescore", "my run"])
    assert f"`python -m lmod_train rescore 'my run' --trust {module}`" in again and again.count("\n") == 1
    assert not (evil / "mark").exists() and module not in sys.modules


@tabled("path", ["", "X", ".X", "..X", "os.system", "nowhere.at.all.X", "builtins.print", "a b.c", "\x00.X"])
def test_whatever_a_file_names_is_refused_in_words(path: str):
    with pytest.raises(Untrusted, match="\nNext: "):
        build(path, {})


def test_what_lies_in_the_folder_that_names_it_is_never_imported(evil: Path):
    with pytest.raises(Untrusted, match="is never run") as refused:
        build("evil_package.tasks.X", {}, Trust(("evil_package",), evil / "path"))
    assert "--trust" not in refused.value.typed(["rescore", "."])
    assert not (evil / "mark").exists()


@pytest.mark.parametrize(("path", "file"), stored(__file__, "trust.the_file_to_look_into_is_named"))
def test_the_file_to_look_into_is_named(evil: Path, path: str, file: str):
    with pytest.raises(Untrusted) as refused:
        build(path, {})
    assert refused.value.place == evil / "path" / file


def test_a_trusted_module_is_imported(evil: Path):
    with pytest.raises(Exception, match="X"):
        build("evil_package.tasks.X", {}, Trust(("evil_package",), evil / "elsewhere"))
    assert (evil / "mark").read_text() == "executed"
    for name in ("evil_package", "evil_package.tasks"):
        sys.modules.pop(name, None)
