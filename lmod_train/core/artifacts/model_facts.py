"""Facts about the models of the shipped configs, read from the comments at the top of each file.

A line ``#: key: value`` states a fact; all such lines of a file together are YAML. Lines that begin with ``#`` alone
describe the model in sentences. A config without facts (for tuning, for trials) is no entry of the table of models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lmod_train.core.shipped import configs_folder

STATES = {
    "reproducible": "the same weights can be run",
    "different snapshot": "version, weights or settings are not stated, or have changed since",
    "retired": "the service has ended",
    "source inconsistent": "the printed numbers contradict one another or the model",
    "no numbers": "the row is printed without numbers",
}
"""State of a published row -> its meaning."""

PAPERS = {
    "lmod_naacl": "LMOD",
    "lmod_v1": "LMOD v1",
    "lmod_plus": "LMOD+",
    "xpcr": "X-PCR",
    "ophthalwechat": "OphthalWeChat",
    "ophthalwechat_journal": "OphthalWeChat, journal version",
}
"""Key of a paper -> its name in the table."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Shape of a language model's key-value cache.

    Attributes:
        layers: Number of layers.
        heads: Number of key-value heads of a layer.
        width: Values of a head.
    """

    layers: int
    heads: int
    width: int


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A model's row in a paper.

    Attributes:
        rows: Names of the model in the paper's tables, as printed.
        state: A key of `STATES`.
        note: What is wrong or unknown.
        otherwise: State of the row's numbers that the note does not concern, if `state` is ``source inconsistent``.
        scores: Printed scores by task, fractions or percent as in the paper.
    """

    rows: tuple[str, ...]
    state: str
    note: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    otherwise: str = "reproducible"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model.

    Attributes:
        name: Name for `--model`.
        about: Description.
        hub: Repository on the Hugging Face hub, or provider and model name of a service.
        revision: Commit or dated snapshot; ``unknown`` if none is recorded.
        licence: Licence of the weights, as far as known.
        route: How it is run: ``N`` a class of transformers, checkpoint in its layout; ``C`` converted so by its
            authors; ``K`` converted by `weights convert`; ``S`` behind an OpenAI-compatible server of your own; ``A`` a
            commercial service; ``X`` not runnable.
        why: Reason for the route.
        contamination: What is known of eye images in its training data, and how certain that is.
        tried: What of it has been run by the authors of this package, and on what.
        parameters: Number of parameters in billions; None if not published.
        active: Those used for a token, in billions, of a mixture of experts.
        image: Size and division of images.
        tokens: Number of image tokens of a picture of 1024 x 1024 pixels.
        cache: Shape of the key-value cache.
        published: Rows by paper, a key of `PAPERS`.
    """

    name: str
    about: str
    hub: str
    revision: str
    licence: str
    route: str
    why: str
    contamination: str
    tried: str
    parameters: float | None = None
    active: float | None = None
    image: str = ""
    tokens: int | None = None
    cache: Cache | None = None
    published: Mapping[str, PublishedRow] = field(default_factory=dict)


def known_models(folder: Path | None = None) -> Iterator[ModelFacts]:
    """Yield the facts of each config that states some, ordered by name.

    Args:
        folder: Folder of model configs; default: the shipped ones.

    Raises:
        ValueError: A file's facts are incomplete, or contain unknown ones.
    """
    for file in sorted((folder or configs_folder() / "model").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if facts := "".join(re.findall(r"^#: ?(.*\n)", text, re.M)):
            try:
                yield _facts(file.stem, text, yaml.safe_load(facts))
            except (TypeError, AttributeError, KeyError, yaml.YAMLError) as error:
                raise ValueError(
                    f"{file}: {type(error).__name__}: {error}; see lmod_train/core/artifacts/model_facts.py"
                ) from error


def _facts(name: str, text: str, facts: dict[str, Any]) -> ModelFacts:
    about = " ".join(re.findall(r"^# (.*)$", text, re.M))
    cache, rows = facts.pop("cache", None), facts.pop("published", {})
    why = facts.pop("why", "") or yaml.safe_load(text)["init_args"].get("why", "")
    published = {paper: PublishedRow(**{**row, "rows": tuple(row["rows"])}) for paper, row in rows.items()}
    return ModelFacts(name, about, why=why, cache=Cache(**cache) if cache else None, published=published, **facts)
