"""Memory that the loss takes for a token of the answers and a word of the vocabulary, with all logits and in chunks.

    python scripts/benchmarks/loss_memory.py [--tokens 2048] [--vocabulary 128000]

A LLaVA in bfloat16 with narrow layers and the whole vocabulary is trained on one answer without a picture; each way
runs in a process of its own, forward and backward, on the CPU. Memory is the peak of the process (VmHWM of Linux) above
what it held with the network.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from gpu import SIZES, narrowed
from transformers import AutoConfig, AutoModelForImageTextToText

from lmod_train.models.chat import answer_loss
from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.encoding import Images


def memory(name: str) -> int:
    """Return a value of this process in bytes: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def measured(tokens: int, vocabulary: int, at_once: int) -> tuple[float, float, float]:
    """Return bytes a token and word, seconds, and the loss of a step in which `at_once` logits are held at once."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    size = SIZES["llava"]
    text = narrowed(size.text) | {"vocab_size": vocabulary, "max_position_embeddings": 8192, "pad_token_id": 0}
    config = AutoConfig.for_model("llava", text_config=text, vision_config=narrowed(size.vision), **size.more)
    network: Any = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    trainable(network, Lora(4, 8, 0.0))
    words = torch.randint(20, vocabulary, (tokens,)).tolist()
    nothing: Any = [None]  # the record, of which only the number is read
    batch = ChatBatch(nothing, [[5, 6, 7]], [words], [""], Images([], []), [()])
    answer_loss.AT_ONCE = at_once
    held = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is held now
    began = perf_counter()
    with torch.autocast("cpu", torch.bfloat16):
        loss = answer_loss.batch_loss(network, batch, 0, 8192, shared_prefix=True)
    loss.backward()
    return (memory("VmHWM") - held) / tokens / vocabulary, perf_counter() - began, loss.item()


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2048, help="tokens of the answer")
    parser.add_argument("--vocabulary", type=int, default=128000, help="words of the vocabulary")
    given = parser.parse_args()
    for what, at_once in (("all logits", 2**62), ("in chunks", answer_loss.AT_ONCE)):
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            per, seconds, loss = alone.submit(measured, given.tokens, given.vocabulary, at_once).result()
        whole = per * given.tokens * given.vocabulary / 2**20
        print(f"{what}: {per:.2f} bytes a token and word, {whole:.0f} MiB, {seconds:.1f} s, loss {loss:.6f}")


if __name__ == "__main__":
    main()
