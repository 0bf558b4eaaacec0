"""Check of hyperparameters from the configuration alone: learning rates, warm-up, adapters, clipping and precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lmod_train.doctor.check_result import CheckResult, Level
from lmod_train.doctor.subject import Subject

Values = Mapping[str, Any]

HIGHEST_RATE, HIGH_RATE = 0.1, 0.01
"""Learning rates of AdamW: from the first a failure, from the second a warning; published recipes use 1e-5 to 5e-3."""
LEAST_CLIP = 1e-3
"""Gradient norm below which AdamW's epsilon (1e-8) is larger than the gradient of a single weight."""
MOST_DROPOUT = 0.5
RATES = ("lr", "projector_lr", "base_lr")


def recipe(subject: Subject) -> Iterator[CheckResult]:
    """Check the hyperparameters of model and Trainer."""
    model: Values = (subject.config.get("model") or {}).get("init_args") or {}
    trainer: Values = subject.config.get("trainer") or {}
    problems = [
        *rates(model),
        *warmup(model, trainer),
        *adapters(model.get("lora") or {}),
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


def adapters(lora: Values) -> Iterator[CheckResult]:
    """Yield a result for LoRA adapters that add nothing to the model.

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
    """Yield a result for a gradient clipping that leaves almost no gradient.

    Example:
        >>> [r.level for r in clipping({"gradient_clip_val": 1e-9})], list(clipping({"gradient_clip_val": 1.0}))
        (['fail'], [])
    """
    clip = trainer.get("gradient_clip_val")
    if clip and 0 < clip < LEAST_CLIP:
        why = "the gradient of a single weight falls below AdamW's epsilon, so that its steps are near zero"
        yield CheckResult("recipe", "fail", f"gradient_clip_val={clip:g}", why, "set trainer.gradient_clip_val to 1.0")


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
    if given in ("bf16-true", "bf16-true-mixed"):
        full = bool(model.get("tune_language_model"))
        why = (
            "trained weights are rounded to 8 bits after every step: at a rate of 2e-5 fewer than a third of them "
            "change; rotary frequencies are rounded too: position angles are off by 0.7 rad within 600 tokens"
        )
        cure = "set trainer.precision to bf16-mixed; frozen weights may stay in bfloat16 (model.init_args.dtype)"
        yield CheckResult("recipe", "fail" if full else "warn", f"precision {given} in training", why, cure)
