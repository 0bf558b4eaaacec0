"""Check of hyperparameters, each alone and in combination with the others and with the width of the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lmod_train.training.doctor.check_result import CheckResult, Level
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
RATES = ("lr", "projector_lr", "base_lr")


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
            level: Level = "warn" if rate == 0 and name == "projector_lr" and not _alone(model) else "fail"
            why = "the weights trained at this rate never improve"
            yield CheckResult("recipe", level, f"{name}={rate:g}", why, f"set {_key(model, name)}, e.g. to 2e-5")
        elif rate >= HIGH_RATE and name in _options(model) and name != "base_lr":  # a classifier's head allows more
            level = "fail" if rate >= HIGHEST_RATE else "warn"
            why = (
                f"each step of AdamW changes a weight by about {rate:g}, and weights are about 0.02: training diverges"
            )
            cure = f"set {_key(model, name)} to 2e-4 for adapters, 2e-5 for full tuning"
            yield CheckResult("recipe", level, f"{name}={rate:g}", why, cure)


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
    for name, trained, factor, times in (
        ("lr", "adapters", "alpha", lora.get("alpha")),
        ("lr", "the whole language model", "width", text if whole and not lora else None),
        ("projector_lr", "the vision tower", "width", tower if model.get("tune_tower") else None),
    ):
        step = rate.get(name, 0.0) * (times or 0)
        if step > HIGH_STEP and rate[name] < HIGH_RATE:
            what = f"{name}={rate[name]:g} for {trained}: {factor} {times} x rate = {step:.2g}"
            why = f"published recipes have about 0.05 to {HIGH_STEP:g}: above it, the first steps undo what was learnt"
            cure = f"set {_key(model, name)} to {0.08 / (times or 1):.1g}"
            yield CheckResult("recipe", "fail" if step > WORST_STEP else "warn", what, why, cure)
    trained = "adapters" if lora else "the whole language model" if whole else "the projector alone"
    name = "projector_lr" if _alone(model) else "lr"
    if name in _options(model) and 0 < rate.get(name, 0.0) < LOWEST_RATE[trained]:
        usual = {"adapters": 2e-4, "the whole language model": 2e-5, "the projector alone": 1e-3}[trained]
        why = f"published rates for {trained} are {usual:g}; at this one hardly anything changes in a usual run"
        yield CheckResult(
            "recipe", "warn", f"{name}={rate[name]:g} for {trained}", why, f"set {_key(model, name)} to {usual:g}"
        )


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
        level: Level = "fail" if value < 0 or value >= WORST_DECAY else "warn"
        why = "AdamW multiplies weights by 1 - rate x decay at every step; published decays are 0 to 0.3"
        cure = "set model.init_args.optimisation.weight_decay to 0.0"
        yield CheckResult("recipe", level, f"weight_decay={value:g}", why, cure)


def betas(options: Values) -> Iterator[CheckResult]:
    """Yield a result for betas of AdamW that are not two numbers in [0, 1), are swapped, or remember too long.

    Example:
        >>> [r.what for r in betas({"betas": [0.999, 0.9]})], list(betas({"betas": [0.9, 0.95]}))
        (['betas=[0.999, 0.9]: the first is larger than the second'], [])
    """
    first, second = options.get("betas") or (0.9, 0.999)
    level: Level = "fail"
    what = f"betas={[first, second]}"
    if not (0 <= first < 1 and 0 <= second < 1):
        what += ": both must be from 0 to below 1"
    elif first > second:
        what += ": the first is larger than the second"
    elif first > LONG_BETA:
        what, level = f"{what}: steps follow gradients of {1 / (1 - first):.0f} steps ago", "warn"
    else:
        return
    why = "the size of a step no longer follows the size of its gradients, and training diverges"
    yield CheckResult("recipe", level, what, why, "set model.init_args.optimisation.betas to [0.9, 0.999]")


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
    why = "the learning rate only rises, and the run ends before it reaches its maximum"
    if share is not None and not 0 <= share < 1:
        what = f"warmup={share:g} is a share of all steps: {100 * share:.0f} % of them"
        cure = f"set model.init_args.optimisation.warmup to {share / 100:g} for {share:g} % of the steps"
        yield CheckResult("recipe", "fail", what, why, cure if 0 < share <= 100 else "set it to 0.03")
    elif share is not None and share > 0.5:
        what = f"warmup={share:g}: {100 * share:.0f} % of all steps"
        cure = "set model.init_args.optimisation.warmup to 0.03, the usual value"
        yield CheckResult("recipe", "warn", what, "the learning rate is low during most of the run", cure)
    if epochs and trainer.get("max_epochs") and 0 < trainer["max_epochs"] <= epochs:
        what = f"warmup_epochs={epochs:g} of {trainer['max_epochs']} epochs"
        cure = "set fewer model.init_args.optimisation.warmup_epochs, or more trainer.max_epochs"
        yield CheckResult("recipe", "warn", what, why, cure)


def adapters(lora: Values, config: Any = None) -> Iterator[CheckResult]:
    """Yield a result for LoRA adapters that add nothing to the model, add it at an unusual scale, or are no low rank.

    Example:
        >>> [r.what for r in adapters({"rank": 8, "alpha": 0, "dropout": 0.05})]
        ['lora.alpha=0']
    """
    alpha, dropout = lora.get("alpha", 1), lora.get("dropout", 0.0)
    if alpha <= 0:
        why = "an adapter's update is multiplied by alpha / rank: at 0 nothing is added, below 0 its opposite"
        yield CheckResult(
            "recipe", "fail", f"lora.alpha={alpha}", why, "set model.init_args.lora.alpha to twice the rank"
        )
    rank, width = lora.get("rank", 1), _width(config, "text_config")
    if alpha > 0 and not LEAST_SCALE <= alpha / rank <= MOST_SCALE:
        why = f"an adapter's update is multiplied by it; usual are {LEAST_SCALE:g} to {MOST_SCALE:g}, mostly 1 to 4"
        what, cure = f"lora: alpha {alpha:g} / rank {rank} = {alpha / rank:g}", "set model.init_args.lora.alpha"
        yield CheckResult("recipe", "warn", what, why, f"{cure} to twice the rank, {2 * rank}")
    if width and rank > width:
        why = "such an adapter holds more weights than the matrix it changes: it is slower than full tuning"
        cure = "set model.init_args.lora.rank to 16 and alpha to 32, or `lora: null` and `tune_language_model: true`"
        yield CheckResult("recipe", "warn", f"lora.rank={rank} in matrices of width {width}", why, cure)
    if dropout >= 1:
        why = "the whole input of every adapter is dropped, so that they learn nothing"
        yield CheckResult(
            "recipe", "fail", f"lora.dropout={dropout:g}", why, "set model.init_args.lora.dropout to 0.05"
        )
    elif dropout > MOST_DROPOUT:
        why = "most of every adapter's input is dropped"
        cure = "set model.init_args.lora.dropout to a value from 0 to 0.1"
        yield CheckResult("recipe", "warn", f"lora.dropout={dropout:g}", why, cure)


def clipping(trainer: Values) -> Iterator[CheckResult]:
    """Yield a result for a gradient clipping that leaves almost no gradient, or that never acts.

    Example:
        >>> [r.level for r in clipping({"gradient_clip_val": 1e-9})], list(clipping({"gradient_clip_val": 1.0}))
        (['fail'], [])
    """
    clip = trainer.get("gradient_clip_val")
    if clip and 0 < clip < LEAST_CLIP:
        why = "the gradient of a single weight falls below AdamW's epsilon, so that its steps are near zero"
        yield CheckResult("recipe", "fail", f"gradient_clip_val={clip:g}", why, "set trainer.gradient_clip_val to 1.0")
    by_value = trainer.get("gradient_clip_algorithm") == "value"
    if clip and (clip > MOST_CLIP or by_value):
        what = f"gradient_clip_val={clip:g}" + (", each value by itself" if by_value else "")
        why = "gradients of single weights are below 0.01 and norms below 100, so that nothing is clipped"
        cure = "set trainer.gradient_clip_val to 1.0 and trainer.gradient_clip_algorithm to norm"
        yield CheckResult("recipe", "warn", what, why, cure)


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
        why = "it takes twice the memory and many times the time of float32, and learns no better"
        yield CheckResult("recipe", "warn", f"precision {given}", why, "set trainer.precision to bf16-mixed")
    if given in ("bf16-true", "bf16-true-mixed"):
        full = bool(model.get("tune_language_model"))
        why = (
            "trained weights are rounded to 8 bits after every step: at a rate of 2e-5 fewer than a third of them "
            "change; rotary frequencies are rounded too: position angles are off by 0.7 rad within 600 tokens"
        )
        cure = "set trainer.precision to bf16-mixed; frozen weights may stay in bfloat16 (model.init_args.dtype)"
        yield CheckResult("recipe", "fail" if full else "warn", f"precision {given} in training", why, cure)
