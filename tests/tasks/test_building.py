"""Tasks are built from the class paths that records and a run's configuration name."""

from __future__ import annotations

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import class_path
from lmod_train.data.curation.manifest_files import task_settings as manifest_of
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.building import rebuilt, task_arguments, tasks_asked
from lmod_train.tasks.trust import Trust
from tests.tabled import tabled
from tests.tasks.test_reading import Shout, record

HERE = Shout.__module__


def test_tasks_are_built_from_their_records_with_the_arguments_of_the_run():
    config = {"data": {"class_path": "x.D", "init_args": {"tasks": [
        {"class_path": f"{HERE}.Shout", "init_args": {"language": "zh"}}]}}}  # fmt: skip
    records = [record("w", task="whisper"), record("a"), record("b")]
    tasks = tasks_asked(records, task_arguments(config), Trust((HERE,)))
    assert [(t.name, t.language) for t in tasks] == [("whisper", "en"), ("shout", "zh")]
    assert task_arguments({}) == task_arguments({"data": {"tasks": None}}) == []


@tabled("path", ["no.such.Thing", f"{HERE}.Nothing", "pathlib.Path"])
def test_a_class_path_that_is_no_task_is_named(path: str):
    with pytest.raises(BadArgument, match=path):
        tasks_asked([record("a", task_class=path)], trust=Trust(("no", HERE, "pathlib")))


def test_a_record_keeps_the_arguments_of_its_run():
    asked = record("a", task="chain", task_class=class_path(Chain))
    (task,) = tasks_asked([asked], [(class_path(Chain), {"perturbed": 0.25})])
    assert (task.name, task.perturbed) == ("chain", 0.25)
    assert manifest_of(task)["class"] == asked.task_class
    path, arguments = rebuilt(manifest_of(task), Trust()) or ("", {})
    assert (path, arguments["perturbed"]) == (class_path(Chain), 0.25)
