"""`export CURATED --to trl_grpo`: questions for TRL's GRPOTrainer, a reward file of two lines, and the launch line.

TRL 1.16: ``trl/scripts/grpo.py`` takes ``--reward_funcs`` as a dotted path in the working folder, and calls the
function with ``prompts``, ``completions`` and every other column of the data by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core.artifacts.pseudonyms import known_key
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.files import make_folder
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import dump_yaml
from lmod_train.core.types import Record
from lmod_train.data.formats.chosen_records import Selection
from lmod_train.data.formats.embedded import COLUMNS, ROWS_A_GROUP, row_of, typed
from lmod_train.data.formats.folder import ExportFolder, exported_id
from lmod_train.data.formats.turns import NEEDS_ANSWERS
from lmod_train.extensions.reason.reward import Rewards
from lmod_train.tasks.building import tasks_asked

EMBEDS = True
"""Images lie inside the files."""

_NAMES = {"id": "id", "images": "images", "messages": "prompt"}
"""Column of an exported record -> its name for TRL."""

_OPEN = "open_answer", "only answers that are one of several choices are rewarded"


def write(selection: Selection, folder: ExportFolder) -> None:
    """Write ``data/<split>.parquet``, ``reward.py`` and README.md with the line to launch.

    Raises:
        BadArgument: Images are left out, which TRL reads from the files.
    """
    if folder.images == "none":
        raise BadArgument("--images", "none", "copy, as TRL reads the images from these files", "leave it out")
    kept: dict[str, list[Record]] = {split: [] for split in selection.splits}
    for record in selection:
        if _is_kept(record, folder):
            kept[record.split].append(record)
    for split, records in kept.items():
        _write_split(records, folder, folder.path / "data" / f"{split}.parquet")
    explained = sum(bool(r.facts) for records in kept.values() for r in records)
    at = os.path.relpath(selection.curated.resolve(), folder.out.resolve())
    folder.write_text("reward.py", f"from {__name__} import trl_reward\n\nreward = trl_reward(__file__, {at!r})\n")
    files = [{"split": split, "path": f"data/{split}.parquet"} for split in selection.splits]
    front = {"configs": [{"config_name": "default", "data_files": files}]}
    how = package_data(__file__, "texts.yaml")["grpo"].format(explained, folder.written)
    folder.describe("Questions for TRL's GRPOTrainer", how, front=f"---\n{dump_yaml(front)}---\n\n")


def _is_kept(record: Record, folder: ExportFolder) -> bool:
    """Return whether a reply to a record can be rewarded; one that cannot is counted and listed."""
    problem = NEEDS_ANSWERS if record.needs else _OPEN if record.regions or not record.choices else None
    if problem:
        folder.leave_out(record, *problem)
    return problem is None


def _write_split(records: Iterable[Record], folder: ExportFolder, path: Path) -> None:
    schema = typed([(_NAMES[name], kind) for name, kind in COLUMNS if name in _NAMES])
    make_folder(path.parent)
    waiting = iter(records)
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        while rows := [_row(record, folder) for record in islice(waiting, ROWS_A_GROUP)]:
            file.write_table(pa.Table.from_pylist(rows, schema=schema))
            folder.written += len(rows)


def _row(record: Record, folder: ExportFolder) -> dict[str, Any]:
    row = row_of(record, "", folder.pixels(record), folder.key)
    return {own: row[name] for name, own in _NAMES.items()}


def trl_reward(file: str, curated: str) -> Callable[..., list[float]]:
    """Return the reward function of an exported folder, as GRPOTrainer calls it.

    Args:
        file: A file of the exported folder.
        curated: The curated folder, relative to the exported one.

    Raises:
        ArtifactError: The curated folder is not there any more, or its records are not those that were exported.
    """
    folder = Path(file).resolve().parent / curated
    records = read_records(folder / "records")
    training = [r for r in records if r.split == "train"]
    tasks = {task.name: task for task in tasks_asked(records)}
    score = {name: Rewards(task, [r for r in training if r.task == name]) for name, task in tasks.items()}
    known = {exported_id(r.id, key): r for key in {b"", known_key(folder)} for r in records}

    def reward(completions: Sequence[object], id: Sequence[str], **_: object) -> list[float]:
        unknown = [one for one in id if one not in known]
        if unknown:
            raise ArtifactError(folder, f"it has no record {unknown[0]}", "export this folder again")
        asked = (known[one] for one in id)
        replies = map(_text_of, completions)
        return [score[record.task](reply, record).total for reply, record in zip(replies, asked, strict=True)]

    return reward


def _text_of(completion: Any) -> str:
    """Return the text of a completion: a string, or messages whose contents are strings or typed parts."""
    if isinstance(completion, str):
        return completion
    return "".join(_parts(message.get("content") for message in completion))


def _parts(contents: Iterable[Any]) -> Iterator[str]:
    for content in contents:
        if isinstance(content, str):
            yield content
        else:
            yield from (part["text"] for part in content or () if part.get("type") == "text")
