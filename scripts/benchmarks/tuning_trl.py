"""Speed of TRL's SFTTrainer in the benchmark `tuning.py`, in float32 on a CPU, in its own environment.

    python -m venv TRL && TRL/bin/pip install trl==1.16.0 torch torchvision transformers datasets pillow
    cd scripts/benchmarks
    TRL/bin/python tuning_trl.py --work WORK/questions-12 --checkpoint WORK/checkpoint

Use the same versions of torch and transformers as ours. TRL is unchanged: prompt and completion in its conversational
format, one question per sample, its own collator, its loss on the completion. Settings are in its favour: no gradient
checkpointing (by default every layer is computed twice), samples in the order of our first epoch, nothing saved. The
schedule is ours (half a cosine, no warm-up).

On a CPU, TRL 1.16 computes logits at every token; on a GPU only at supervised tokens. --compact makes it do so here
too, by pretending that there is a GPU kernel. It prints one JSON object: seconds of every step but the first, loss of
every step, peak memory.
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
    """End time of each step."""

    def __init__(self, clock: str) -> None:
        self._now = CLOCKS[clock]
        self.ended: list[float] = []

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Append the time."""
        self.ended.append(self._now())


def samples(folder: Path) -> Any:
    """Return the records as a dataset for TRL."""
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
    """Return a context in which TRL computes logits as on a GPU; raises if this release of TRL has no such switch."""
    return patch.object(importlib.import_module("trl.trainer.utils"), "_use_triton", lambda device: True)


def trained(a: argparse.Namespace) -> dict[str, Any]:
    """Train, and return the measurements."""
    trl: Any = importlib.import_module("trl")  # only installed in its own environment
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
