"""Checks of hyperparameters, of the schedule, and of what is trained."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.training.doctor.check_result import CheckResult, Level, problem
from lmod_train.training.doctor.strategy import devices_of
from lmod_train.training.doctor.subject import Subject

Values = Mapping[str, Any]

HIGHEST_RATE, HIGH_RATE = 0.1, 0.01
"""Learning rates of AdamW: from the first a failure, from the second a warning; published recipes use 1e-5 to 5e-3."""

LEAST_CLIP = 1e-3
"""Gradient norm below which AdamW's epsilon (1e-8) is larger than the gradient of a single weight."""

MOST_CLIP = 100.0
"""Gradient norm above which nothing is clipped: norms of fine-tuning are about 0.1 to 10."""

MOST_DROPOUT = 0.5

HIGH_STEP, WORST_STEP = 0.4, 4.0
"""Largest change of a layer's output in one step, for inputs of size 1: above the first a warning, above the second a
failure. AdamW moves a weight by its rate, so that it is width x rate in full tuning and alpha x rate with adapters.
LLaVA-1.5: 4096 x 2e-5 = 0.08 and 256 x 2e-4 = 0.05; the small base: 192 x 2e-3 = 0.38 (collapse-lab) and 64 x 3e-3."""

LOWEST_RATE = {"the whole language model": 1e-7, "adapters": 1e-5, "the projector alone": 1e-5}
"""Published rates begin at 5e-7 (full tuning), 2e-5 (LLaVA's first LoRA scripts) and 1e-3 (LLaVA's projector; 2e-5 is
the default here)."""

LEAST_SCALE, MOST_SCALE = 1 / 16, 32.0
"""Usual alpha / rank: 1/4 is LLaVA's default (16 / 64), 2 its scripts', 32 that of rank 1 with an alpha of 32."""

MOST_DECAY, WORST_DECAY = 0.5, 5.0
"""Weight decay: published values are 0 (LLaVA) to 0.3 (vision transformers from scratch)."""

LONG_BETA = 0.98
"""First beta of AdamW above which the step follows gradients of more than 50 steps ago; published are 0.9 and 0.95."""

RATES = ("lr", "projector_lr", "tower_lr", "base_lr")


def recipe(subject: Subject) -> Iterator[CheckResult]:
    """Check the hyperparameters of model and Trainer."""
    model: Values = (subject.config.get("model") or {}).get("init_args") or {}
    trainer: Values = subject.config.get("trainer") or {}
    config = subject.module.dialect.config if subject.module is not None else None
    problems = [
        *rates(model),
        *steps(model, config),
        *decay(_options(model)),
        *betas(_options(model)),
        *warmup(model, trainer),
        *adapters(model.get("lora") or {}, config),
        *clipping(trainer),
        *precision(model, trainer),
    ]
    yield from problems
    if not any(r.level == "fail" for r in problems):
        listed = ", ".join(f"{name} {rate:g}" for name, rate in _rates(model).items()) or "no learning rate"
        yield CheckResult("recipe", "ok", listed)


def _options(model: Values) -> Values:
    return model.get("optimisation") or {}


def _rates(model: Values) -> dict[str, float]:
    """Return the learning rates by name, from the module's own options and those of its optimiser."""
    given = {**_options(model), **{k: v for k, v in model.items() if k == "lr"}}
    return {name: float(given[name]) for name in RATES if given.get(name) is not None}


def rates(model: Values) -> Iterator[CheckResult]:
    """Yield a result for learning rates at which nothing is learnt, or the weights diverge.

    Example:
        >>> [r.level for r in rates({"optimisation": {"lr": 1.0, "projector_lr": 2e-5}})]
        ['fail']
    """
    for name, rate in _rates(model).items():
        if rate <= 0:
            beside = name in ("projector_lr", "tower_lr") and not _alone(model)
            level: Level = "warn" if rate == 0 and beside else "fail"
            yield problem("recipe.rate_zero", level, f"{name}={rate:g}", key=_key(model, name))
        elif rate >= HIGH_RATE and name in _options(model) and name != "base_lr":  # a classifier's head allows more
            level = "fail" if rate >= HIGHEST_RATE else "warn"
            yield problem("recipe.rate_high", level, f"{name}={rate:g}", rate=rate, key=_key(model, name))


def steps(model: Values, config: Any = None) -> Iterator[CheckResult]:
    """Yield a result for rates that do not fit what they train: adapters, the whole language model, projector or tower.

    Args:
        model: Options of the module.
        config: Configuration of the checkpoint, for the widths; None if it is not known.

    Example:
        >>> lora = {"rank": 64, "alpha": 1024}
        >>> [r.what for r in steps({"lora": lora, "optimisation": {"lr": 3e-3, "projector_lr": 2e-5}})]
        ['lr=0.003 for adapters: alpha 1024 x rate = 3.1']
        >>> [r.what for r in steps({"lora": lora, "optimisation": {"lr": 2e-6}})]
        ['lr=2e-06 for adapters']
    """
    rate, lora, whole = _rates(model), model.get("lora") or {}, bool(model.get("tune_language_model"))
    text, tower = _width(config, "text_config"), _width(config, "vision_config")
    stable = (lora.get("peft") or {}).get("use_rslora") and lora.get("alpha")
    of_adapters = "alpha x root of rank" if stable else "alpha"
    scaled = stable * lora["rank"] ** 0.5 if stable else lora.get("alpha")
    seeing = "tower_lr" if "tower_lr" in rate else "projector_lr"
    for name, trained, factor, times in (
        ("lr", "adapters", of_adapters, scaled),
        ("tower_lr", "adapters of the tower", of_adapters, scaled if lora.get("tower") else None),
        ("lr", "the whole language model", "width", text if whole and not lora else None),
        (seeing, "the vision tower", "width", tower if model.get("tune_tower") else None),
    ):
        step = rate.get(name, 0.0) * (times or 0)
        if step > HIGH_STEP and rate[name] < HIGH_RATE:
            what = f"{name}={rate[name]:g} for {trained}: {factor} {times:g} x rate = {step:.2g}"
            yield problem("recipe.step", step > WORST_STEP, what, key=_key(model, name), rate=0.08 / (times or 1))
    trained = "adapters" if lora else "the whole language model" if whole else "the projector alone"
    name = "projector_lr" if _alone(model) else "lr"
    if name in _options(model) and 0 < rate.get(name, 0.0) < LOWEST_RATE[trained]:
        usual = {"adapters": 2e-4, "the whole language model": 2e-5, "the projector alone": 1e-3}[trained]
        what, key = f"{name}={rate[name]:g} for {trained}", _key(model, name)
        yield problem("recipe.rate_low", "warn", what, trained=trained, usual=usual, key=key)


def _width(config: Any, part: str) -> int | None:
    return getattr(getattr(config, part, None), "hidden_size", None)


def decay(options: Values) -> Iterator[CheckResult]:
    """Yield a result for a weight decay that pulls weights to zero, or away from it.

    Example:
        >>> [r.level for r in decay({"weight_decay": 10})], list(decay({"weight_decay": 0.1}))
        (['fail'], [])
    """
    value = options.get("weight_decay") or 0.0
    if value < 0 or value > MOST_DECAY:
        yield problem("recipe.decay", value < 0 or value >= WORST_DECAY, f"weight_decay={value:g}")


def betas(options: Values) -> Iterator[CheckResult]:
    """Yield a result for betas of AdamW that are not two numbers in [0, 1), are swapped, or remember too long.

    Example:
        >>> [r.what for r in betas({"betas": [0.999, 0.9]})], list(betas({"betas": [0.9, 0.95]}))
        (['betas=[0.999, 0.9]: the first is larger than the second'], [])
    """
    first, second = options.get("betas") or (0.9, 0.999)
    level: Level = "fail"
    if not (0 <= first < 1 and 0 <= second < 1):
        how = "both must be from 0 to below 1"
    elif first > second:
        how = "the first is larger than the second"
    elif first > LONG_BETA:
        level, how = "warn", f"steps follow gradients of {1 / (1 - first):.0f} steps ago"
    else:
        return
    yield problem("recipe.betas", level, f"betas={[first, second]}: {how}")


def _alone(model: Values) -> bool:
    """Return whether only the projector is trained."""
    return not model.get("lora") and not model.get("tune_language_model")


def _key(model: Values, name: str) -> str:
    return f"model.init_args.{name if name in model else f'optimisation.{name}'}"


def warmup(model: Values, trainer: Values) -> Iterator[CheckResult]:
    """Yield a result for a warm-up that is not a share of the steps (0 to 1), or as long as the run.

    Example:
        >>> [r.what for r in warmup({"optimisation": {"warmup": 3}}, {})]
        ['warmup=3 is a share of all steps: 300 % of them']
    """
    share, epochs = _options(model).get("warmup"), _options(model).get("warmup_epochs")
    if share is not None and not 0 <= share < 1:
        what = f"warmup={share:g} is a share of all steps: {100 * share:.0f} % of them"
        name = "warmup_percent" if 0 < share <= 100 else "warmup_wrong"
        yield problem(f"recipe.{name}", "fail", what, share=share / 100, percent=share)
    elif share is not None and share > 0.5:
        yield problem("recipe.warmup_long", "warn", f"warmup={share:g}: {100 * share:.0f} % of all steps")
    if epochs and trainer.get("max_epochs") and 0 < trainer["max_epochs"] <= epochs:
        what = f"warmup_epochs={epochs:g} of {trainer['max_epochs']} epochs"
        yield problem("recipe.warmup_epochs", "warn", what)


def adapters(lora: Values, config: Any = None) -> Iterator[CheckResult]:
    """Yield a result for LoRA adapters that add nothing to the model, add it at an unusual scale, or are no low rank.

    Example:
        >>> [r.what for r in adapters({"rank": 8, "alpha": 0, "dropout": 0.05})]
        ['lora.alpha=0']
    """
    alpha, dropout = lora.get("alpha", 1), lora.get("dropout", 0.0)
    if alpha <= 0:
        yield problem("recipe.alpha", "fail", f"lora.alpha={alpha}")
    rank, width, options = lora.get("rank", 1), _width(config, "text_config"), lora.get("peft") or {}
    for layer, own_rank, own_alpha in _ranks(rank, alpha, options):
        root = bool(options.get("use_rslora"))
        scale, where = own_alpha / own_rank ** (0.5 if root else 1), f" in {layer}" if layer else ""
        if alpha > 0 and not LEAST_SCALE <= scale <= MOST_SCALE:
            what = f"lora: alpha {own_alpha:g} / {'root of ' if root else ''}rank {own_rank} = {scale:g}{where}"
            yield problem("recipe.scale", "warn", what, least=LEAST_SCALE, most=MOST_SCALE, twice=2 * own_rank)
        if width and own_rank > width:
            yield problem("recipe.rank", "warn", f"lora.rank={own_rank} in matrices of width {width}{where}")
    if dropout >= 1:
        yield problem("recipe.dropout_all", "fail", f"lora.dropout={dropout:g}")
    elif dropout > MOST_DROPOUT:
        yield problem("recipe.dropout", "warn", f"lora.dropout={dropout:g}")


def _ranks(rank: int, alpha: float, options: Values) -> Iterator[tuple[str, int, float]]:
    """Yield (layer, rank, alpha) for all layers, under an empty name, and for each pattern of peft's options.

    Example:
        >>> list(_ranks(8, 16, {"rank_pattern": {"q_proj": 2}}))
        [('', 8, 16), ('q_proj', 2, 16)]
    """
    ranks, alphas = options.get("rank_pattern") or {}, options.get("alpha_pattern") or {}
    yield "", rank, alpha
    yield from ((layer, ranks.get(layer, rank), alphas.get(layer, alpha)) for layer in {**ranks, **alphas})


def clipping(trainer: Values) -> Iterator[CheckResult]:
    """Yield a result for a gradient clipping that leaves almost no gradient, or that never acts.

    Example:
        >>> [r.level for r in clipping({"gradient_clip_val": 1e-9})], list(clipping({"gradient_clip_val": 1.0}))
        (['fail'], [])
    """
    clip = trainer.get("gradient_clip_val")
    if clip and 0 < clip < LEAST_CLIP:
        yield problem("recipe.clip_small", "fail", f"gradient_clip_val={clip:g}")
    by_value = trainer.get("gradient_clip_algorithm") == "value"
    if clip and (clip > MOST_CLIP or by_value):
        what = f"gradient_clip_val={clip:g}" + (", each value by itself" if by_value else "")
        yield problem("recipe.clip_large", "warn", what)


def precision(model: Values, trainer: Values) -> Iterator[CheckResult]:
    """Yield a result for a precision in which small steps of the optimiser are rounded to zero.

    Measured on 2 million weights of standard deviation 0.02 in bfloat16: the first step of AdamW changes 30 % of them
    at a rate of 2e-5, and 100 % at 2e-4, each rounded to 8 bits. With rotary frequencies in bfloat16 (heads of 128,
    base 10,000) the angles are off by up to 0.73 rad within 600 tokens and 2.5 rad within 2,048.

    Example:
        >>> [r.level for r in precision({"tune_language_model": True}, {"precision": "bf16-true"})]
        ['fail']
        >>> [r.level for r in precision({"lora": {"rank": 8}}, {"precision": "bf16-true"})]
        ['warn']
    """
    given = str(trainer.get("precision") or "")
    if given.startswith("64"):
        yield problem("recipe.precision_64", "warn", f"precision {given}")
    if given in ("bf16-true", "bf16-true-mixed"):
        full = bool(model.get("tune_language_model"))
        yield problem("recipe.precision_bf16", "fail" if full else "warn", f"precision {given} in training")


# Check of the length of a training: optimiser steps, epochs, and the validations and checkpoints between them.
BATCH_SIZE, EPOCHS = 16, 1000
"""Defaults of `data.batch_size`, and of Lightning's `max_epochs` where `max_steps` is not set either."""

LEAST_STEPS = 20
"""Optimiser steps below which a run is a test of the program: warm-up and cosine need some to have a shape."""

MOST_EPOCHS = 50
"""Epochs above which a language model knows its answers by heart; published tunings have 1 to 3, small bases up to 12.
"""


class Length(NamedTuple):
    """Length of a training.

    Attributes:
        in_epoch: Optimiser steps of an epoch.
        epochs: Number of epochs; infinite where only `max_steps` ends the run.
        total: Optimiser steps of the run.
    """

    in_epoch: int
    epochs: float
    total: int


def schedule(subject: Subject) -> Iterator[CheckResult]:
    """Check that the run has steps enough to learn, an end, and validations on its way."""
    trainer: Values = subject.config.get("trainer") or {}
    length = length_of(subject)
    tunes = subject.module is not None
    problems = [*_left_in(trainer), *_steps(length, tunes, trainer), *_validated(subject, trainer, length)]
    problems += _kept(subject.config.get("checkpoint") or {}, length)
    yield from problems
    if not any(r.level == "fail" for r in problems):
        epochs = "without end" if math.isinf(length.epochs) else f"{length.epochs:g}"
        what = f"{length.total} optimiser steps, {length.in_epoch} an epoch, epochs {epochs}"
        yield CheckResult("schedule", "ok", f"{what}; {_step(subject)}" if tunes else what)


PUBLISHED = {True: (128, 2e-4), False: (128, 2e-5)}
"""Whether a language model is tuned by LoRA -> questions of a step and rate of LLaVA-1.5's scripts."""


def _step(subject: Subject) -> str:
    """Return the questions of an optimiser step and the rate, beside those of the published recipe."""
    size, ranks, accumulated = _batch(subject)
    model, lora = subject.module, subject.module.lora is not None
    questions, rate = PUBLISHED[lora]
    ours = f"a step has {size * ranks * accumulated} questions ({size} x {ranks} devices x {accumulated} batches)"
    kind = "LoRA" if lora else "full tuning"
    return f"{ours} at a rate of {model.optimisation.lr:g}; LLaVA-1.5's {kind}: {questions} at {rate:g}"


def _batch(subject: Subject) -> tuple[int, int, int]:
    """Return the batch size of a device, the number of devices, and the number of batches of a step."""
    trainer: Values = subject.config.get("trainer") or {}
    data: Values = subject.config.get("data") or {}
    data = data.get("init_args") or data
    ranks = int(subject.environment.get("WORLD_SIZE") or 1)
    ranks = max(ranks, devices_of(trainer) * int(trainer.get("num_nodes") or 1))
    size = int(data.get("batch_size") or BATCH_SIZE)
    together = int(data.get("global_batch") or 0) // (size * ranks)
    return size, ranks, together or int(trainer.get("accumulate_grad_batches") or 1)


def length_of(subject: Subject) -> Length:
    """Return the length of a run; where the number of GPUs is not known here, that of one."""
    trainer: Values = subject.config.get("trainer") or {}
    size, ranks, accumulated = _batch(subject)
    limit = trainer.get("overfit_batches") or trainer.get("limit_train_batches")
    batches = _limited(math.ceil(len(subject.records()) / (size * ranks)), limit)
    in_epoch = math.ceil(batches / accumulated)
    most, epochs = trainer.get("max_steps"), trainer.get("max_epochs")
    most = math.inf if most in (None, -1) else most
    if trainer.get("fast_dev_run"):
        return Length(in_epoch, 1, min(in_epoch, int(trainer["fast_dev_run"])))
    if epochs in (None, -1):
        epochs = EPOCHS if epochs is None and math.isinf(most) else math.inf
    total = min(epochs * in_epoch if in_epoch else 0, most)
    return Length(in_epoch, epochs, 0 if math.isinf(total) else int(total))


def _limited(batches: int, limit: float | None) -> int:
    """Return the number of batches under a limit of Lightning: a number of batches, or a share as a float.

    Example:
        >>> _limited(100, 1), _limited(100, 1.0), _limited(100, 0.25), _limited(100, None)
        (1, 100, 25, 100)
    """
    if limit is None:
        return batches
    return int(batches * limit) if isinstance(limit, float) and limit <= 1 else min(batches, int(limit))


def _left_in(trainer: Values) -> Iterator[CheckResult]:
    """Yield a warning for options that are for tests of a program."""
    tests = [name for name in ("fast_dev_run", "overfit_batches") if trainer.get(name)]
    if tests:
        what = ", ".join(f"trainer.{name}={trainer[name]}" for name in tests)
        yield problem("schedule.left_in", "warn", what, names=", ".join(f"trainer.{name}" for name in tests))


def _steps(length: Length, tunes: bool, trainer: Values) -> Iterator[CheckResult]:
    if not length.total and not math.isinf(length.epochs):
        what = f"no optimiser step: {length.in_epoch} in an epoch, {length.epochs:g} epochs"
        yield problem("schedule.no_step", "fail", what)
    elif 0 < length.total < LEAST_STEPS or length.in_epoch == 1:
        what = f"{length.total} optimiser steps, {length.in_epoch} an epoch"
        limit = trainer.get("limit_train_batches")
        batches = f"; limit_train_batches={limit} is {limit} batches, and 1.0 all" if isinstance(limit, int) else ""
        yield problem("schedule.few_steps", "warn", what, batches=batches)
    if trainer.get("max_epochs") is None and length.epochs == EPOCHS:
        yield problem("schedule.no_end", "warn", "neither max_epochs nor max_steps is set", epochs=EPOCHS)
    elif tunes and MOST_EPOCHS < length.epochs < math.inf:
        yield problem("schedule.epochs", "warn", f"{length.epochs:g} epochs")


def _kept(checkpoint: Values, length: Length) -> Iterator[CheckResult]:
    """Yield a warning where the first checkpoint would be written at the end only."""
    every = checkpoint.get("every_n_train_steps")
    if every and LEAST_STEPS <= length.total < every:
        what = f"a checkpoint every {every} steps, of {length.total}"
        yield problem("schedule.kept", "warn", what, steps=max(length.total // 5, 1))


def _validated(subject: Subject, trainer: Values, length: Length) -> Iterator[CheckResult]:
    """Yield a warning where no validation would take place."""
    every, limit = trainer.get("check_val_every_n_epoch") or 1, trainer.get("limit_val_batches")
    if not subject.data.records("val"):
        yield problem("schedule.no_val", "warn", "no validation: no record in the split val")
    elif limit == 0:
        yield problem("schedule.val_limit", "warn", "no validation: limit_val_batches=0")
    elif every > length.epochs and not trainer.get("val_check_interval"):
        what = f"no validation: a validation every {every} epochs, of {length.epochs:g}"
        yield problem("schedule.val_late", "warn", what, epochs=max(int(length.epochs), 1))


# Checks of the trainable weights: which parts are trained at which rate, and whether a checkpoint holds them.
STEPS = 100
"""Length of the schedule that the rates are read from; the rates do not depend on it."""

FLOAT32 = 4

AT_MOST = 4.0
"""Largest size of the trainable tensors in gigabytes (10^9 bytes, as float32) to save; takes 3 times as much memory."""


def census(subject: Subject) -> Iterator[CheckResult]:
    """Count the trainable weights by part, and check that tower, projector and adapters are trained as configured."""
    module = subject.module
    family = family_of(module.network)
    made, _ = module.optimiser(STEPS)
    rate = {id(p): group["initial_lr"] for group in made.param_groups for p in group["params"]}
    learns: dict[str, list[Any]] = defaultdict(list)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            learns[family.part(name)].append((name, parameter))
    adapters = {n for part in learns.values() for n, _ in part if "lora_" in n}
    meant = ("language_model", "tower") if module.lora and module.lora.tower else ("language_model",)
    astray = sorted(n for n in adapters if family.part(n) not in meant)
    tower = any(name not in adapters for name, _ in learns.get("tower", []))
    yield from _astray(module, astray, tower, "projector" in learns)
    for part, owned in learns.items():
        if without := [n for n, p in owned if id(p) not in rate]:
            what = f"{len(without)} trainable tensors of the {part} have no learning rate, e.g. {without[0]}"
            yield problem("census.no_rate", "fail", what)
    counted = [
        f"{part} {sum(p.numel() for _, p in owned):,} at "
        + "/".join(f"{r:g}" for r in sorted({rate[id(p)] for _, p in owned if id(p) in rate}))
        for part, owned in sorted(learns.items())
    ]
    share = sum(p.numel() for o in learns.values() for _, p in o) / max(module.network.num_parameters(), 1)
    yield CheckResult("census", "ok", f"{share:.1%} of the weights are trained: {'; '.join(counted) or 'none'}")


def _astray(module: VisionLanguageModel, astray: list[str], tower: bool, projector: bool) -> Iterator[CheckResult]:
    if astray:
        what = f"{len(astray)} adapter tensors outside the language model, e.g. {astray[0]}"
        yield problem("census.astray", "fail", what)
    if tower and not module.tune_tower:
        yield problem("census.tower", "fail", "the vision tower is trained, although tune_tower is false")
    if not projector:
        yield problem("census.projector", "warn", "the projector is not trained")


def round_trip(subject: Subject) -> Iterator[CheckResult]:
    """Save the trainable tensors, overwrite them, load them, and check that every one has its values again.

    Runs in memory, so that a full disk is not a failure, and in one process; `read_back.ReadBack` checks the first
    checkpoint under the configured strategy.
    """
    module = subject.module
    trainable = {n: p for n, p in module.named_parameters() if p.requires_grad}
    size = FLOAT32 * sum(p.numel() for p in trainable.values()) / 1e9
    if size > AT_MOST:
        what = f"{size:.1f} GB of trainable weights, over {AT_MOST:g}: the run's first checkpoint is read back instead"
        yield CheckResult("round_trip", "ok", what)
        return
    lost = _lost(module, trainable)
    if lost:
        what = f"{len(lost)} of {len(trainable)} trainable tensors change by saving and loading, e.g. {lost[0]}"
        yield problem("round_trip.changed", "fail", what)
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
