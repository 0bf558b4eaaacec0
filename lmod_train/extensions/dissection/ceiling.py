"""What a tower could reach: the replies of a supervised model, by default of a small CNN that is trained here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Answer, Prediction, Unparsed

if TYPE_CHECKING:
    from lmod_train.core.types import Record

Ceiling = tuple[Sequence[Prediction], frozenset[str] | None]
"""Replies of a supervised model, and the questions whose images it was not trained on; None if it saw none."""

STEPS, BATCH = 200, 32
"""Optimiser steps of the cheap ceiling, and images a step; fewer training images are too few."""

OF_THE_RUN = ("limit", "subset", "split", "batch_size", "eval_batch_size", "max_questions")
"""Options of the data that choose what is asked of the dissected model; the others choose the question."""


def cheap_ceiling(
    out: Path, curated: Path, task: str, split: str, others: Sequence[str], trust: Sequence[str]
) -> Ceiling | None:
    """Return the replies of the small CNN of ``configs/model/cnn.yaml``, trained from pixels on the training split.

    It is a run of `fit` and one of `validate` below the folder of the dissection, which the next command continues;
    a complete training is not repeated. Where it cannot be trained, a line says why.

    Args:
        out: Folder of the dissected run.
        curated: Curated folder.
        task: Name of the task.
        split: Splits whose records are asked.
        others: Options of `validate` that were typed.
        trust: Modules outside this package with task classes that records name.

    Returns:
        What it replied; None without it.
    """
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.series import is_trained
    from lmod_train.extensions.dissection.state_files import Dissected

    fit, replies = (Run(Dissected(out).ceiling / name) for name in ("fit", "replies"))
    trained = [r for r in read_records(curated / "records") if r.task == task and r.split == "train"]
    words = _words(curated, task, others, trust)
    try:
        if why := _untrainable(trained):
            raise LmodError(why)
        if not is_trained(fit.folder):
            print(f"{STEPS} steps of the cheap ceiling, a small CNN, begin; `--ceiling none` leaves it out", flush=True)
            _run("fit", [*words, *_STEPS, "--run", str(fit.folder)])
        asked = ["--data.split", split, "--ckpt_path", str(fit.last)]
        _run("validate", [*words, *asked, "--run", str(replies.folder)])
        return read_ceiling(replies.folder, curated, task)
    except LmodError as error:
        print(f"no cheap ceiling: {str(error).partition(NEXT)[0]}")
        return None


NEXT = "\nNext: "

_STEPS = (
    *("--data.batch_size", f"{BATCH}", "--trainer.max_steps", f"{STEPS}", "--trainer.max_epochs", "-1"),
    *("--trainer.limit_val_batches", "0", "--checkpoint.every_n_train_steps", f"{STEPS // 2}"),
)


def _words(curated: Path, task: str, others: Sequence[str], trust: Sequence[str]) -> list[str]:
    """Return the options of both runs: those of ``configs/cnn_*.yaml``, and what of the typed ones is for any model."""
    from lmod_train.cli.typed import options

    words = ["--model", "cnn", "--trainer", "cnn", "--trainer.logger", "false", "--data.eval_batch_size", "64"]
    words += ["--data.curated", str(curated), "--data.tasks", task]
    words += [word for module in trust for word in ("--trust", module)]
    for option in options(others):
        room, _, name = option.key.partition(".")
        if (room == "data" and name not in OF_THE_RUN) or name == "enable_progress_bar":
            words += option.words
    return words


def _run(command: str, words: Sequence[str]) -> None:
    """Run a command of Lightning in this process; what it prints goes where messages go."""
    from lmod_train.cli.experiment import run
    from lmod_train.cli.seeds_and_folds import release
    from lmod_train.cli.short_names import by_name

    release()
    with redirect_stdout(sys.stderr):
        run([command, *by_name(command, words)], once=True)


def _untrainable(trained: Sequence[Record]) -> str:
    """Return why no model can be trained on the records of the training split; empty if one can."""
    if len(trained) < BATCH:
        return f"the training split has {len(trained)} images of this task, and a step takes {BATCH}"
    answers = {record.answer for record in trained}
    return "" if len(answers) > 1 else f"the training split has only the answer {answers.pop()}"


def read_ceiling(run: Path, curated: Path, task: str) -> Ceiling:
    """Return what a supervised model answered; refuse a run of other records before a model is loaded."""
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.run import Run
    from lmod_train.core.artifacts.training_set import read_unseen
    from lmod_train.scoring.items import images_of

    given, unseen = read_predictions(Run(run).predictions), read_unseen(run)
    records = read_records(curated / "records")
    known = {r.id for r in records if r.task == task} or {r.id for r in records}
    reached(given, unseen, {p.record.id: images_of(p.record) for p in given if p.record.id in known})
    return given, unseen


def reached(
    ceiling: Sequence[Prediction], unseen: frozenset[str] | None, images: Mapping[str, str]
) -> dict[str, Answer | Unparsed]:
    """Return record id -> answer of the supervised model about the same images, none that it was trained on."""
    from lmod_train.scoring.items import images_of
    from lmod_train.scoring.ways import question_of

    found = {
        p.record.id: p.answer
        for p in ceiling
        if images.get(p.record.id) == images_of(p.record)
        and p.record.split != "train"
        and (unseen is None or question_of(p.record.id, p.record.tags) in unseen)
        and p.status != "failed"
    }
    if not found:
        expected = "a run with replies to these records, of a model that was not trained on them"
        cure = "name another, or leave `--ceiling` out; what has been computed is kept"
        raise BadArgument("--ceiling", f"{len(ceiling)} replies to other records", expected, cure)
    return found


def refuse_own_tower(out: Path, ceiling: Path) -> None:
    """Refuse a ceiling that holds most matrices of the tower, frozen: what the tower lost, it lacks too."""
    import pandas as pd

    from lmod_train.core.artifacts.run import Run
    from lmod_train.extensions.dissection.state_files import Dissected
    from lmod_train.extensions.dissection.states import matrices_of
    from lmod_train.models.chat.checkpoint import find_any
    from lmod_train.models.vision.published_weights import located
    from lmod_train.models.vision.weights_file import read_weights

    held: set[str] = set()
    for key, name in _frozen(Run(ceiling).read_config().get("model") if Run(ceiling).config.exists() else None):
        with suppress(LmodError):  # weights that are gone or remote are not compared
            place = find_any(name) if key == "checkpoint" else located(name)
            for file in sorted(place.glob("*.safetensors")) if place.is_dir() else [place]:
                held |= matrices_of(read_weights(file).tensors.values())
    own = set(pd.read_csv(Dissected(out).tower)["matrix"]) if Dissected(out).tower.exists() else set()
    if len(own & held) > len(own) / 2:
        cure = "name a model trained from pixels, or leave `--ceiling` out; what has been computed is kept"
        raise BadArgument("--ceiling", f"{ceiling}, on the tower of MODEL", "a model with a tower of its own", cure)


def _frozen(config: Any, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield the weights that a model's config names and `fit` does not train: those of encoders and of bases."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, str) and (key == "checkpoint" or (key, inside) == ("weights", "encoder")):
            yield key, value
        yield from _frozen(value, key)
