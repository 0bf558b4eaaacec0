"""The command `draft ask`: a model drafts questions about the images of a curated folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jsonargparse.typing import NonNegativeInt

from lmod_train.cli.judge import WAIT
from lmod_train.core.errors import BadArgument


def ask_questions(
    others: Sequence[str],
    curated: Path,
    *,
    model: str,
    out: Path,
    stages: str = "",
    seed: NonNegativeInt = 0,
    limit: NonNegativeInt = 0,
) -> int:
    """Let a model draft single-choice questions about curated images, and check them.

    There is one draft for each image and each stage of X-PCR's chain (IQA, AL, LC, DD, SG, CD) that has a truth: that
    of a record of the task `chain`; without chains, a diagnosis, a grade, or boxes. The model gets the image, the facts
    and the template of the stage (listings 1 to 6 of the paper's supplement). OUT is the folder of a run: the same
    command again asks only for drafts that have no reply. Every draft is checked; OUT/drafts.csv, OUT/faults.csv and
    OUT/checks.csv list drafts, faults and counts. No draft becomes a record before people have reviewed a sample of its
    stage (`draft review`). Other options, such as --model.backend.base_url and --trainer.devices, are those of
    `validate`.

    Args:
        others: Options of `validate` for the model and its devices.
        curated: Folder written by `curate`.
        model: The model: YAML file, or name of a shipped one (`list models`), as in `validate`.
        out: Folder to write the drafts to.
        stages: Stages to draft, separated by commas; default: all that have a truth.
        seed: Seed of the letters of right options, and of the choice among several structures of an image.
        limit: Maximum number of drafts, the first in id order; 0 for all.
    """
    from lmod_train.cli.names import check_names
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.lock import locked

    read_manifest(curated)
    chosen = _stages(stages)
    options = ["--run", str(out), "--model", model, *others]
    check_names("validate", options)
    from lmod_train.cli.drafting import start

    ended = start(curated, chosen, seed, limit, options)
    if ended.scored:
        with locked(out, "--out", WAIT):
            print("\n".join(_checked(out)))
    return ended.status


def _stages(typed: str) -> list[str]:
    from lmod_train.tasks.drafts.facts import STAGES

    names = [name.strip().upper() for name in typed.split(",") if name.strip()]
    if unknown := [name for name in names if name not in STAGES]:
        raise BadArgument("--stages", ",".join(unknown), f"some of {','.join(STAGES)}", "e.g. `--stages DD,SG`")
    return names


def _checked(folder: Path) -> list[str]:
    """Check the drafts of a folder, write their lists, and return the lines to print."""
    from lmod_train.core.artifacts.predictions import read_predictions
    from lmod_train.core.artifacts.run import Run
    from lmod_train.data.formats.draft_lists import CHECKS, DRAFTS, FAULTS, lines, write_lists
    from lmod_train.tasks.drafting.checks import faults_of
    from lmod_train.tasks.drafting.drafted import drafted_of

    predictions = [p for p in read_predictions(Run(folder).predictions) if p.status != "failed"]
    drafts = drafted_of(predictions)
    faults = faults_of(drafts)
    write_lists(folder, drafts, faults, predictions)
    return [*lines(faults, predictions), f"wrote {', '.join(str(folder / name) for name in (DRAFTS, FAULTS, CHECKS))}"]
