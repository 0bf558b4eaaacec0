"""Checks of the weights: a complete model that was trained, not a delta, not partly loaded, and of this vocabulary."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lmod_train.core.errors import LmodError
from lmod_train.models.chat.checkpoint import find
from lmod_train.models.chat.delta import (
    SENTENCES,
    DeltaSigns,
    described,
    mean_gain,
    named_delta,
    next_token_entropy,
)
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.layouts import layout_name
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.prompt_text import prompt_text
from lmod_train.training.doctor.subject import Subject

EDGE = 1.08
"""Largest singular value of a matrix over that of random values of its size, std x (sqrt(rows) + sqrt(columns)), below
which it was not trained. Measured on the small base and on random values in its place: 1.13 to 3 and 0.97 to 1.00."""
LEAST_SIDE, MOST_ROWS = 64, 2048
"""Sides of the matrices that are measured: below the first chance decides, above the second these rows are enough."""
IN_BLOCK = 3
"""Number of matrices of a block (queries, keys, values) that are measured; all must look random."""
NEW_RATE = 1e-4
"""Learning rate below which a new projector stays new; LLaVA trains it at 1e-3, LLaVA-Med at 2e-3."""
OUT_OF_ORDER = 0.92
"""Loss on words in their order over the loss on them shuffled, from which their order says nothing to a model. Small
base: 0.08 on questions, 0.85 on sentences of another kind; with permuted rows or layers 0.95 to 1.02."""
QUESTIONS = 6
"""Number of questions of each language, one of a task, whose words are predicted."""

WHY_DELTA = (
    "delta weights are the difference between a model and its base: values around zero that load without an error, "
    "but learn only token frequencies; replies are empty or repeat one word"
)


def delta(subject: Subject) -> Iterator[CheckResult]:
    """Check the checkpoint's name and the gains of its language model's norms for signs of a delta."""
    named = named_delta(subject.checkpoint)
    try:
        gain = mean_gain(_folder(subject.checkpoint))
    except LmodError as error:  # absent or in an unreadable layout: `load_report` gives the details
        if not named:
            yield CheckResult("delta", "skip", str(error).partition("\n")[0])
            return
        gain = None
    yield _delta_result(subject, DeltaSigns(named, gain))


def _folder(checkpoint: str) -> Path:
    """Return the folder of a checkpoint, also in the layout of its own code, in which deltas are published."""
    config = Path(checkpoint) / "config.json"
    if config.is_file() and layout_name(json.loads(config.read_text(encoding="utf-8"))):
        return config.parent
    return find(checkpoint)


def _delta_result(subject: Subject, signs: DeltaSigns) -> CheckResult:
    evidence = "; ".join(described(signs)) or "no sign of a delta"
    if signs.is_delta:
        cure = (
            f"`python -m lmod_train weights apply-delta --delta {subject.checkpoint} --base LLAMA "
            f"--out {subject.checkpoint}-applied`, or name merged weights"
        )
        return CheckResult("delta", "fail", f"{subject.checkpoint}: delta weights: {evidence}", WHY_DELTA, cure)
    if signs.named:
        why = "the weights are complete, but the folder's name suggests a delta"
        return CheckResult("delta", "warn", f"{subject.checkpoint}: {evidence}", why, "rename the folder")
    return CheckResult("delta", "ok", evidence)


def load_report(subject: Subject) -> Iterator[CheckResult]:
    """Build the network, and check that the files and the architecture have the same tensors."""
    if subject.module is None:
        yield CheckResult("load_report", "skip", "the module could not be built")
        return
    subject.module.configure_model()  # raises on tensors that are missing, unexpected or of another shape
    network = subject.module.network
    total = sum(p.numel() for p in network.parameters())
    what = f"{type(network).__name__}, {total:,} parameters, no tensors missing or unexpected"
    yield CheckResult("load_report", "ok", what)


def entropy(subject: Subject) -> Iterator[CheckResult]:
    """Check the entropy of the language model's next token after two plain sentences; a delta predicts about evenly."""
    if subject.module is None or subject.module.model is None:
        yield CheckResult("delta", "skip", "no network to predict a next token")
        return
    subject.module.eval()
    share = next_token_entropy(subject.module.network, subject.module.dialect.tokenizer)
    yield _delta_result(subject, DeltaSigns(False, None, share))


def untrained(subject: Subject) -> Iterator[CheckResult]:
    """Check by their singular values that projector and blocks of tower and language model are no random values."""
    module = subject.module
    if module is None or module.model is None:
        yield CheckResult("untrained", "skip", "no network to measure")
        return
    measured = spectra(module.network)
    random = {part: [b for b, edge in blocks.items() if edge < EDGE] for part, blocks in measured.items()}
    rate = module.optimisation.projector_lr
    cure = "use the weights as published; where they were converted, convert them again"
    for part, found in random.items():
        if found and not (part == "projector" and rate >= NEW_RATE):
            level: Level = "warn" if part == "projector" or (module.tune_tower and part == "tower") else "fail"
            what = f"{len(found)} of {len(measured[part])} {part} blocks have random values, e.g. {found[0]}"
            why = f"they say nothing of their input; at a projector_lr of {rate:g} they stay so"
            yield CheckResult("untrained", level, what, why, f"{cure}; a new projector learns at a rate of 1e-3")
    if not any(random.values()):
        least = min((edge for blocks in measured.values() for edge in blocks.values()), default=math.inf)
        yield CheckResult("untrained", "ok", f"no block has random values (least {least:.2f}, random 1.00)")
    elif random.get("projector") and rate >= NEW_RATE:
        yield CheckResult("untrained", "ok", f"the projector has random values, and learns at {rate:g}")


@torch.no_grad()
def spectra(network: Any) -> dict[str, dict[str, float]]:
    """Return part -> block -> largest ratio of its first matrices to the edge of random values, see `EDGE`.

    A block is a layer of tower or language model, or a matrix of the projector.
    """
    family, blocks = family_of(network), defaultdict[tuple[str, str], list[Tensor]](list)
    for name, parameter in network.named_parameters():
        layer = re.search(r"\.(?:layers|blocks|layer)\.\d+\.", name)
        part = family.part(name)
        key = part, name if part == "projector" else name[: layer.end() - 1] if layer else ""
        measurable = parameter.ndim > 1 and min(parameter.flatten(1).shape) >= LEAST_SIDE
        if measurable and key[1] and "lora_" not in name and len(blocks[key]) < IN_BLOCK:
            blocks[key].append(parameter)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (owner, block), matrices in blocks.items():
        if matrices:
            found[owner][block] = max(map(over_the_edge, matrices))
    return found


def over_the_edge(matrix: Tensor, rounds: int = 8) -> float:
    """Return the largest singular value of a matrix over that of random values of its size, about 1 if it is random.

    Example:
        >>> values = torch.randn(200, 100, generator=torch.Generator().manual_seed(0))
        >>> round(over_the_edge(values)), over_the_edge(values + 1) > 3
        (1, True)
    """
    values = matrix.detach().flatten(1)[:MOST_ROWS].float()
    vector = torch.ones(values.shape[1], device=values.device)
    for _ in range(rounds):  # power iteration
        vector = values.T @ (values @ vector)
        vector = vector / vector.norm().clamp_min(1e-30)
    edge = values.square().mean().sqrt() * sum(math.sqrt(side) for side in values.shape)
    return float((values @ vector).norm() / edge.clamp_min(1e-30))


def vocabulary(subject: Subject) -> Iterator[CheckResult]:
    """Check that the language model predicts words better in their order than shuffled: it knows this tokenizer.

    Words are those of some questions of each language and of two plain sentences, without images. It warns only if the
    model does so for none of these, and worse than by guessing evenly; a small model of other texts may be meant.
    """
    module = subject.module
    if module is None or module.model is None:
        yield CheckResult("vocabulary", "skip", "no network to predict words")
        return
    module.eval()
    asked: dict[str, dict[str, str]] = defaultdict(dict)
    for record in subject.records():
        asked[record.language].setdefault(record.task, prompt_text(record))
    texts = [list(questions.values())[:QUESTIONS] for questions in asked.values()]
    losses = [_in_and_out_of_order(module, some) for some in (*texts, SENTENCES)]
    even = math.log(module.network.config.get_text_config().vocab_size)
    ordered, best = min(own for own, _ in losses) / even, min(own / max(other, 1e-9) for own, other in losses)
    what = f"words in their order cost {best:.0%} of the loss on shuffled ones, {ordered:.2f} of ln(vocabulary)"
    if best > OUT_OF_ORDER and ordered > 1:
        why = "the words that the model gets are not those that it learnt, or its layers are not in their order"
        cure = "use the tokenizer published with these weights, and the weights as published"
        yield CheckResult("vocabulary", "warn", what, why, cure)
    else:
        yield CheckResult("vocabulary", "ok", what)


@torch.no_grad()
def _in_and_out_of_order(module: Any, texts: Sequence[str]) -> tuple[float, float]:
    """Return the mean loss in nats on the tokens of some texts, and on the same tokens shuffled; the first stays."""
    losses: list[tuple[float, float]] = []
    for text in texts:
        ids = module.dialect.tokenizer(text).input_ids
        order = torch.randperm(len(ids) - 1, generator=torch.Generator().manual_seed(0)) + 1
        pair = torch.tensor([ids, [ids[0], *(ids[i] for i in order)]], device=module.network.device)
        logits = module.network(input_ids=pair).logits[:, :-1].float()
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), pair[:, 1:].flatten(), reduction="none")
        own, other = each.view(2, -1).mean(1).tolist()
        losses.append((own, other))
    own, other = (sum(column) / len(losses) for column in zip(*losses, strict=True))
    return own, other
