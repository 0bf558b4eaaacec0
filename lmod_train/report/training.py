"""What the model of each run was trained on: sources, and share of the training split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmod_train.report.results import Outcomes


@dataclass(frozen=True, slots=True)
class Training:
    """What a model was trained on.

    Attributes:
        share: Share of the training split.
        sources: Source -> number of training images.
    """

    share: float
    sources: Mapping[str, int] = field(default_factory=dict)

    @property
    def images(self) -> int:
        """Number of training images."""
        return sum(self.sources.values())


def training(outcomes: Outcomes) -> Training | None:
    """Return what the model of a run was trained on; None if its configuration does not state it."""
    stated: Any = (outcomes.config.get("provenance") or {}).get("trained_on")
    if not isinstance(stated, dict) or not isinstance(stated.get("sources"), dict):
        return None
    return Training(float(stated.get("share", 1.0)), {str(name): int(n) for name, n in stated["sources"].items()})
