"""Speed of our tuning in the benchmark `tuning.py`, with a number of optimisations, in its own process.

    python scripts/benchmarks/tuning_ours.py --work build/tuning/questions-12 --checkpoint build/tuning/checkpoint

--levers N uses the first N optimisations of `LEVERS`; 3 is the default of `fit`, 4 adds `tower_features`. Without any,
a step works as in other programs: one question per sequence, its image through the tower each time, logits at every
token. --bare trains in a plain loop over prepared tensors, see `bare`. One JSON object is printed, with the keys of
`tuning_trl.py`.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from lightning import Callback, LightningModule, Trainer
from rounds import CLOCKS, peak_mebibytes
from torch import Tensor
from torch.nn import functional
from tuning_world import datamodule, ordered

from lmod_train.models.chat import answer_loss as loss_of
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.sequences import IGNORED, Sequences, pack
from lmod_train.models.chat.shared_prefix import network_inputs, share
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.optimisation import Optimisation

LEVERS = ("tower once an image", "prefix once", "vocabulary where it is learnt", "tower from disk")


class Pulled(VisionLanguageModel):
    """Our module with the first `levers` optimisations of `LEVERS`."""

    def __init__(self, checkpoint: Path, levers: int, lr: float, kept: Path) -> None:
        super().__init__(
            str(checkpoint),
            lora=None,
            optimisation=Optimisation(lr=lr, projector_lr=lr, warmup=0.0),
            tune_language_model=True,
            shared_prefix=levers > 1,
            tower_features=kept if levers > 3 else None,
        )
        self._levers = levers

    def loss(self, batch: ChatBatch) -> Tensor:
        """Return the loss, computed with the chosen optimisations."""
        if self._levers < 1:
            batch = shown_apart(batch)
        if self._levers > 2:
            return super().loss(batch)
        with patch.object(loss_of, "answer_loss", everywhere):
            return super().loss(batch)


def shown_apart(batch: ChatBatch) -> ChatBatch:
    """Return a batch in which every question has its own copy of the image."""
    images, rows = batch.images, [row for (row,) in batch.images_of]
    apart = copy(batch)
    apart.images = Images([images.items[row] for row in rows], [(images.tokens or [])[row] for row in rows])
    apart.images_of = [(row,) for row in range(len(batch))]
    return apart


def everywhere(
    network: Any, sequences: Sequences, encoded: dict[str, Any] | None = None, grids: Tensor | None = None, *over: str
) -> Tensor:
    """Return the result of `answer_loss` over answers, with logits computed at every token."""
    logits = network(**network_inputs(network, sequences, grids), mm_encoder_outputs=encoded or {}).logits.float()
    targets, weights = sequences.labels.roll(-1, 1).flatten(), sequences.weights.roll(-1, 1).flatten()
    losses = functional.cross_entropy(logits.flatten(0, 1), targets, ignore_index=IGNORED, reduction="none")
    weighted: Tensor = (losses * weights).sum()
    return weighted / sequences.records


class Stamps(Callback):
    """End time, loss and records of each step."""

    def __init__(self, clock: str) -> None:
        self._now = CLOCKS[clock]
        self.ended: list[float] = []
        self.losses: list[float] = []
        self.asked: list[str] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Append them."""
        self.losses.append(float(outputs["loss"]))
        self.asked += [r.id for r in batch.records]
        self.ended.append(self._now())


def fitted(a: argparse.Namespace) -> Stamps:
    """Train through our Trainer; features that are read from disk are computed before."""
    module, stamps = Pulled(a.checkpoint, a.levers, a.lr, a.work / "tower"), Stamps(a.clock)
    data = datamodule(a.work, a.batch)
    if a.levers > 3:
        module.configure_model()
        with torch.no_grad():
            for batch in ordered(datamodule(a.work, a.batch), module.collate):
                encode(module.network, batch.images)
    quiet: Any = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    place: Any = {"accelerator": "cpu", "devices": 1, "use_distributed_sampler": False, "default_root_dir": a.work}
    trainer = Trainer(
        max_epochs=1,
        gradient_clip_val=1.0,
        limit_val_batches=0,
        enable_checkpointing=False,
        callbacks=[stamps],
        **quiet,
        **place,
    )
    trainer.fit(module, datamodule=data)
    a.trained = sum(p.numel() for p in module.parameters() if p.requires_grad)
    return stamps


def prepared(module: VisionLanguageModel, batch: ChatBatch) -> dict[str, Any]:
    """Return the tensors of a step, packed as in `fit`, outside the measured time."""
    prompts, answers, images = batch.prompt_ids, batch.answer_ids, batch.images_of
    rows = share(prompts, answers, images, family_of(module.network).image_token_id)
    sequences = pack(rows, prompts, answers, images, module.dialect.tokenizer.pad_token_id)
    keep = sequences.predicting()
    pictures = batch.images.items
    return {
        "inputs": network_inputs(module.network, sequences) | {"logits_to_keep": keep},
        "pixel_values": torch.cat([pictures[row]["pixel_values"] for row in sequences.images]),
        "targets": sequences.labels.roll(-1, 1)[keep],
        "weights": sequences.weights.roll(-1, 1)[keep] / sequences.records,
        "asked": [r.id for r in batch.records],
    }


def bare(a: argparse.Namespace) -> Stamps:
    """Train in a plain loop on tensors in memory, with the same sequences, network and optimiser."""
    module, stamps = Pulled(a.checkpoint, 3, a.lr, a.work / "tower"), Stamps(a.clock)
    module.configure_model()
    network, now = module.network, CLOCKS[a.clock]
    steps = [prepared(module, batch) for batch in ordered(datamodule(a.work, a.batch), module.collate)]
    optimiser, schedule = module.optimiser(len(steps))
    parameters = [p for p in network.parameters() if p.requires_grad]
    a.trained = sum(p.numel() for p in parameters)
    for step in steps:
        optimiser.zero_grad()
        logits = network(**step["inputs"], pixel_values=step["pixel_values"]).logits
        loss = (functional.cross_entropy(logits, step["targets"], reduction="none") * step["weights"]).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()
        stamps.losses.append(loss.item())
        stamps.asked += step["asked"]
        stamps.ended.append(now())
    return stamps


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder that tuning_world.py wrote")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--levers", type=int, choices=range(len(LEVERS) + 1), default=len(LEVERS))
    parser.add_argument("--bare", action="store_true")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(a.threads)
    stamps = bare(a) if a.bare else fitted(a)
    lines = (a.work / "order.jsonl").read_text(encoding="utf-8").splitlines()
    if stamps.asked != [json.loads(line)["id"] for line in lines]:
        raise SystemExit("the records are in another order than on the other side")
    seconds = [end - start for start, end in pairwise(stamps.ended)]
    measured = {"seconds": seconds, "losses": stamps.losses, "peak": peak_mebibytes(), "trained": a.trained}
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
