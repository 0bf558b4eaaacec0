"""What learns, at which rate, and whether it is still there after saving and loading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import torch
from torch import Tensor

from lmod_train.chat.family import family_of
from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject
from lmod_train.modules.conversation import Conversation

STEPS = 100
"""Of the schedule that rates are read from; only their order matters."""
FLOAT32 = 4
AT_MOST = 4.0
"""Gigabytes (10^9 bytes, in float32) of trained tensors up to which they are saved; it takes thrice that in memory."""


def census(subject: Subject) -> Iterator[Finding]:
    """Count what learns by part, with its rate: the tower rests, the projector learns, adapters are in place."""
    module = subject.module
    if module is None or module.model is None:
        yield Finding("census", "skip", "no network to count")
        return
    family = family_of(module.network)
    made, _ = module.optimiser(STEPS)
    rate = {id(p): group["initial_lr"] for group in made.param_groups for p in group["params"]}
    learns: dict[str, list[Any]] = defaultdict(list)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            learns[family.part(name)].append((name, parameter))
    adapters = {n for part in learns.values() for n, _ in part if "lora_" in n}
    astray = sorted(n for n in adapters if family.part(n) != "language_model")
    tower = any(name not in adapters for name, _ in learns.get("tower", []))
    yield from _astray(module, astray, tower, "projector" in learns)
    for part, owned in learns.items():
        if without := [n for n, p in owned if id(p) not in rate]:
            what = f"{len(without)} trainable tensors of the {part} have no learning rate, e.g. {without[0]}"
            yield Finding("census", "fail", what, "they would stay as they are", "report this as a bug")
    counted = [
        f"{part} {sum(p.numel() for _, p in owned):,} at "
        + "/".join(f"{r:g}" for r in sorted({rate[id(p)] for _, p in owned if id(p) in rate}))
        for part, owned in sorted(learns.items())
    ]
    share = sum(p.numel() for o in learns.values() for _, p in o) / max(sum(p.numel() for p in module.parameters()), 1)
    yield Finding("census", "ok", f"{share:.1%} of the weights learn: {'; '.join(counted) or 'none'}")


def _astray(module: Conversation, astray: list[str], tower: bool, projector: bool) -> Iterator[Finding]:
    if astray:
        what = f"{len(astray)} adapter tensors outside the language model, e.g. {astray[0]}"
        why = "q_proj, k_proj and v_proj are names of the tower too: adapters there change what the model sees"
        yield Finding("census", "fail", what, why, "leave model.init_args.lora.targets out: the default is anchored")
    if tower and not module.tune_tower:
        why = "a tower that learns from few images forgets what it was taught with many"
        yield Finding("census", "fail", "the vision tower learns, and tune_tower is false", why, "report this as a bug")
    if not projector:
        why = "the language model could not learn to read what the tower sees"
        yield Finding("census", "warn", "the projector does not learn", why, "leave the projector trainable")


def round_trip(subject: Subject) -> Iterator[Finding]:
    """Save what learns, overwrite it, load it back: every tensor must be the same again.

    In memory, so that a full disk is no reason to refuse, and without a second model. In one process, whatever strategy
    is configured; under it, `read_back.ReadBack` looks at the first checkpoint.
    """
    module = subject.module
    if module is None or module.model is None:
        yield Finding("round_trip", "skip", "no network to save")
        return
    learning = {n: p for n, p in module.named_parameters() if p.requires_grad}
    size = FLOAT32 * sum(p.numel() for p in learning.values()) / 1e9
    if size > AT_MOST:
        said = f"{size:.1f} GB learn, more than {AT_MOST:g}: the run's first checkpoint is read back instead"
        yield Finding("round_trip", "ok", said)
        return
    lost = _lost(module, learning)
    if lost:
        what = f"{len(lost)} of {len(learning)} tensors that learn are not as they were saved, e.g. {lost[0]}"
        yield Finding("round_trip", "fail", what, "what was learnt would be lost with the run", "report this as a bug")
    else:
        yield Finding("round_trip", "ok", f"saved, overwritten and loaded: {len(learning)} tensors, {size:.2g} GB")


@torch.no_grad()
def _lost(module: Conversation, learning: Mapping[str, Tensor]) -> list[str]:
    """Return the tensors that do not come back from a saved state; afterwards all are as they were before."""
    kept = {name: parameter.detach().clone() for name, parameter in learning.items()}
    saved = BytesIO()
    torch.save(module.state_dict(), saved)
    for parameter in learning.values():
        parameter.fill_(float("nan"))
    module.load_state_dict(torch.load(BytesIO(saved.getbuffer()), weights_only=True), strict=False)
    lost = sorted(name for name, parameter in learning.items() if not torch.equal(parameter, kept[name]))
    for name, parameter in learning.items():
        parameter.copy_(kept[name])
    return lost
