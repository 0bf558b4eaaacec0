"""Speed of our zero-shot replies, and two limits, in the benchmark `zero_shot.py`; each in its own process.

    cd scripts/benchmarks
    python zero_shot_ours.py validate --work WORK/questions-12 --checkpoint WORK/checkpoint

`validate` is `lmod_train.evaluate` as users call it. `generate` is the bare loop of transformers: one question at a
time, processor and `generate`. `products` is what no program can save: the linear maps of the network alone, with the
shapes that `validate` gives them. One JSON object is printed, with the keys of `zero_shot_lmms_eval.py`.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from rounds import CLOCKS, peak_mebibytes, process_age
from torch import nn
from torch.nn import functional

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.pixels import open_rgb
from lmod_train.core.types import Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.tasks.conversation import Conversation
from lmod_train.training.evaluation import evaluate


class Clock(Callback):
    """Time from the first image read to the last reply, without loading the model.

    Attributes:
        seconds: That time.
        first: Age of the process in seconds at the first replies; None before.
    """

    def __init__(self, backend: HuggingFace, clock: str) -> None:
        self._now, self._collate, self._read = CLOCKS[clock], backend.collate, 0.0
        self.seconds, self._began = 0.0, 0.0
        self.first: float | None = None
        backend.collate = self._first_batch

    def _first_batch(self, records: Any, root: Any) -> Any:
        """Collate a batch; the first is read before the model is loaded, and is counted here."""
        began = self._now()
        batch = self._collate(records, root)
        self._read = self._read or self._now() - began
        return batch

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The model is loaded."""
        self._began = self._now()

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """A batch is answered."""
        self.first = self.first or process_age()
        self.seconds = self._read + self._now() - self._began


def validated(a: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of `evaluate`."""
    backend = HuggingFace(str(a.checkpoint), a.tokens, a.dtype)
    clock = Clock(backend, a.clock)
    data = RecordsDataModule(a.work, [Conversation()], eval_batch_size=a.batch, split="all")
    quiet: dict[str, Any] = {
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "accelerator": "cpu",
        "devices": 1,
    }
    with tempfile.TemporaryDirectory() as run:
        made = evaluate(backend, data, run, callbacks=[clock], **quiet)
    texts = {p.record.id: p.reply.reply for p in made}
    return {"seconds": clock.seconds, "first": clock.first, "texts": [texts[id] for id in sorted(texts)]}


def generated(a: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of a loop over records, processor and `generate`."""
    network, dialect, now = load(a.checkpoint, getattr(torch, a.dtype)).eval(), Dialect(a.checkpoint), CLOCKS[a.clock]
    began, first, texts = now(), None, []
    for record in records_of(a):
        ids = new_tokens(network, dialect, record, a)
        texts.append(dialect.tokenizer.decode(ids, skip_special_tokens=True).strip())
        first = first or process_age()
    return {"seconds": now() - began, "first": first, "texts": texts}


@torch.inference_mode()
def new_tokens(network: Any, dialect: Dialect, record: Record, a: argparse.Namespace) -> list[int]:
    """Return the tokens of a reply as transformers alone makes it, from our padded picture."""
    pictures = [dialect.shaped(open_rgb(a.work / image)) for image in record.image]
    text, _ = dialect.render(record)
    given = dialect.processor(text=text, images=pictures, return_tensors="pt", add_special_tokens=False)
    given["pixel_values"] = given["pixel_values"].to(network.dtype)
    out = network.generate(**given, max_new_tokens=a.tokens, do_sample=False, num_beams=1)
    return list(map(int, out[0, given["input_ids"].shape[1] :]))


def multiplied(a: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of the linear maps of `validate` alone: the same weights, inputs of the same shapes."""
    network, dialect, now = load(a.checkpoint, getattr(torch, a.dtype)).eval(), Dialect(a.checkpoint), CLOCKS[a.clock]
    shapes: Counter[tuple[nn.Linear, tuple[int, ...]]] = Counter()

    def seen(layer: Any, given: Any) -> None:
        shapes[layer, tuple(given[0].shape)] += 1

    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_pre_hook(seen)
    records = records_of(a)
    for start in range(0, len(records), a.batch):
        respond(network, dialect, dialect(records[start : start + a.batch], a.work), Decoding(a.tokens), "")
    with torch.inference_mode():
        return {"seconds": sum(n * once(layer, shape, now) for (layer, shape), n in shapes.items()), "texts": []}


def once(layer: nn.Linear, shape: tuple[int, ...], now: Callable[[], float]) -> float:
    """Return the seconds of one linear map, the mean of several after the first."""
    given, repeats = torch.randn(shape, dtype=layer.weight.dtype), 5
    functional.linear(given, layer.weight, layer.bias)
    began = now()
    for _ in range(repeats):
        functional.linear(given, layer.weight, layer.bias)
    return (now() - began) / repeats


def records_of(a: argparse.Namespace) -> list[Record]:
    """Return the records in the order of their ids."""
    return sorted(read_records(a.work / "records"), key=lambda record: record.id)


SIDES = {"validate": validated, "generate": generated, "products": multiplied}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--work", type=Path, required=True, help="a folder that zero_shot.py wrote")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=12, help="questions of a batch")
    parser.add_argument("--tokens", type=int, default=16, help="tokens of a reply")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(a.threads)
    a.work, a.checkpoint = a.work.resolve(), a.checkpoint.resolve()
    made = SIDES[a.side](a)
    print(json.dumps(made | {"peak": peak_mebibytes()}))


if __name__ == "__main__":
    main()
