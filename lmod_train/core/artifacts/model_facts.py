"""Facts about the models of the shipped configs, read from the comments at the top of each file.

A line ``#: key: value`` states a fact; all such lines of a file together are YAML. Lines that begin with ``#`` alone
describe the model in sentences. A config without facts (for tuning, for trials) is no entry of the table of models.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from lmod_train.core.package_data import package_data
from lmod_train.core.raw import parse_yaml
from lmod_train.core.shipped import config_files, configs_folder

STATES: dict[str, str] = package_data(__file__, "model_facts.yaml")["states"]
"""State of a published row -> its meaning."""

PAPERS: dict[str, str] = package_data(__file__, "model_facts.yaml")["papers"]
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
        ends: Day on which its provider ends the service, as announced; None if no end is announced.
        replaced: What is said of requests after that day; empty if nothing.
        looked_up: Day on which these facts were compared with public pages; None if they are from papers and memory.
        page: Public page that was read for them on that day, and its own date.
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
    ends: date | None = None
    replaced: str = ""
    looked_up: date | None = None
    page: str = ""
    published: Mapping[str, PublishedRow] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Name of the folder of its local weights, as configs name it; empty without local weights."""
        name = self.hub.rpartition("/")[2]
        return {"N": name, "C": name, "K": f"{name}-hf"}.get(self.route, "")

    @property
    def service(self) -> str:
        """Name of the model at its service, without that of the provider."""
        return self.hub.partition(": ")[2]

    def ending(self, today: date) -> str:
        """Return a sentence on the announced end of its service; empty if none is announced.

        The provider may have put it off, so that the sentence is no reason to refuse a request.
        """
        if self.ends is None:
            return ""
        verb = "ends" if today < self.ends else "was to end"
        read = f", read on {self.looked_up}" if self.looked_up else ""
        after = f"; {self.replaced}" if self.replaced else ""
        return f"the service {self.service} {verb} on {self.ends} (the provider's notice{read}){after}"


def known_models(folder: Path | None = None) -> Iterator[ModelFacts]:
    """Yield the facts of each config that states some, ordered by name.

    Args:
        folder: Folder of model configs; default: the shipped ones.

    Raises:
        ValueError: A file's facts are incomplete, or contain unknown ones.
    """
    for file in sorted((folder or configs_folder() / "model").glob("*.yaml")):
        try:
            facts = _facts(file.stem, file.read_text(encoding="utf-8"))
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise ValueError(
                f"{file}: {type(error).__name__}: {error}; see lmod_train/core/artifacts/model_facts.py"
            ) from error
        if facts is not None:
            yield facts


@cache
def _facts(name: str, text: str) -> ModelFacts | None:
    """Return the facts that the text of a config states; None if it states none."""
    stated = "".join(re.findall(r"^#: ?(.*\n)", text, re.M))
    if not stated:
        return None
    facts: dict[str, Any] = parse_yaml(stated)
    facts |= {name: date.fromisoformat(facts[name]) for name in ("ends", "looked_up") if name in facts}
    about = " ".join(re.findall(r"^# (.*)$", text, re.M))
    entry, rows = facts.pop("cache", None), facts.pop("published", {})
    why = facts.pop("why", "") or parse_yaml(text)["init_args"].get("why", "")
    published = {paper: PublishedRow(**{**row, "rows": tuple(row["rows"])}) for paper, row in rows.items()}
    return ModelFacts(name, about, why=why, cache=Cache(**entry) if entry else None, published=published, **facts)


def download(checkpoint: str, small: bool = False) -> str:
    """Return the commands between backticks that fetch the weights of a shipped config; empty if it is none of them.

    Args:
        checkpoint: Folder as a config names it, e.g. ``checkpoints/llava-1.5-7b-hf``.
        small: Whether the weights are left out; a checkpoint that must be converted is fetched whole.

    Example:
        >>> download("checkpoints/llava-1.5-7b-hf")
        '`hf download llava-hf/llava-1.5-7b-hf --local-dir checkpoints/llava-1.5-7b-hf`'
    """
    place = Path(checkpoint)
    model = next((m for m in known_models() if m.folder and m.folder == place.name), None)
    if model is None:
        return ""
    target = place.with_name(model.hub.rpartition("/")[2])
    revision = "" if model.revision == "unknown" else f" --revision {shlex.quote(model.revision)}"
    left_out = " --exclude '*.safetensors'" if small and model.route != "K" else ""
    fetch = f"`hf download {model.hub}{revision}{left_out} --local-dir {shlex.quote(str(target))}`"
    if model.route != "K":
        return fetch
    convert = f"weights convert {shlex.quote(str(target))} --out {shlex.quote(checkpoint)}"
    return f"{fetch}, then `python -m lmod_train {convert}`"


def nearest(name: str, most: int = 3) -> list[str]:
    """Return the names of the model configs nearest to a typed name, nearest first; [] if none is near.

    Args:
        name: A name of a model as typed: of a config, on the hub, or at a service.
        most: Maximum number of names.

    Example:
        >>> nearest("Qwen/Qwen3-VL-8B-Instruct")[0], nearest("gpt4o")[0]
        ('qwen3_vl_8b', 'gpt_4o')
    """
    known = {_bare(name): name for name in config_files("model")}
    known |= {_bare(model.hub): model.name for model in known_models() if "none" not in model.hub}
    near = get_close_matches(_bare(name), known, n=4 * most)
    return list(dict.fromkeys(known[key] for key in near))[:most]


def _bare(name: str) -> str:
    """Return the letters and digits of a name in small letters, without the owner or provider before it."""
    return re.sub(r"[^a-z0-9]", "", re.split("/|: ", name.lower())[-1])


DATED = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})$")
"""Date at the end of the name of a service's snapshot."""


def of_service(model: str) -> ModelFacts | None:
    """Return the facts of a service's model by its name there, with or without the date of its snapshot.

    Example:
        >>> of_service("gpt-4o").name, of_service("gpt-4o-2024-11-20").name, of_service("other")
        ('gpt_4o', 'gpt_4o', None)
    """
    services = [m for m in known_models() if m.route == "A"]
    named = {DATED.sub("", m.service): m for m in services}
    exact = {m.service: m for m in services}
    return exact.get(model) or named.get(DATED.sub("", model))
