"""Are these weights a model? A delta, a half-loaded tower, a missing projector and a foreign layout are not."""

from __future__ import annotations

from collections.abc import Iterator

from lmod_train.chat.checkpoint import find
from lmod_train.chat.delta import DeltaSigns, described, mean_gain, named_delta, next_token_entropy
from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError

WHY_DELTA = (
    "a delta is what is left of a model when its base is subtracted: noise around zero that loads without an error and "
    "can learn only how often each token comes; replies end empty or repeat one word"
)


def delta(subject: Subject) -> Iterator[Finding]:
    """Look at the checkpoint's name and at the gains of its language model's norms, from the files alone."""
    named = named_delta(subject.checkpoint)
    try:
        gain = mean_gain(find(subject.checkpoint))
    except LmodError as error:  # absent, or in a layout that cannot be read: `load_report` says more
        if not named:
            yield Finding("delta", "skip", str(error).partition("\n")[0])
            return
        gain = None
    yield _finding(subject, DeltaSigns(named, gain))


def _finding(subject: Subject, signs: DeltaSigns) -> Finding:
    said = "; ".join(described(signs)) or "nothing speaks for a delta"
    if signs.is_delta:
        cure = (
            f"`python -m lmod_train apply-delta --delta {subject.checkpoint} --base LLAMA --out {subject.checkpoint}"
            "-applied`, or name merged weights"
        )
        return Finding("delta", "fail", f"{subject.checkpoint}: delta weights: {said}", WHY_DELTA, cure)
    if signs.named:
        why = "the weights are whole, but whoever reads the folder's name will doubt it"
        return Finding("delta", "warn", f"{subject.checkpoint}: {said}", why, "rename the folder")
    return Finding("delta", "ok", said)


def load_report(subject: Subject) -> Iterator[Finding]:
    """Build the network: every tensor of the files has its place, and every place its tensor."""
    if subject.module is None:
        yield Finding("load_report", "skip", "the module could not be made")
        return
    subject.module.configure_model()  # refuses anything missing, left over or of another shape
    network = subject.module.network
    total = sum(p.numel() for p in network.parameters())
    yield Finding("load_report", "ok", f"{type(network).__name__}, {total:,} parameters, nothing missing or left over")


def entropy(subject: Subject) -> Iterator[Finding]:
    """Ask the loaded language model for its next token on two plain sentences: a delta does not know any."""
    if subject.module is None or subject.module.model is None:
        yield Finding("delta", "skip", "no network to ask for its next token")
        return
    subject.module.eval()
    share = next_token_entropy(subject.module.network, subject.module.dialect.tokenizer)
    yield _finding(subject, DeltaSigns(False, None, share))
