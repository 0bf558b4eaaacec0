"""Speed of TRL's SFTTrainer on what `tuning.py` trains, in float32 on a CPU, in an environment of its own.

    python -m venv TRL && TRL/bin/pip install trl==1.16.0 torch torchvision transformers datasets pillow
    cd scripts/benchmarks
    TRL/bin/python tuning_trl.py --work WORK/questions-12 --checkpoint WORK/checkpoint

Take the versions of torch and transformers that ours runs with, or two things are compared. Nothing of TRL is changed:
prompt and completion in its conversational form, one question a sample, its own collator, its loss on the completion.
What is set, is set in its favour: no gradient checkpointing (its default computes every layer twice), the samples in
the order of our first epoch, and nothing saved. The schedule is ours (half a cosine, no warm-up).

On a CPU, TRL 1.16 computes the vocabulary at every token; on a GPU only where one is learnt. --compact lets it do that
here too, by telling its forward that there is a GPU kernel. It prints one JSON object: seconds of every step but the
first, loss of every step, the most memory held.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from rounds import CLOCKS, peak_mebibytes
from transformers import AutoModelForImageTextToText, AutoProcessor, TrainerCallback


class Stamps(TrainerCallback):
    """When each step ended."""

    def __init__(self, clock: str) -> None:
        self._now = CLOCKS[clock]
        self.ended: list[float] = []

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Note the time."""
        self.ended.append(self._now())


def samples(folder: Path) -> Any:
    """Return the records as TRL takes them."""
    datasets = importlib.import_module("datasets")
    lines = [json.loads(line) for line in (folder / "order.jsonl").read_text(encoding="utf-8").splitlines()]
    made = {
        "prompt": [[{"role": "user", "content": line["question"]}] for line in lines],
        "completion": [[{"role": "assistant", "content": line["answer"]}] for line in lines],
        "images": [[str(folder / line["image"])] for line in lines],
    }
    pictures = datasets.List(datasets.Image())
    return datasets.Dataset.from_dict(made).cast_column("images", pictures)


def compact() -> Any:
    """Return a context in which TRL computes the vocabulary as on a GPU; it raises where TRL has no such switch."""
    return patch.object(importlib.import_module("trl.trainer.utils"), "_use_triton", lambda device: True)


def trained(a: argparse.Namespace) -> dict[str, Any]:
    """Train, and return what is printed."""
    trl: Any = importlib.import_module("trl")  # only its own environment has it
    network: Any = AutoModelForImageTextToText.from_pretrained(a.checkpoint, dtype=torch.float32)
    network.model.vision_tower.requires_grad_(False)
    data, stamps = samples(a.work), Stamps(a.clock)
    settings = trl.SFTConfig(
        output_dir=str(a.work / "trl"),
        per_device_train_batch_size=a.batch,
        max_steps=len(data) // a.batch,
        learning_rate=a.lr,
        lr_scheduler_type="cosine",
        warmup_steps=0,
        weight_decay=0.0,
        max_grad_norm=1.0,
        optim="adamw_torch",
        train_sampling_strategy="sequential",
        completion_only_loss=True,
        max_length=None,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    processor = AutoProcessor.from_pretrained(a.checkpoint)
    trainer = trl.SFTTrainer(network, args=settings, train_dataset=data, processing_class=processor, callbacks=[stamps])
    with compact() if a.compact else nullcontext():
        trainer.train()
    return {
        "seconds": [end - start for start, end in pairwise(stamps.ended)],
        "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        "peak": peak_mebibytes(),
        "trained": sum(p.numel() for p in network.parameters() if p.requires_grad),
    }


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder that tuning_world.py wrote")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--compact", action="store_true", help="the vocabulary only where it is learnt")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(a.threads)
    print(json.dumps(trained(a)))


if __name__ == "__main__":
    main()
