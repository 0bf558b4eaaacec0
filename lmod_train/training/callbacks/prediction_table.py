"""Callback that logs a table of predictions with their images to wandb."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import WandbLogger
from lightning_utilities.core.rank_zero import rank_zero_warn
from PIL import Image

from lmod_train.core.artifacts.leaving import closed_sources, sources_touched
from lmod_train.core.artifacts.predictions import answer_json
from lmod_train.core.curated import Curated
from lmod_train.core.types import Prediction
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.protocols import data_of

COLUMNS = ["id", "task", "image", "reply", "parsed", "reference", "status"]


class PredictionTable(Callback):
    """Logs the first predictions of every task after each evaluation, if a wandb logger is configured.

    They are those that `GenerationEval` has scored; a shard has none.
    A table has photographs, names of files and diagnoses. Records of sources that must not be redistributed are left
    out (`lmod_train.core.artifacts.leaving`), and this is said once.

    Args:
        rows: Maximum number of predictions of each task.
        send_sources: Names of sources that may be logged although their licence does not permit redistribution, because
            the agreement with their provider allows it; only to an https address, this machine, or offline.
    """

    def __init__(self, rows: int = 32, send_sources: list[str] | None = None) -> None:
        self._rows, self._allowed = rows, tuple(send_sources or ())

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the table."""
        loggers = [logger for logger in trainer.loggers if isinstance(logger, WandbLogger)]
        if not loggers or trainer.sanity_checking or not trainer.is_global_zero:
            return
        for task, predictions in self._predictions(trainer, loggers).items():
            for logger in loggers:
                logger.log_table(f"predictions/{task}", COLUMNS, self._table(trainer, predictions))

    on_test_end = on_validation_end

    def _predictions(self, trainer: Trainer, loggers: Sequence[Any]) -> dict[str, list[Prediction]]:
        """Return the first predictions of each task, in record order, as `GenerationEval` has read them."""
        evaluations = [c for c in getattr(trainer, "callbacks", ()) if isinstance(c, GenerationEval)]
        found = {task: one.predictions for c in evaluations for task, one in c.scored.items()}
        records = [p.record for predictions in found.values() for p in predictions]
        readable = [url for logger in loggers if (url := _readable_on_the_way(logger.experiment))]
        closed = closed_sources(records, data_of(trainer).images.root, () if readable else self._allowed)
        if closed:
            named = ", ".join(closed)
            rank_zero_warn(
                f"predictions of {named} are not logged to wandb: their licence does not permit redistribution. If "
                f"your agreement with the provider allows it, set send_sources: [{named}] of PredictionTable"
                + (f", and log to an https address (now: {readable[0]})" if readable else "")
            )
        return {
            task: [p for p in predictions if not sources_touched(p.record) & set(closed)][: self._rows]
            for task, predictions in found.items()
        }

    def _table(self, trainer: Trainer, predictions: list[Prediction]) -> list[list[Any]]:
        import wandb  # takes seconds to import, and only runs that log to it need it

        images = data_of(trainer).images
        return [
            [
                p.record.id,
                p.record.task,
                wandb.Image(shown(images, p.record.image)) if p.record.image else None,
                html.escape(p.reply.reply),  # untrusted text of a model, escaped for the page,
                html.escape(answer_json(p.answer), quote=False),  # as are a parser's quotes of it
                p.record.answer,
                p.status,
            ]
            for p in predictions
        ]


def _readable_on_the_way(run: Any) -> str:
    """Return the address that a run of wandb is sent to, if a proxy or network could read it; else empty."""
    url, proxy = str(run.settings.base_url), run.settings.http_proxy
    at_home = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1") and not proxy
    return "" if run.offline or url.startswith("https:") or at_home else url


def shown(images: Curated, names: Sequence[str]) -> Image.Image:
    """Return the images of a record as one RGB picture, of which wandb stores the pixels and nothing beside them.

    Args:
        images: The curated folder's images.
        names: At least one; several are placed side by side in order, aligned at the top, on black.

    Raises:
        CuratedDamaged: One is missing or cannot be decoded.
    """
    pictures = [images.rgb(name) for name in names]
    if len(pictures) == 1:
        return pictures[0]
    joined = Image.new("RGB", (sum(p.width for p in pictures), max(p.height for p in pictures)))
    for place, picture in enumerate(pictures):
        joined.paste(picture, (sum(p.width for p in pictures[:place]), 0))
    return joined
