"""Replies that change with the batch, by rounding alone: ours and transformers' own, in float32 and bfloat16.

    python scripts/benchmarks/rounding.py --work build/rounding --images 4

A small LLaVA with random weights (`tuning_world.py`), 12 questions an image. The reply to a question asked alone is
compared with that to the same question in a batch: ours behind the shared prefix, transformers' `generate` in a padded
batch of 8, each question with its image. `differ` counts replies with another token; `gap` is the largest difference of
the two tokens' logits where two replies part, by a plain forward pass in that type: if it is as small as the rounding,
neither reply is the better one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tuning import HERE, ran

from lmod_train.core.artifacts.records import read_records
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.prefixes import Asked
from lmod_train.models.chat.token_loop import decoded

Tokens = list[list[int]]


def ours(network: Any, batch: ChatBatch, new: int) -> Tokens:
    """Return the tokens of our replies to a batch."""
    images = encode(network, batch.images)
    return decoded(Asked(network, images, batch.prompt_ids, batch.images_of, {2}, 0), new)


def plain(network: Any, batch: ChatBatch, new: int) -> Tokens:
    """Return the tokens of `generate`, padded on the left."""
    longest = max(map(len, batch.prompt_ids))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in batch.prompt_ids])
    pixels = torch.cat([batch.images.items[image]["pixel_values"] for (image,) in batch.images_of])
    given = {"input_ids": ids, "attention_mask": (ids != 0).long(), "pixel_values": pixels.to(network.dtype)}
    out = network.generate(**given, max_new_tokens=new, do_sample=False, eos_token_id=2, pad_token_id=0)
    return [_ended(tokens) for tokens in out[:, longest:].tolist()]


def _ended(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(2) + 1] if 2 in tokens else tokens


def gap(network: Any, batch: ChatBatch, row: int, one: Sequence[int], other: Sequence[int]) -> float:
    """Return the difference of the logits of the first two tokens in which two replies to a question differ."""
    at = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    ids = torch.tensor([[*batch.prompt_ids[row], *one[:at]]])
    (image,) = batch.images_of[row]
    pixels = batch.images.items[image]["pixel_values"].to(network.dtype)
    logits = network(input_ids=ids, pixel_values=pixels, logits_to_keep=1).logits[0, -1].float()
    return float((logits[one[at]] - logits[other[at]]).abs())


def in_batches(answer: Any, network: Any, dialect: Dialect, root: Path, size: int, new: int) -> Tokens:
    """Return the tokens of all replies, in batches of a number of questions."""
    records = sorted(read_records(root / "records"), key=lambda record: record.id)
    starts = range(0, len(records), size)
    return [t for i in starts for t in answer(network, dialect(records[i : i + size], root), new)]


@torch.inference_mode()
def compared(name: str, answer: Any, network: Any, a: argparse.Namespace, size: int) -> None:
    """Print a row: replies alone against replies in batches."""
    dialect, root = Dialect(a.work / "checkpoint"), a.work / "questions-12"
    alone, together = (in_batches(answer, network, dialect, root, n, a.tokens) for n in (1, size))
    batch = dialect(sorted(read_records(root / "records"), key=lambda record: record.id), root)
    pairs = list(enumerate(zip(alone, together, strict=True)))
    gaps = [gap(network, batch, i, one, other) for i, (one, other) in pairs if one != other]
    largest = f"{max(gaps):.1e}" if gaps else ""
    print(f"| {network.dtype} | {name} | {len(gaps)} of {len(alone)} | {largest} |", flush=True)


def main() -> None:
    """Write the model and the questions, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder of its own")
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=16, help="tokens of a reply")
    a = parser.parse_args()
    script = [sys.executable, str(HERE / "tuning_world.py"), "--work", str(a.work), "--batch", "12", "--wide"]
    print(ran([*script, "--batches", str(a.images)]).splitlines()[-1])
    print("\n| type | side | differ | gap |\n|---|---|---|---|", flush=True)
    for dtype in (torch.float32, torch.bfloat16):
        network = load(a.work / "checkpoint", dtype).eval()
        compared("transformers, 1 against 8", plain, network, a, 8)
        compared("ours, 1 against 8", ours, network, a, 8)
        compared("ours, 1 against 12 behind one prefix", ours, network, a, 12)


if __name__ == "__main__":
    main()
