"""Trainable parts of a model: adapters or the language model itself, the projector, and optionally the tower."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import Linear, ModuleList

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.models.chat.family import family_of

if TYPE_CHECKING:
    from peft import LoraConfig  # seconds, which models without adapters need not wait for

OURS = {"r": "rank", "lora_alpha": "alpha", "lora_dropout": "dropout"}
"""Option of peft -> its short name here."""

MOVING = re.compile(r"pissa|olora")
"""Beginnings of `init_lora_weights` that take the adapters' first values out of the base's weights."""

BEFORE = "is computed from activations or gradients before the training"

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("eva", "eva_config", "corda", "corda_config", "lora_ga", "lora_ga_config"), BEFORE),
    **dict.fromkeys(("loftq", "loftq_config"), "quantises the base by itself"),
    "mica": "freezes half of each adapter, which a checkpoint of trained tensors would lack",
    "arrow_config": "routes between several adapters",
    "alora_invocation_tokens": "acts on the tokens behind a phrase, and cannot be merged",
    "layer_replication": "changes the number of layers of the base",
    "megatron_config": "needs layers of Megatron",
    "monteclora_config": "adds a term to the loss",
    "ensure_weight_tying": "ties copies of embedding and head, of which a checkpoint would hold one",
    "inference_mode": "trains nothing",
}
"""Option of peft, or value of `init_lora_weights` -> why it is refused."""


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear map of the language model (Hu et al. 2021).

    Attributes:
        rank: Rank of the update.
        alpha: Scale: the update is multiplied by alpha / rank.
        dropout: Probability with which an element of the adapter's input is zeroed, in [0, 1].
        targets: Regular expression that the full name of an adapted linear layer matches; empty for all those of the
            language model. Short names (q_proj) also match the vision tower, which the doctor refuses.
        tower: Adapters on the linear maps of the vision tower too.
        peft: Further options of `peft.LoraConfig` by name, such as ``use_dora: true``, ``use_rslora: true``,
            ``init_lora_weights: pissa``, ``modules_to_save``, ``exclude_modules``, ``rank_pattern``.
    """

    rank: int = 128
    alpha: int = 256
    dropout: float = 0.05
    targets: str = ""
    tower: bool = False
    peft: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            BadArgument: `rank` is below 1, `dropout` outside [0, 1], or peft refuses an option.
        """
        if self.rank < 1:
            raise BadArgument("lora.rank", self.rank, "at least 1", "set rank: 8, or `lora: null` for no adapters")
        if not 0 <= self.dropout <= 1:
            raise BadArgument("lora.dropout", self.dropout, "a probability from 0 to below 1", "set dropout: 0.05")
        if self.peft:
            self._check_names()
            self._refuse()
            self.config()

    def _check_names(self) -> None:
        from peft import LoraConfig

        known = {one.name for one in fields(LoraConfig)}
        for name in self.peft:
            if name in OURS:
                raise BadArgument(f"lora.peft.{name}", self.peft[name], "none", f"set lora.{OURS[name]} instead")
            if name not in known:
                listed = ", ".join(sorted(known - {*OURS, *REFUSED}))
                raise BadArgument("lora.peft", name, f"options of peft.LoraConfig: {listed}", "correct its name")

    def _refuse(self) -> None:
        start = str(self.peft.get("init_lora_weights", "")).lower()
        named = [(n, v) for n, v in self.peft.items() if n in REFUSED and v not in (None, False)]
        named += [("init_lora_weights", start)] if start in REFUSED else []
        for name, value in named:
            why = REFUSED[start if name == "init_lora_weights" else name]
            raise BadArgument(
                f"lora.peft.{name}", value, f"an option of a single training; this one {why}", "remove it"
            )
        if self.targets and self.peft.get("target_modules"):
            raise BadArgument(
                "lora.peft.target_modules", self.targets, "none beside lora.targets", "remove one of them"
            )

    @property
    def moves_base(self) -> bool:
        """Whether the first values of the adapters are taken out of the base's weights, as by PiSSA and OLoRA."""
        return bool(MOVING.match(str(self.peft.get("init_lora_weights", "")).lower()))

    @property
    def scale(self) -> float:
        """Factor of the update: alpha / rank, or alpha over the root of the rank with `use_rslora`."""
        return self.alpha / (self.rank**0.5 if self.peft.get("use_rslora") else self.rank)

    def config(self, **options: Any) -> LoraConfig:
        """Return the configuration of peft.

        Args:
            options: Further options, which replace those of `peft`.

        Raises:
            BadArgument: peft refuses the options.
        """
        from peft import LoraConfig, LoraRuntimeConfig

        own = {theirs: getattr(self, name) for theirs, name in OURS.items()} | self.peft | options
        try:
            if isinstance(runtime := own.get("runtime_config"), Mapping):  # peft makes the other parts of a mapping
                own["runtime_config"] = LoraRuntimeConfig(**runtime)
            return LoraConfig(**own)
        except (TypeError, ValueError, ImportError) as error:
            cure = "see the documentation of peft.LoraConfig for the options that go together"
            raise BadArgument("lora.peft", self.peft, f"options that peft takes ({error})", cure) from error


def check_scale(ours: Lora | None, theirs: Mapping[str, Any] | None) -> None:
    """Refuse adapters that were trained in another way: their tensors load, but every reply would change silently.

    Args:
        ours: Adapters as configured; None for none.
        theirs: Adapter settings stored in the checkpoint, by the attribute names of `Lora`; None for none.

    Raises:
        WeightsMismatch: The scale or an option of peft differs.

    Example:
        >>> check_scale(Lora(rank=8, alpha=16), {"rank": 8, "alpha": 16, "dropout": 0.1})
    """
    if ours is None or theirs is None:
        return
    was = Lora(**theirs)
    own, other = (asdict(one.config()) for one in (ours, was))
    differ = {n: other[n] for n in own if n not in OURS and own[n] != other[n]}
    if ours.alpha * was.rank != was.alpha * ours.rank or differ:
        cure = "use the configuration the checkpoint was trained with (config.yaml in its run folder)"
        raise WeightsMismatch("ckpt_path", [_described(ours, own, differ)], [_described(was, other, differ)], cure)


def _described(lora: Lora, options: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    listed = "".join(f", {name}={options[name]!r}" for name in named)
    return f"adapters of rank {lora.rank} and alpha {lora.alpha}{listed}"


def trainable(base: Any, lora: Lora | None, tune_tower: bool = False, tune_language_model: bool = False) -> Any:
    """Return a loaded model with everything frozen but the trainable parts, which are in float32.

    Args:
        base: As `checkpoint.load` returns it.
        lora: Adapters on the language model; None for none.
        tune_tower: Train the vision tower too, up to the layer whose features are used.
        tune_language_model: Train the language model itself, embeddings and head included; needs `lora` None.

    Returns:
        The model itself without adapters, else peft's wrapper of it; in training mode, a frozen tower in eval mode.

    Raises:
        BadArgument: Both adapters and what lies below them are to be trained, or peft cannot make these adapters.
    """
    if lora is not None and tune_language_model:
        expected = "no adapters, as tune_language_model trains the language model itself"
        raise BadArgument("lora", lora, expected, "set `lora: null` for full tuning, or tune_language_model: false")
    if lora is not None and lora.tower and tune_tower:
        raise BadArgument("lora.tower", True, "false, as tune_tower trains the tower itself", "set tune_tower: false")
    family = family_of(base)
    base.requires_grad_(False)
    model: Any = base if lora is None else _adapted(base, lora, tune_tower)
    learning = {"projector"} | ({"tower"} if tune_tower else set())
    learning |= {"language_model", "head"} if tune_language_model else set()
    for name, parameter in model.named_parameters():
        if (lora is None and family.part(name) in learning) or family.is_loose(name):
            parameter.requires_grad_(True)  # with adapters, peft has copied the modules and trains the copies
        if family.part(name) == "tower" and _is_unused(name, base.config):
            parameter.requires_grad_(False)
        learns = tune_tower and (lora is None or ".modules_to_save." in name)
        unread = learns and family.part(name) == "tower"  # layers behind the one that is read are computed too
        if parameter.requires_grad or unread:
            parameter.data = parameter.data.float()
    model.train()  # transformers loads in eval mode, in which gradient checkpointing is off
    if not tune_tower:
        resting = base.get_submodule(family.tower).eval()
        for name, part in resting.named_modules():
            part.train("lora_dropout" in name)
    return model


def _is_unused(name: str, config: Any) -> bool:
    """Return whether a tower's parameter lies behind the layer whose features are used, so that it gets no gradient.

    Distributed training would wait for such a gradient forever.
    """
    read = getattr(config, "vision_feature_layer", None)
    if not isinstance(read, int):
        return False
    layers = config.vision_config.num_hidden_layers
    used = read if read >= 0 else layers + 1 + read  # index 0 is the input of the first layer
    at = re.search(r"\.layers\.(\d+)\.", name)
    return "post_layernorm" in name or (at is not None and int(at.group(1)) >= used)


def _adapted(base: Any, lora: Lora, tune_tower: bool) -> Any:
    """Return peft's wrapper of a model, the same in every process and whenever it is made again from the same base."""
    from peft import get_peft_model

    family = family_of(base)
    copied = [family.tower] if tune_tower else []
    for path in family.projector:
        part = base.get_submodule(path)  # each module of a list is copied: peft cannot wrap the list itself
        inner = [f"{path}.{name}" for name, _ in part.named_children()] if isinstance(part, ModuleList) else [path]
        copied += [] if tune_tower and path.startswith(f"{family.tower}.") else inner
    copied += lora.peft.get("modules_to_save") or []  # stored in the adapter file, so that it is complete
    config = lora.config(target_modules=_targets(lora, base), modules_to_save=copied)
    with torch.random.fork_rng(enabled=lora.moves_base):
        if lora.moves_base:
            torch.manual_seed(0)
        try:
            model = get_peft_model(base, config)
        except (TypeError, ValueError) as error:
            expected, cure = f"adapters that peft can make of this model ({error})", "change or remove the option"
            raise BadArgument("lora", lora, expected, cure) from error
    _check_mergeable(base, lora)
    return model


def _check_mergeable(base: Any, lora: Lora) -> None:
    """Refuse adapters that train, but cannot be merged into the weights: of tied weights, or with a bias of their own.

    Raises:
        BadArgument: There is such an adapter.
    """
    from peft.tuners.lora import LoraLayer

    words, head = base.get_input_embeddings(), base.get_output_embeddings()
    if words.weight is head.weight and any(isinstance(layer, LoraLayer) for layer in (words, head)):
        expected, cure = (
            "layers whose weights are their own; embedding and head are tied",
            "use modules_to_save for them",
        )
        raise BadArgument("lora.peft.target_modules", lora.peft.get("target_modules"), expected, cure)
    layers = {n: m for n, m in base.named_modules() if lora.peft.get("lora_bias") and isinstance(m, LoraLayer)}
    if bare := [name for name, layer in layers.items() if getattr(layer.get_base_layer(), "bias", None) is None]:
        expected = f"false, as {len(bare)} of {len(layers)} layers have no bias to merge it into, e.g. {bare[0]}"
        raise BadArgument(
            "lora.peft.lora_bias", True, expected, "remove it, or name layers with a bias by lora.targets"
        )


def _targets(lora: Lora, base: Any) -> Any:
    """Return names or regular expression of the layers with adapters, as peft takes them."""
    family = family_of(base)
    own = lora.targets or lora.peft.get("target_modules") or family.adapted
    if not lora.tower or own == "all-linear":
        return own
    maps = [
        name
        for name, part in base.named_modules()
        if isinstance(part, Linear) and family.part(name) == "tower" and re.search(r"\.\d+\.", name)
    ]
    read = [name for name in maps if not _is_unused(name, base.config)]
    return [*own, *read] if not isinstance(own, str) else "|".join([f"(?:{own})", *map(re.escape, read)])


def plain_adapters(
    model: Any, tensors: Mapping[str, Tensor], first: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return adapters for the base as published, of those for a base from which their first values were taken.

    The update is the product of the factors now, less that of the first ones: adapters of twice the rank.

    Args:
        model: As `trainable` returns it.
        tensors: Trained tensors by their names in `model`.
        first: `lora_A` and `lora_B` as `trainable` returned them, by the same names.

    Returns:
        The tensors, and the settings of peft that differ from those of the model.
    """
    made = dict(tensors)
    for name in first:
        layer, b, _ = name.partition(".lora_B.")
        scale = model.get_submodule(layer).scaling["default"] if b else 1.0
        made[name] = torch.cat([scale * tensors[name], (-scale if b else 1.0) * first[name]], 1 if b else 0)
    config = model.peft_config["default"]
    ranks = {layer: 2 * rank for layer, rank in config.rank_pattern.items()}
    settings = {"r": 2 * config.r, "lora_alpha": 2 * config.r, "rank_pattern": ranks, "alpha_pattern": ranks}
    return made, settings | {"use_rslora": False, "init_lora_weights": True}
