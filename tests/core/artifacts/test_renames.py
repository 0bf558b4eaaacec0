"""Class paths of earlier versions lead to today's classes, and the names in files stay."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from lmod_train.core.artifacts.renames import MOVED, moved_import, stored_name, today, todays_text
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.tasks.base import Task

FORMER = (Path(__file__).parent / "former_class_paths.txt").read_text().split()
"""Every class path in the configs of 71ab444, 407d1b2, 739437d, 4c44e0b and 51a3772."""

STORED = (Path(__file__).parent / "stored_names.txt").read_text().split()
"""Names of tasks in manifests, records and packs, and of modules in the hashes of replies, as 51a3772 wrote them."""

OWN_IDENTITY = {"Frozen", "FrozenFeatures", "Unavailable", "Variants"}
"""Classes whose name is in no file: one that has its backend's identity, base classes, and one that never answers."""


def imported(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def descendants(base: type, package: str) -> Iterator[type]:
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    waiting = [base]
    while waiting:
        own = waiting.pop().__subclasses__()
        waiting += own
        yield from (kind for kind in own if kind.__module__.startswith(package) and not kind.__name__.startswith("_"))


def test_every_class_path_of_an_earlier_config_leads_to_a_class_of_its_name():
    assert len(FORMER) > 80
    for path in FORMER:
        found, name = imported(today(path)), path.rpartition(".")[2]
        assert found.__name__ == name or f"{path}" in MOVED, path  # type: ignore[attr-defined]
        assert today(today(path)) == today(path), "a path of today stays"


def test_every_name_in_the_table_leads_somewhere_and_is_gone_itself():
    for former, now in MOVED.items():
        module, _, name = now.rpartition(".")
        if not name[0].isupper():
            import_module(now)
        else:
            assert hasattr(import_module(module), name)
        with pytest.raises((ImportError, AttributeError)):
            imported(former) if former.rpartition(".")[2][0].isupper() else import_module(former)


def test_stored_names_are_those_that_files_hold_for_good():
    tasks, modules = descendants(Task, "lmod_train.tasks"), descendants(LmodModule, "lmod_train.models.modules")
    found = [kind for kind in {*tasks, *modules} if kind.__name__ not in OWN_IDENTITY]
    assert sorted(map(stored_name, found)) == sorted(STORED)
    for kind in found:
        assert imported(today(stored_name(kind))) is kind


def test_a_class_of_ones_own_is_stored_by_its_path_also_below_one_that_moved():
    from lmod_train.tasks.chain.chain import Chain

    class Own(Chain):
        pass

    assert stored_name(Own) == f"{__name__}.{Own.__qualname__}"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[lmod_train.tasks.chain.Chain, mine.lmod_train.sources.a.B]",
         "[lmod_train.tasks.chain.chain.Chain, mine.lmod_train.sources.a.B]"),
        ("--model.class_path=lmod_train.modules.fine_tuning.FineTuning",
         "--model.class_path=lmod_train.models.modules.fine_tuning.FineTuning"),
        ("lmod_train.tasks.chain.chain.Chain", "lmod_train.tasks.chain.chain.Chain"),
        ("runs/lmod_train.sources.Clinic/x lmod_train/sources/Clinic.py lmod_train.sources.yaml",
         "runs/lmod_train.sources.Clinic/x lmod_train/sources/Clinic.py lmod_train.sources.yaml"),
        ("mylmod_train.sources.a.B lmod_train_2.sources.a.B", "mylmod_train.sources.a.B lmod_train_2.sources.a.B"),
    ],
)  # fmt: skip
def test_only_class_paths_of_this_package_change_in_a_text(text: str, read: str):
    assert todays_text(text) == read


def test_an_import_of_a_moved_module_is_explained_and_others_are_not():
    assert "lmod_train.data.sources.base now" in moved_import("(No module named 'lmod_train.sources.base')")
    assert moved_import("No module named 'lmod_train.nowhere'") == moved_import("") == ""


def test_the_hash_of_a_reply_holds_the_stored_name_of_its_module():
    settings = Classifier(choices=("YES", "NO")).identity().settings
    assert settings["module"] == "lmod_train.modules.classifier.Classifier"
