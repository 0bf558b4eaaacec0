"""Speed of lmms-eval in the benchmark `zero_shot.py`, in float32 on a CPU, in its own environment.

    python -m venv LMMS && LMMS/bin/pip install lmms-eval==0.7.3 decord filelock==3.20.0 torch torchvision
    cd scripts/benchmarks
    LMMS/bin/python zero_shot_lmms_eval.py --export WORK/questions-12/lmms_eval --checkpoint WORK/checkpoint

Use the same versions of torch and transformers as ours. lmms-eval is unchanged: its evaluator, its model `llava_hf`,
which takes one question at a time, and our exported records. It prints one JSON object: seconds in which it answered
(images, processor and generation, without loading the model), seconds from the start of the process to the first reply,
peak memory, and every text.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from rounds import CLOCKS, peak_mebibytes, process_age


class Clock:
    """Times of the calls of a model of lmms-eval.

    Attributes:
        seconds: Seconds of `generate_until`.
        first: Age of the process in seconds at the first reply; None before.
        texts: Replies in the order of the records.
    """

    def __init__(self, clock: str) -> None:
        self._now = CLOCKS[clock]
        self.seconds, self.texts = 0.0, list[str]()
        self.first: float | None = None

    def watching(self, own: Any) -> Any:
        """Return the model's `generate_until`, watched."""

        def generate_until(model: Any, requests: Any) -> Any:
            add = model.cache_hook.add_partial

            def added(*given: Any) -> None:
                self.first = self.first or process_age()
                add(*given)

            model.cache_hook.add_partial = added
            began = self._now()
            replies = own(model, requests)
            self.seconds += self._now() - began
            self.texts += [getattr(reply, "text", reply) for reply in replies]
            return replies

        return generate_until


def answered(a: argparse.Namespace) -> Clock:
    """Let lmms-eval answer the exported records."""
    evaluator, tasks = import_module("lmms_eval.evaluator"), import_module("lmms_eval.tasks")
    kind = import_module("lmms_eval.models.simple.llava_hf").LlavaHf
    clock = Clock(a.clock)
    with patch.object(kind, "generate_until", clock.watching(kind.generate_until)):
        evaluator.simple_evaluate(
            model="llava_hf",
            model_args=f"pretrained={a.checkpoint},dtype=float32,device_map=cpu",
            tasks=["lmod_conversation"],
            task_manager=tasks.TaskManager("ERROR", include_path=str(a.export)),
            gen_kwargs=f"max_new_tokens={a.tokens}",
            batch_size=1,
            device="cpu",
            force_simple=True,
            bootstrap_iters=0,
            cli_args=argparse.Namespace(output_path=None, process_with_media=False, limit=None),
        )
    return clock


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", type=Path, required=True, help="a folder of `export --to lmms_eval`")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=16, help="tokens of a reply")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(a.threads)
    a.export, a.checkpoint = a.export.resolve(), a.checkpoint.resolve()
    os.chdir(a.export)  # lmms-eval writes its caches where it starts
    clock = answered(a)
    made = {"seconds": clock.seconds, "first": clock.first, "peak": peak_mebibytes(), "texts": clock.texts}
    print(json.dumps(made))


if __name__ == "__main__":
    main()
