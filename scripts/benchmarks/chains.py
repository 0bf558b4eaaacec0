"""Time of a cascade of six stages beside a bare loop of the same rounds, and image tokens computed for a chain.

    cd scripts/benchmarks
    python chains.py                                  # draws phantoms, curates chains, asks the small base
    python chains.py --curated CHAINS --checkpoint CHECKPOINT --dtype bfloat16 --device cuda

`cascade` is `lmod_train.evaluate` with `regime="cas_all"`, as users call it: stage after stage of a batch of images,
the replies parsed, written to the run folder and filled into the next questions. `loop` asks the same filled questions
without Lightning, files or parser, every image anew in each round. `independent` is `evaluate` with every stage alone,
where all questions about an image share it.

The replies of `cascade` are compared with `generate` of transformers on the filled prompts, and the image tokens that
the language model computes are counted: those of one prompt a chain, if nothing is computed twice.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rounds import CLOCKS, Rounds

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.pixels import open_rgb
from lmod_train.core.types import Prediction, Record
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.cascade_loader import CascadeLoader
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.oimhs import Oimhs
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.family import family_of
from lmod_train.phantom.folders import oimhs
from lmod_train.tasks.cascade import as_sent, rounds
from lmod_train.tasks.regimes import Regime, in_regime
from lmod_train.training.evaluation import evaluate

Answers = dict[str, Any]


def chains_of(a: argparse.Namespace, folder: Path) -> Path:
    """Return the curated folder: that of the command, or of phantoms drawn for this run."""
    if a.curated:
        return Path(a.curated)
    oimhs.write(folder / "raw", a.chains, seed=0, size=128, workers=0)
    curate([Oimhs(folder / "raw")], [Chain()], folder / "curated", workers=1, progress=False)
    return folder / "curated"


def asked(a: argparse.Namespace, root: Path, backend: HuggingFace, regime: Regime) -> tuple[float, list[Prediction]]:
    """Return seconds and predictions of `evaluate`."""
    data = RecordsDataModule(root, [Chain()], eval_batch_size=a.batch, split="all", regime=regime)
    quiet: dict[str, Any] = {"enable_progress_bar": False, "enable_model_summary": False}
    with tempfile.TemporaryDirectory() as run:
        began = CLOCKS[a.clock]()
        found = evaluate(backend, data, run, accelerator=a.device, devices=1, **quiet)
        return CLOCKS[a.clock]() - began, found


def looped(a: argparse.Namespace, root: Path, backend: Any, records: list[Record], answers: Answers) -> float:
    """Return the seconds of the bare loop, which is given the answers of the cascade."""
    order: list[list[Record]] = []

    def note(some: Sequence[Record]) -> list[Record]:
        order.append(list(some))
        return []

    list(CascadeLoader(records, note, backend.collate, root, a.batch))
    began = CLOCKS[a.clock]()
    for some in order:
        batch = backend.collate([as_sent(record, answers) for record in some], root).to(a.device)
        respond(backend._model, backend.collate, batch, Decoding(a.tokens), "")
    return CLOCKS[a.clock]() - began


def generated(root: Path, backend: Any, record: Record, tokens: int) -> str:
    """Return the reply of transformers alone."""
    network, dialect = backend._model, backend.collate
    pictures = [dialect.shaped(open_rgb(root / image)) for image in record.image]
    text, _ = dialect.render(record)
    given = dialect.processor(text=text, images=pictures, return_tensors="pt", add_special_tokens=False)
    given = given.to(network.device)
    given["pixel_values"] = given["pixel_values"].to(network.dtype)
    with torch.inference_mode():
        out = network.generate(**given, max_new_tokens=tokens, do_sample=False, num_beams=1)
    return str(dialect.tokenizer.decode(out[0, given["input_ids"].shape[1] :], skip_special_tokens=True)).strip()


class ImageTokens:
    """Counts the image tokens that a language model computes."""

    def __init__(self, network: Any) -> None:
        self.count, self._token = 0, family_of(network).image_token_id
        network.register_forward_pre_hook(self._add, with_kwargs=True)

    def _add(self, network: Any, args: Any, given: dict[str, Any]) -> None:
        self.count += int((given["input_ids"] == self._token).sum())


def main() -> None:
    """Print the table, the count of image tokens and the comparison with `generate`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curated", help="folder with records of the task chain; phantoms are drawn without it")
    parser.add_argument("--checkpoint", default="small_base")
    parser.add_argument("--chains", type=int, default=24, help="number of phantoms to draw")
    parser.add_argument("--batch", type=int, default=8, help="questions of a batch")
    parser.add_argument("--tokens", type=int, default=16, help="tokens of a reply")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compared", type=int, default=36, help="replies to compare with `generate`")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(a.threads)
    with tempfile.TemporaryDirectory() as folder:
        measure(a, chains_of(a, Path(folder)))


def measure(a: argparse.Namespace, root: Path) -> None:
    """Print all figures of one curated folder."""
    backend: Any = HuggingFace(a.checkpoint, a.tokens, a.dtype)
    curated = [r for r in read_records(root / "records") if r.task == Chain.name]
    records = in_regime(curated, {Chain.name: Chain()}, "cas_all", {r.id: r for r in curated})
    _, found = asked(a, root, backend, "cas_all")
    answers: Answers = {p.record.id: p.answer for p in found}
    tokens = ImageTokens(backend._model)
    asked(a, root, backend, "cas_all")
    one = backend.collate(curated[:1], root).prompt_ids[0].count(tokens._token)
    chains = len({r.chain for r in curated})
    print(f"{chains} chains, {len(records)} questions, {len(rounds(records))} rounds")
    print(f"image tokens computed for a chain: {tokens.count / chains:g}; in a prompt: {one}")
    table = Rounds(
        a.rounds,
        True,
        cascade=lambda: asked(a, root, backend, "cas_all")[0],
        loop=lambda: looped(a, root, backend, records, answers),
        independent=lambda: asked(a, root, backend, "independent")[0],
    )
    print("| asked | cascade s | other s | other / cascade | over rounds | wanted | limit | other load |")
    print("|---|--:|--:|--:|---|---|---|--:|")
    table.print_row("bare loop", "cascade", "loop", ">= 0.83", "the same rounds, each image anew")
    table.print_row("independent", "cascade", "independent", "-", "one batch for six questions")
    some = [as_sent(record, answers) for record in records[: a.compared]]
    texts = {p.record.id: p.reply.reply for p in found}
    equal = sum(generated(root, backend, record, a.tokens) == texts[record.id] for record in some)
    print(f"replies equal to those of generate: {equal} of {len(some)}")


if __name__ == "__main__":
    main()
