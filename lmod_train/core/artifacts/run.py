"""The folder of a run: what its files are called, what it is called itself, and what it was started with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument, ConfigDamaged
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link
from lmod_train.core.raw import dump_yaml, read_yaml

PARSER = "parser"
"""Name that no judge has: in agreements of judges, whether the task's own parser finds the true answer in the reply."""

EXACT, CONTAINMENT = "exact", "containment"
"""Names that no judge has either: whether an open answer has the words of the reference answer, or contains them."""

PEOPLE = "people"
"""Key of a judge's ``config.yaml`` that states that people gave the verdicts."""

READER = "reader"
"""Key of a run's ``config.yaml`` with the name of the person who gave the answers; absent in runs of models."""

NOT_ASKED = "tasks_not_asked"
"""Key of the provenance of a run that lists the tasks of its config without records in the curated folder or split."""

NETWORK = "network"
"""Key of the provenance of a run: number of parameters of its network, resolution and tiles of its input."""

MEMBER = re.compile(r"seed_\d+|fold_\d+of\d+")
"""Names of the folders of the runs of a series (`lmod_train.core.artifacts.series`)."""


class _Place:
    """A file or folder of a run, whose path is checked whenever it is used, as the run may come from someone else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: Run | None, owner: type[Run]) -> Path:
        return Path(self._name) if run is None else run._own(self._name)


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of a run, which need not exist.

    Attributes:
        folder: Its path.
    """

    folder: Path

    config = _Place("config.yaml")
    """What it was started with, YAML."""
    doctor = _Place("doctor.json")
    """What was found before the first step."""
    last = _Place("checkpoints/last.ckpt")
    """Checkpoint that a training goes on from."""
    records = _Place("records.parquet")
    """What is asked."""
    replies = _Place("replies")
    """Folder of what was replied, a file a rank: the only thing that a run cannot make again."""
    batches = _Place("batches")
    """Folder of the batches that were left at a service, a file a rank, and of their results; absent without any."""
    energy = _Place("energy")
    """Folder of what GPUs used for the replies, a file a rank; absent where it was not measured."""
    predictions = _Place("predictions.parquet")
    """What the replies were read as."""
    scores = _Place("scores.csv")
    """Figures."""
    trained_on = _Place("trained_on.csv")
    """Images that it was trained on, by content and family."""
    unseen = _Place("unseen.txt")
    """Ids of the records that do not belong to the training of the evaluated checkpoint, if others do."""
    bert_scores = _Place("bert_scores.json")
    """BERTScores of its open answers."""
    judgements = _Place("judgements")
    """Folder of the judgements of its replies: a run folder for each judge."""
    tripwires = _Place("tripwires.jsonl")
    """Probes of a training, one a line."""

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def attacks(self) -> Run:
        """Of a judge's folder: the folder of the attacks on this judge, a run folder."""
        return Run(self._own("attacks"))

    def replies_of(self, rank: int, shard: str = "") -> Path:
        """Return the reply file of one process of a run.

        Args:
            rank: Its rank.
            shard: Part of the records that it asks, ``i/n``; empty for all.

        Example:
            >>> Run(Path("here")).replies_of(0, "2/8").name
            'rank-2of8-0.jsonl'
        """
        part = f"{shard.replace('/', 'of')}-" if shard else ""
        return self.replies / f"rank-{part}{rank}.jsonl"

    def lock_of(self, shard: str) -> Path:
        """Return the folder that exists, and is locked, while a process asks a part ``i/n`` of the records."""
        return self.folder / f".shard-{shard.replace('/', 'of')}"

    def judge(self, name: str) -> Run:
        """Return the folder of one judge of this run's replies.

        Raises:
            BadArgument: The name cannot be that of a folder and part of a metric's name, or is taken by the rule.

        Example:
            >>> Run(Path("RUN")).judge("gpt-4o").folder.as_posix()
            'RUN/judgements/gpt-4o'
        """
        if not re.fullmatch(r"[\w+-][\w.+-]{0,99}", name) or name in (PARSER, EXACT, CONTAINMENT):
            expected = (
                "letters, digits and . + - _, not beginning with a dot, and not `parser`, `exact` or `containment`, "
                "which are rules"
            )
            raise BadArgument("name", name, expected, "e.g. `--name reader_1`")
        return Run(self._own(f"judgements/{name}"))

    def _own(self, name: str) -> Path:
        """Return a file or folder of the run, which may come from someone else.

        Raises:
            LeavesFolder: It is a link that leads out of the run's folder.
            NoFile: It is a pipe, socket, device or endless link.
        """
        path = self.folder / name
        check_link(self.folder, path)
        return path

    def has_begun(self) -> bool:
        """Return whether the folder holds a run: what it was started with, what it asks, or what was replied."""
        return any(path.exists() for path in (self.config, self.records, self.replies, self.predictions))

    @property
    def name(self) -> str:
        """What the run is called in tables: its place below a folder ``runs``, otherwise the folder's own name.

        A run of a series (`lmod_train.core.artifacts.series`) is called by the name of the series, too.

        Example:
            >>> Run(Path("here/runs/quickstart/fit")).name, Run(Path("here/TUNED")).name
            ('quickstart/fit', 'TUNED')
            >>> Run(Path("here/TUNED/seed_0")).name
            'TUNED/seed_0'
        """
        parts = self.folder.resolve().parts
        start = max(i for i, part in enumerate(("runs", *parts)) if part == "runs")
        if start and start < len(parts):
            return "/".join(parts[start:])
        return "/".join(parts[max(i for i, part in enumerate(parts) if not MEMBER.fullmatch(part)) :])

    def read_config(self) -> dict[str, Any]:
        """Return what ``config.yaml`` holds, its class paths as they are today; empty where there is none.

        Raises:
            ConfigDamaged: It is no text, no YAML, or no mapping.
        """
        path = self.config
        try:
            config = (read_yaml(path) or {}) if path.exists() else {}
        except (OSError, ValueError) as error:
            raise ConfigDamaged(path, f"is no YAML that can be read ({error})") from error
        if problem := _problem(config):
            raise ConfigDamaged(path, problem)
        return dict(config)

    def known_config(self) -> dict[str, Any]:
        """Return what `read_config` does; empty for a damaged file."""
        try:
            return self.read_config()
        except ConfigDamaged:
            return {}

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Write ``config.yaml``, whole or not at all, its keys sorted."""
        with write_durably(self.config) as beside:
            beside.write_text(dump_yaml(dict(config), sort_keys=True), encoding="utf-8")


def _problem(config: Any) -> str:
    """Return what of a configuration is of another type than modules read it as; empty if nothing is."""
    if not isinstance(config, dict):
        return f"holds a {type(config).__name__}, expected keys and values"
    for name in ("data", "model", "trainer", "provenance"):
        if not isinstance(config.get(name) or {}, dict | str if name == "model" else dict):
            return f"its {name!r} holds a {type(config[name]).__name__}, expected keys and values"
    data = config.get("data") or {}
    init = data.get("init_args") or {}
    if not isinstance(init, dict):
        return f"'init_args' of its data is a {type(init).__name__}, expected keys and values"
    for part in (data, init):
        if not isinstance(part.get("tasks") or [], list) or not isinstance(part.get("curated") or "", str):
            return "'tasks' of its data is no list, or 'curated' no path"
    return ""
