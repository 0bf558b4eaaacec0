"""What learns, at which rate, and whether it is still there after saving and loading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from lmod_train.callbacks.tripwires import probe_of
from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject
from lmod_train.models.family import family_of
from lmod_train.modules.conversation import Conversation

STEPS = 100
"""Of the schedule that rates are read from; only their order matters."""


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
    """Change what learns a little, save it to a file, load that into a fresh model: tensors and loss must be the same.

    In one process, whatever strategy is configured; under it, `read_back.ReadBack` looks at the first checkpoint.
    """
    module = subject.module
    if module is None or module.model is None or subject.build is None or not subject.data or not subject.records():
        yield Finding("round_trip", "skip", "no network or no records to compare with")
        return
    batch = module.collate(probe_of(subject.records(), 4), subject.data.curated)
    torch.default_generator.manual_seed(0)  # the CPU's alone, which `examine` puts back
    kept = {n: p.detach().clone() for n, p in module.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for _, parameter in module.named_parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=1e-3)
    fresh = subject.build()
    fresh.configure_model()
    with TemporaryDirectory() as folder:
        torch.save(module.state_dict(), Path(folder) / "learnt.pt")
        saved = torch.load(Path(folder) / "learnt.pt", weights_only=True)
    fresh.load_state_dict(saved, strict=False)
    own = dict(fresh.named_parameters())
    lost = sorted(n for n, p in module.named_parameters() if p.requires_grad and not torch.equal(p, own[n]))
    with torch.no_grad():
        losses = [m.eval().loss(batch).item() for m in (module, fresh)]
        for name, parameter in module.named_parameters():
            if name in kept:
                parameter.copy_(kept[name])
    if lost or abs(losses[0] - losses[1]) > 1e-5 * abs(losses[0]):
        what = f"a model loaded from what was saved has loss {losses[1]:.6f} instead of {losses[0]:.6f}"
        what += f"; {len(lost)} tensors differ, e.g. {lost[0]}" if lost else ""
        yield Finding("round_trip", "fail", what, "what was learnt would be lost with the run", "report this as a bug")
    else:
        yield Finding("round_trip", "ok", f"saved, loaded afresh, the same loss ({losses[0]:.4f}); {len(kept)} tensors")
