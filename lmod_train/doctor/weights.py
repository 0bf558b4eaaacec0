"""Checks of the weights: a complete model, not a delta and not partly loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lmod_train.chat.checkpoint import find
from lmod_train.chat.delta import DeltaSigns, described, mean_gain, named_delta, next_token_entropy
from lmod_train.chat.layouts import layout_name
from lmod_train.doctor.check_result import CheckResult
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError

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
            f"`python -m lmod_train apply-delta --delta {subject.checkpoint} --base LLAMA --out {subject.checkpoint}"
            "-applied`, or name merged weights"
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
