"""A data set folder for the ``datasets`` library: Parquet with the images inside, and a card.

``load_dataset(FOLDER)`` loads everything, ``load_dataset(FOLDER, TASK)`` one task; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmod_train.core.package_data import package_data
from lmod_train.core.raw import dump_yaml
from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.embedded import EmbeddedFiles, file_of, splits_by_task
from lmod_train.data.formats.folder import ExportFolder
from lmod_train.data.formats.true_answer import Truths

EMBEDS = True
"""Images lie inside the files."""


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``data/<task>/<split>.parquet`` and the card, README.md, with licences and sources."""
    truths = Truths(selection.trust)
    with EmbeddedFiles(folder) as files:
        for record in selection:
            files.append(record, truths.of(record))
        splits = splits_by_task(files.files())
    how = package_data(__file__, "texts.yaml")["hugging_face"]
    folder.describe("Questions about eye images", how, front=card(selection, splits))


def card(selection: Selection, splits: Mapping[str, Sequence[str]]) -> str:
    """Return the front matter of the card: a configuration of all tasks, one for each, and the licence.

    Several sources rarely share a licence, so the card's ``license`` is ``other`` and the table in its text names them.
    """
    by_split: dict[str, list[str]] = {}
    for task, parts in splits.items():
        for split in parts:
            by_split.setdefault(split, []).append(file_of(task, split))
    configs = [{"config_name": "all", "default": True, "data_files": _data_files(by_split)}]
    configs += [
        {"config_name": task, "data_files": _data_files({split: [file_of(task, split)] for split in parts})}
        for task, parts in splits.items()
    ]
    front = {
        "license": "other",
        "license_name": " / ".join(dict.fromkeys(one.licence for one in selection.licences)),
        "task_categories": ["visual-question-answering", "image-text-to-text"],
        "tags": ["medical", "ophthalmology"],
        "configs": configs,
    }
    return f"---\n{dump_yaml(front)}---\n\n"


def _data_files(by_split: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    return [{"split": s, "path": list(by_split[s])} for s in ("train", "val", "test") if s in by_split]
