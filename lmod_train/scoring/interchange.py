"""How long a language model uses the tokens of an image, from images that were exchanged in front of its layers.

With few choices an answer that is only disturbed may by luck be the other image's. What an exchange with an image of
the same answer moves is therefore subtracted: it should move nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, ratio
from lmod_train.scoring.share import share_score

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What the exchange of images in front of one layer shows.

    Attributes:
        layer: Number of layers in front of the exchange; 0 is the input.
        followed: Share of the pairs with different answers in which the answer becomes the other image's.
        stayed: Share of the pairs with the same answer in which it stays.
        used: Share followed minus share moved, 1 - stayed; None without pairs of both kinds. With more than two choices
            it is rather too low, as not every moved answer would have been the other image's.
    """

    layer: int
    followed: Score
    stayed: Score
    used: Score

    @property
    def is_used(self) -> bool:
        """Whether the image's tokens are shown to be used behind this layer."""
        return self.used.low is not None and self.used.low > 0


def exchanged_at(layer: int, alike: Flags, followed: Flags, groups: Sequence[str]) -> Exchanged:
    """Return what the exchange of images in front of a layer shows, with 95 % intervals by patient.

    Args:
        layer: Number of layers in front.
        alike: Whether a model prefers the same choice for both images of a pair, (pairs).
        followed: Whether it prefers, after the exchange, the choice that it prefers for the other image, (pairs).
        groups: Patient of the record that is asked, of each pair.

    Example:
        >>> alike, followed = np.array([False] * 4 + [True] * 4), np.array([True] * 3 + [False] + [True] * 3 + [False])
        >>> found = exchanged_at(2, alike, followed, list("abcdefgh"))
        >>> found.followed.value, found.stayed.value, found.used.value
        (0.75, 0.75, 0.5)
    """
    kinds = np.stack([~alike, alike], 1)
    columns = {"held": kinds.astype(np.float64), "hits": kinds * np.stack([followed, ~followed], 1).astype(np.float64)}
    used = compute_scores("", "all", columns, groups, [_USED])[0]

    def share(of: Flags) -> Score:
        return share_score("share", followed[of].tolist(), [groups[i] for i in np.flatnonzero(of).tolist()])

    return Exchanged(layer, share(~alike), share(alike), used)


def _sides(sums: Columns) -> Floats:
    return ratio(sums["hits"], sums["held"])


_SIGNS = (1.0, -1.0)
_USED = Measure("used", lambda s: _sides(s) @ np.array(_SIGNS), lambda s: s["held"], parts=_sides, signs=_SIGNS)


def used_until(layers: Sequence[Exchanged]) -> str:
    """Return in words in front of which layers an exchanged image is followed; empty without pairs that differ.

    Args:
        layers: In order.
    """
    if not any(one.followed.n for one in layers):
        return ""
    shown = list(takewhile(lambda one: one.is_used, layers))
    if not shown:
        return "answers are not shown to follow exchanged images"
    last, rest = shown[-1], layers[len(shown) :]
    where = f"layer {last.layer}" if last.layer else "the first layer"
    said = f"answers follow images that are exchanged as late as in front of {where} ({last.used.value:+.2f} used"
    behind = f"; in front of layer {rest[0].layer} not shown, {rest[0].used.value:+.2f}" if rest else ""
    return f"{said}{behind})"
