"""Can anything be learnt with these numbers? Rates, warm-up, adapters, clipping and precision, read and not tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lmod_train.doctor.finding import Finding, Level
from lmod_train.doctor.subject import Subject

Values = Mapping[str, Any]

HIGHEST_RATE, HIGH_RATE = 0.1, 0.01
"""Learning rates of AdamW from which training is refused, and from which it is warned of; recipes use 1e-5 to 5e-3."""
LEAST_CLIP = 1e-3
"""Norm of the gradient below which AdamW's epsilon (1e-8) outweighs the gradient of a single weight."""
MOST_DROPOUT = 0.5
RATES = ("lr", "projector_lr", "base_lr")


def recipe(subject: Subject) -> Iterator[Finding]:
    """Read the options of model and Trainer."""
    model: Values = (subject.config.get("model") or {}).get("init_args") or {}
    trainer: Values = subject.config.get("trainer") or {}
    found = [
        *rates(model),
        *warmup(model, trainer),
        *adapters(model.get("lora") or {}),
        *clipping(trainer),
        *precision(model, trainer),
    ]
    yield from found
    if not any(f.level == "fail" for f in found):
        said = ", ".join(f"{name} {rate:g}" for name, rate in _rates(model).items()) or "no learning rate"
        yield Finding("recipe", "ok", said)


def _options(model: Values) -> Values:
    return model.get("optimisation") or {}


def _rates(model: Values) -> dict[str, float]:
    """Return the learning rates by name, wherever the module keeps them."""
    given = {**_options(model), **{k: v for k, v in model.items() if k == "lr"}}
    return {name: float(given[name]) for name in RATES if given.get(name) is not None}


def rates(model: Values) -> Iterator[Finding]:
    """Find learning rates at which nothing is learnt, or all is lost.

    Example:
        >>> [f.level for f in rates({"optimisation": {"lr": 1.0, "projector_lr": 2e-5}})]
        ['fail']
    """
    for name, rate in _rates(model).items():
        if rate <= 0:
            level: Level = "warn" if rate == 0 and name == "projector_lr" and not _alone(model) else "fail"
            why = "what is trained at this rate is computed at every step and never moves"
            yield Finding("recipe", level, f"{name}={rate:g}", why, f"set {_key(model, name)}, e.g. to 2e-5")
        elif rate >= HIGH_RATE and name in _options(model) and name != "base_lr":  # a classifier's head bears more
            level = "fail" if rate >= HIGHEST_RATE else "warn"
            why = f"each step of AdamW moves a weight by about {rate:g}, and weights are about 0.02: replies fall apart"
            cure = f"set {_key(model, name)} to 2e-4 for adapters, 2e-5 for full tuning"
            yield Finding("recipe", level, f"{name}={rate:g}", why, cure)


def _alone(model: Values) -> bool:
    """Return whether the projector is all that learns."""
    return not model.get("lora") and not model.get("tune_language_model")


def _key(model: Values, name: str) -> str:
    return f"model.init_args.{name if name in model else f'optimisation.{name}'}"


def warmup(model: Values, trainer: Values) -> Iterator[Finding]:
    """Find a warm-up that is no share of the steps, or as long as the run.

    Example:
        >>> [f.what for f in warmup({"optimisation": {"warmup": 3}}, {})]
        ['warmup=3, which is a share of all steps: 300 % of them']
    """
    share, epochs = _options(model).get("warmup"), _options(model).get("warmup_epochs")
    why = "the learning rate only rises, and the run ends before it has come to its height"
    if share is not None and not 0 <= share < 1:
        what = f"warmup={share:g}, which is a share of all steps: {100 * share:.0f} % of them"
        cure = f"set model.init_args.optimisation.warmup to {share / 100:g} for {share:g} % of the steps"
        yield Finding("recipe", "fail", what, why, cure if 0 < share <= 100 else "set it to 0.03")
    elif share is not None and share > 0.5:
        what = f"warmup={share:g}: {100 * share:.0f} % of all steps"
        yield Finding("recipe", "warn", what, "most of the run is at a low rate", "0.03 is usual")
    if epochs and trainer.get("max_epochs") and 0 < trainer["max_epochs"] <= epochs:
        what = f"warmup_epochs={epochs:g} of {trainer['max_epochs']} epochs"
        cure = "set fewer model.init_args.optimisation.warmup_epochs, or more trainer.max_epochs"
        yield Finding("recipe", "warn", what, why, cure)


def adapters(lora: Values) -> Iterator[Finding]:
    """Find adapters that add nothing.

    Example:
        >>> [f.what for f in adapters({"rank": 8, "alpha": 0, "dropout": 0.05})]
        ['lora.alpha=0']
    """
    alpha, dropout = lora.get("alpha", 1), lora.get("dropout", 0.0)
    if alpha <= 0:
        why = "an adapter's update is multiplied by alpha / rank: nothing of what is learnt is added, or its opposite"
        yield Finding("recipe", "fail", f"lora.alpha={alpha}", why, "set model.init_args.lora.alpha to twice the rank")
    if dropout >= 1:
        why = "the whole input of every adapter is dropped: they learn from zeros, and stay as they are"
        yield Finding("recipe", "fail", f"lora.dropout={dropout:g}", why, "set model.init_args.lora.dropout to 0.05")
    elif dropout > MOST_DROPOUT:
        why = "most of every adapter's input is dropped"
        yield Finding("recipe", "warn", f"lora.dropout={dropout:g}", why, "0 to 0.1 is usual")


def clipping(trainer: Values) -> Iterator[Finding]:
    """Find a clipping that leaves nothing of the gradient.

    Example:
        >>> [f.level for f in clipping({"gradient_clip_val": 1e-9})], list(clipping({"gradient_clip_val": 1.0}))
        (['fail'], [])
    """
    clip = trainer.get("gradient_clip_val")
    if clip and 0 < clip < LEAST_CLIP:
        why = "spread over all weights, so small a gradient is below AdamW's epsilon, and the steps come near zero"
        yield Finding("recipe", "fail", f"gradient_clip_val={clip:g}", why, "set trainer.gradient_clip_val to 1.0")


def precision(model: Values, trainer: Values) -> Iterator[Finding]:
    """Find a precision in which small steps are rounded away.

    Measured: of 2 million weights of standard deviation 0.02 the first step of AdamW at 2e-5 changes 30 % in bfloat16
    (100 % at 2e-4, where what changes is still rounded to 8 bits). With rotary frequencies in bfloat16, heads of 128
    and base 10,000, angles are off by up to 0.73 rad within 600 tokens and 2.5 rad within 2,048.

    Example:
        >>> [f.level for f in precision({"tune_language_model": True}, {"precision": "bf16-true"})]
        ['fail']
        >>> [f.level for f in precision({"lora": {"rank": 8}}, {"precision": "bf16-true"})]
        ['warn']
    """
    given = str(trainer.get("precision") or "")
    if given in ("bf16-true", "bf16-true-mixed"):
        full = bool(model.get("tune_language_model"))
        why = (
            "what is trained is rounded to 8 bits after every step: at 2e-5 fewer than a third of the weights move; "
            "rotary frequencies are rounded with it, and angles of positions are off by 0.7 rad within 600 tokens"
        )
        cure = "set trainer.precision to bf16-mixed; frozen weights may stay in bfloat16 (model.init_args.dtype)"
        yield Finding("recipe", "fail" if full else "warn", f"precision {given} in training", why, cure)
