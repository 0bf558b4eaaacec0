"""A task folder for lmms-eval: a YAML file a task, the functions they name, and Parquet with the images inside.

The readers are ``lmms_eval.tasks.TaskManager`` (``--include_path FOLDER``) and ``lmms_eval.api.task``, which looks for
relative ``data_files`` of the builder ``parquet`` beside the YAML file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Record
from lmod_train.data.formats import lmms_eval_task
from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.embedded import EmbeddedFiles, file_of, splits_by_task
from lmod_train.data.formats.folder import ExportFolder
from lmod_train.data.formats.true_answer import Truths

EMBEDS = True
"""Images lie inside the files."""

METRICS = {
    "choice": ("accuracy_strict", "share_unparsed"),
    "region": ("f1_strict", "share_unparsed"),
    "text": ("exact_match", "share_unparsed"),
}
"""Kind of question -> what ``utils.py`` scores of it."""

LONGEST_REPLY = 512
"""Tokens (LMOD, Table 6)."""


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``lmod_<task>.yaml`` for every task, a group ``lmod`` of all, ``utils.py`` and the data."""
    truths, kinds = Truths(selection.trust), dict[str, set[str]]()
    with EmbeddedFiles(folder) as files:
        for record in selection:
            truth = truths.of(record)
            kinds.setdefault(record.task, set()).add(kind_of(record, truth))
            files.append(record, truth)
        splits = splits_by_task(files.files())
    for task, parts in splits.items():
        kind = kinds[task].pop() if len(kinds[task]) == 1 else "text"
        folder.write_text(f"lmod_{task}.yaml", configuration(task, kind, parts))
    folder.write_text("lmod.yaml", "group: lmod\ntask:\n" + "".join(f"  - lmod_{task}\n" for task in splits))
    folder.write_text("utils.py", Path(lmms_eval_task.__file__).read_text(encoding="utf-8"))
    folder.describe("Questions about eye images, for lmms-eval", _how(list(splits)))


def kind_of(record: Record, truth: str) -> str:
    """Return ``choice``, ``region`` or ``text``: by which rule of ``utils.py`` a record is scored.

    Regions are scored as such only where the rule reads the reference reply whole.
    """
    if record.regions:
        listed = lmms_eval_task.listed_regions(record.answer)
        return "region" if sorted(listed) == sorted(r.id for r in record.regions) else "text"
    return "choice" if truth else "text"


def configuration(task: str, kind: str, splits: Sequence[str]) -> str:
    """Return the YAML of one task; of several splits the last of train, val, test is evaluated.

    Written as text, as YAML libraries cannot write lmms-eval's ``!function`` without a class for it.
    """
    lines = [f"task: lmod_{task}", "dataset_path: parquet", "dataset_kwargs:", "  data_files:"]
    lines += [f"    {split}: {file_of(task, split)}" for split in splits]
    lines += [f"test_split: {splits[-1]}", "output_type: generate_until"]
    lines += [f"{name}: !function utils.{name}" for name in _FUNCTIONS]
    lines += [f"process_results: !function utils.{kind}_results", "generation_kwargs:"]
    lines += [
        f"  max_new_tokens: {LONGEST_REPLY}",
        "  temperature: 0",
        "  do_sample: false",
        "  until: []",
        "metric_list:",
    ]
    for metric in METRICS[kind]:
        better = "false" if metric.startswith("share") else "true"
        lines += [f"  - metric: {metric}", "    aggregation: mean", f"    higher_is_better: {better}"]
    return "\n".join([*lines, "metadata:", "  - version: 1.0", ""])


_FUNCTIONS = ("doc_to_visual", "doc_to_text", "doc_to_messages", "doc_to_target")


def _how(tasks: Sequence[str]) -> str:
    names: Any = ", ".join(f"`lmod_{task}`" for task in tasks)
    return str(package_data(__file__, "texts.yaml")["lmms_eval"]).format(names=names)
