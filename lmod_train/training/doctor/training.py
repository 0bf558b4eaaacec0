"""Checks of the trainable weights: which parts are trained at which rate, and whether a checkpoint holds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import torch
from torch import Tensor

from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.subject import Subject

STEPS = 100
"""Length of the schedule that the rates are read from; the rates do not depend on it."""
FLOAT32 = 4
AT_MOST = 4.0
"""Largest size of the trainable tensors in gigabytes (10^9 bytes, as float32) to save; takes 3 times as much memory."""


def census(subject: Subject) -> Iterator[CheckResult]:
    """Count the trainable weights by part, and check that tower, projector and adapters are trained as configured."""
    module = subject.module
    if module is None or module.model is None:
        yield CheckResult("census", "skip", "no network to count")
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
            yield CheckResult("census", "fail", what, "they would not be trained", "report this as a bug")
    counted = [
        f"{part} {sum(p.numel() for _, p in owned):,} at "
        + "/".join(f"{r:g}" for r in sorted({rate[id(p)] for _, p in owned if id(p) in rate}))
        for part, owned in sorted(learns.items())
    ]
    share = sum(p.numel() for o in learns.values() for _, p in o) / max(sum(p.numel() for p in module.parameters()), 1)
    yield CheckResult("census", "ok", f"{share:.1%} of the weights are trained: {'; '.join(counted) or 'none'}")


def _astray(module: VisionLanguageModel, astray: list[str], tower: bool, projector: bool) -> Iterator[CheckResult]:
    if astray:
        what = f"{len(astray)} adapter tensors outside the language model, e.g. {astray[0]}"
        why = "q_proj, k_proj and v_proj are layers of the vision tower too: adapters there change the image features"
        cure = "remove model.init_args.lora.targets: the default matches layers of the language model only"
        yield CheckResult("census", "fail", what, why, cure)
    if tower and not module.tune_tower:
        why = "a vision tower that is tuned on few images loses what it learnt in pre-training"
        what = "the vision tower is trained, although tune_tower is false"
        yield CheckResult("census", "fail", what, why, "report this as a bug")
    if not projector:
        why = "the language model cannot adapt to the image features"
        yield CheckResult("census", "warn", "the projector is not trained", why, "leave the projector trainable")


def round_trip(subject: Subject) -> Iterator[CheckResult]:
    """Save the trainable tensors, overwrite them, load them, and check that every one has its values again.

    Runs in memory, so that a full disk is not a failure, and in one process; `read_back.ReadBack` checks the first
    checkpoint under the configured strategy.
    """
    module = subject.module
    if module is None or module.model is None:
        yield CheckResult("round_trip", "skip", "no network to save")
        return
    trainable = {n: p for n, p in module.named_parameters() if p.requires_grad}
    size = FLOAT32 * sum(p.numel() for p in trainable.values()) / 1e9
    if size > AT_MOST:
        what = f"{size:.1f} GB of trainable weights, over {AT_MOST:g}: the run's first checkpoint is read back instead"
        yield CheckResult("round_trip", "ok", what)
        return
    lost = _lost(module, trainable)
    if lost:
        what = f"{len(lost)} of {len(trainable)} trainable tensors change by saving and loading, e.g. {lost[0]}"
        yield CheckResult("round_trip", "fail", what, "the training would be lost", "report this as a bug")
    else:
        yield CheckResult("round_trip", "ok", f"saved, overwritten and loaded: {len(trainable)} tensors, {size:.2g} GB")


@torch.no_grad()
def _lost(module: VisionLanguageModel, trainable: Mapping[str, Tensor]) -> list[str]:
    """Return the names of tensors that saving and loading changes; all tensors have their values again afterwards."""
    kept = {name: parameter.detach().clone() for name, parameter in trainable.items()}
    saved = BytesIO()
    torch.save(module.state_dict(), saved)
    for parameter in trainable.values():
        parameter.fill_(float("nan"))
    module.load_state_dict(torch.load(BytesIO(saved.getbuffer()), weights_only=True), strict=False)
    lost = sorted(name for name, parameter in trainable.items() if not torch.equal(parameter, kept[name]))
    for name, parameter in trainable.items():
        parameter.copy_(kept[name])
    return lost
