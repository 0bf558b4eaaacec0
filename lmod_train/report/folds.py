"""Pool the predictions of the folds of a cross-validation to one run, in the folder of the series."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import read_run_column, read_run_records, write_run_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import FOLDS, members
from lmod_train.core.artifacts.training_set import trained_on, training_warnings
from lmod_train.core.errors import ArtifactError
from lmod_train.core.files import remove, write_durably
from lmod_train.core.lock import locked
from lmod_train.core.tables import markdown
from lmod_train.core.types import Record
from lmod_train.tasks.headline import headline, headline_table
from lmod_train.tasks.rescore import rescore


def pool(folder: Path, trust: Sequence[str] = ()) -> str:
    """Write the run of all folds, scored as any other run, and return its headline table and what was done.

    Its records and replies are those of the folds, each record once, by the model that was not trained on its family.
    So its interval is one over all patients. The standard deviation over folds is no standard error of the score, as
    any two folds share most of their training records (Bengio & Grandvalet 2004, JMLR 5); it is not computed.

    Args:
        folder: Folder of the folds, to which ``config.yaml``, ``records.parquet``, ``replies/`` and scores are written.
        trust: Modules outside this package with task classes that the runs name, which may be imported.

    Raises:
        ArtifactError: A fold is missing or has no replies, or two folds answer the same record.
    """
    folds = members(folder)
    _check_complete(folder, folds)
    records: dict[str, Record] = {}
    asked: dict[str, str] = {}
    for fold in folds:
        own = read_run_records(Run(fold).records)
        if twice := sorted(records.keys() & {r.id for r in own}):
            problem = f"{len(twice)} records are in two folds, e.g. {twice[0]}"
            raise ArtifactError(folder, problem, "evaluate all folds by one command, into a new folder: `--run NEW`")
        records |= {r.id: r for r in own}
        asked |= read_run_column(Run(fold).records, "asked")
    run = Run(folder)
    with locked(folder, "--run"):
        run.write_config(_config(folds))
        write_run_records(run.records, records.values(), asked)
        _copy_replies(run, folds)
        done = rescore(folder, trust)
    return "\n".join([*done, markdown(headline_table(headline([folder])))])


def _check_complete(folder: Path, folds: Sequence[Path]) -> None:
    count = int(folds[0].name.rpartition("of")[2]) if folds else 0
    without = [fold.name for fold in folds if not Run(fold).scores.exists()]
    if len(folds) != count or without:
        problem = f"{len(folds)} of {count} folds are evaluated; without scores: {', '.join(without) or 'none'}"
        raise ArtifactError(folder, problem, "type the same command again, which continues the missing ones")


def _config(folds: Sequence[Path]) -> dict[str, Any]:
    """Return the configuration of the first fold as that of all, with weights and warnings of each."""
    configs = [Run(fold).read_config() for fold in folds]
    known = [config.get("provenance") or {} for config in configs]
    weights = {
        f"{fold.name}/{name}": digest
        for fold, own in zip(folds, known, strict=True)
        for name, digest in (own.get("weights") or {}).items()
    }
    data = {**(configs[0].get("data") or {}), "fold": ""}
    warned = {
        phrase: f"{fold.name}: {text}"
        for fold, config in zip(folds, configs, strict=True)
        for phrase, text in training_warnings(config).items()
    }
    on = {"trained_on": {**trained_on(configs[0]), "warnings": warned}} if warned else {}
    return {**configs[0], "data": data, "provenance": {**known[0], "weights": weights, **on}, FOLDS: len(folds)}


def _copy_replies(run: Run, folds: Sequence[Path]) -> None:
    """Copy the reply files of the folds, each under the name of its fold."""
    for old in run.replies.glob("*.jsonl"):
        remove(old)
    for fold in folds:
        for file in sorted(Run(fold).replies.glob("*.jsonl")):
            with write_durably(run.replies / file.name.replace("rank-", f"rank-{fold.name}-", 1)) as beside:
                shutil.copyfile(file, beside)
