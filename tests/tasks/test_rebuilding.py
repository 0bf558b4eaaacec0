"""Tasks rebuilt from a manifest ask and score as those that curated."""

from __future__ import annotations

import json

import pytest

from lmod_train.cli.typed import content_of
from lmod_train.core.errors import Untrusted
from lmod_train.core.shipped import config_files
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import BinaryQuestion
from lmod_train.tasks.building import all_rebuilt, build, rebuilt
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.trust import Trust
from tests.tabled import tabled


def stated(task: Task) -> dict:
    """Return what a manifest states of a task, as it is read back."""
    one = {"class": f"{type(task).__module__}.{type(task).__qualname__}", "settings": task.settings()}
    return json.loads(json.dumps(one, sort_keys=True))


def shipped() -> list[Task]:
    """Return the tasks of all configs, those of extensions included."""
    found = [content_of("--tasks", str(file)) for file in config_files("task").values()]
    return [build(one["class_path"], one.get("init_args") or {}) for one in found]


def unordered(value: object) -> object:
    """Return settings with the items of each list sorted."""
    if isinstance(value, dict):
        return {name: unordered(one) for name, one in value.items()}
    return sorted(map(str, value)) if isinstance(value, list) else value


@tabled(
    "task",
    [
        *shipped(),
        BinaryQuestion("zh"),
        Glaucoma(sources=["refuge"]),
        AgeGroup(scored_as="merged"),
        Anatomy(options={"OCT": ["Retina"], "CFP": ["optic disc", "optic cup"]}, lesions=[]),
        Probe(of=Glaucoma(sources=["refuge"]), kinds=["none"]),
    ],
)
def test_a_rebuilt_task_has_the_settings_it_was_curated_with(task: Task):
    found = rebuilt(stated(task), Trust())
    assert found is not None
    again = build(*found)
    assert (again.name, sorted(again.choices)) == (task.name, sorted(task.choices))
    assert unordered(again.settings()) == unordered(task.settings())


def test_settings_that_no_argument_gives_are_not_replaced_by_defaults():
    changed = stated(Glaucoma())
    changed["settings"]["threshold"] = 3
    assert rebuilt(changed, Trust()) is None
    same = stated(Glaucoma())
    assert all_rebuilt([changed, same], Trust()) == ([(same["class"], same["settings"])], [same["class"]])


def test_a_class_of_others_is_refused():
    with pytest.raises(Untrusted):
        rebuilt({"class": "os.path.Evil", "settings": {}}, Trust())
