"""Data of the collapse lab, and the weights that its trainings start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_durably
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.discovery import discover
from lmod_train.models.chat.checkpoint import find, load
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.phantom.folders import cataract_1k, eye_diseases, refuge
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor.check_result import failures
from lmod_train.training.doctor.examine import examine
from lmod_train.training.doctor.subject import Subject
from lmod_train.training.lab.tuning import Recipe, tuned

Start = Literal["merged", "delta", "base", "random"]
STARTS: tuple[Start, ...] = ("merged", "delta", "base", "random")
"""Weights that a training starts from, see `checkpoints`."""
BASE = "small_base"
START = Recipe(steps=100, lr=3e-4)
"""Recipe that tunes the small base into the complete weights from which the delta is made."""
BATCH = 16
"""Questions per optimiser step."""


def phantoms(out: Path, n: int) -> Path:
    """Return the folder of curated phantoms, drawn where they are missing: 50 % train, 10 % val, 40 % test.

    Args:
        out: Folder of the lab.
        n: Number of phantoms of each of three sources.

    Raises:
        BadArgument: The folder was made with another `n`.
    """
    raw, curated = out / "raw", out / "curated"
    drawn = raw / "drawn"
    if drawn.exists():
        begun = drawn.read_text(encoding="utf-8")
        if begun not in ("", str(n)):
            raise BadArgument("--n", n, f"{begun}, with which {out} was made", "name another folder (--out)")
    else:
        eye_diseases.write(raw, n, 0)
        refuge.write(raw, n, 0)
        cataract_1k.write(raw, n, 0)
        with write_durably(drawn) as beside:
            beside.write_text(str(n), encoding="utf-8")
    tasks: list[Task] = [Anatomy(), FourWay(), Glaucoma()]
    curate(discover(raw).sources, tasks, curated, protocol="collapse_lab", ratios=(0.5, 0.1, 0.4), progress=False)
    return curated


def data_of(
    curated: Path, task: Task, modality: str, seed: int, split: Literal["val", "test"] = "test"
) -> RecordsDataModule:
    """Return the records of a task in one modality, of which `split` is asked."""
    return RecordsDataModule(curated, [task], BATCH, 64, split=split, seed=seed, modality=modality)


def checkpoints(out: Path, curated: Path) -> dict[Start, Path]:
    """Return the checkpoints that trainings start from, made where they are missing.

    ``merged`` is the base tuned on the four-way question, as LLaVA-Med is a tuned LLaMA; ``delta`` its difference from
    the base; ``base`` the base itself, without that tuning; ``random`` the complete weights with a language model that
    is initialised at random as before its pre-training.
    """
    weights, base = out / "weights", find(BASE)
    merged, delta, random = weights / "merged", weights / "small-delta", weights / "random"
    if not merged.exists():
        module, _ = tuned(out / "runs" / "start", BASE, data_of(curated, FourWay(), "", 0), 0, START)
        _save(module.network, module.dialect.processor, merged)
    if not delta.exists():
        make_delta(merged, base, delta)
    if not random.exists():
        _save(forgetful(merged), AutoProcessor.from_pretrained(merged), random)
    return {"merged": merged, "delta": delta, "base": base, "random": random}


def forgetful(checkpoint: Path) -> Any:
    """Return a model whose language model is initialised at random (seed 0), with the tower and projector of another.

    Example:
        >>> model = forgetful(find("small_base"))
        >>> float(model.model.language_model.norm.weight.mean())  # the gain of a new network
        1.0
    """
    whole: Any = load(checkpoint)
    family = family_of(whole)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh: Any = AutoModelForImageTextToText.from_config(whole.config)
    kept = {name: value for name, value in whole.state_dict().items() if family.part(name) in ("tower", "projector")}
    fresh.load_state_dict(kept, strict=False)
    return fresh


def _save(model: Any, processor: Any, folder: Path) -> None:
    with write_durably(folder) as part:
        model.save_pretrained(part)
        processor.save_pretrained(part)


def verdict(checkpoint: Path, curated: Path) -> str:
    """Return the verdict of the doctor's checks on a checkpoint: ``passes``, or ``refuses`` and the failed checks."""
    module = VisionLanguageModel(str(checkpoint), None, tune_language_model=True)
    data = RecordsDataModule(curated, [Glaucoma()])
    data.setup("fit")
    config = {"model": {"init_args": {"checkpoint": str(checkpoint)}}, "trainer": {"gradient_clip_val": 1.0}}
    failed = dict.fromkeys(f.check for f in failures(examine(Subject(config, module, data))))
    return f"refuses: {', '.join(failed)}" if failed else "passes"
