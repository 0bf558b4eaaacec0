"""Claims of explanations, and when the facts of an image make one true or false."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lmod_train.core.types import Fact, Record

VERSION = 1
"""Of the bounds below."""

Facts = Mapping[str, Fact]
"""Name -> fact of one image."""

Relation = Literal["large", "small", "=", ">", "<", "thin", "intact", "isnt", "present", "near", "full", "unseen"]

TOLERANCE = 0.10
"""How far a stated cup-to-disc ratio may be from the measured one."""

SMALL, LARGE = 0.50, 0.60
"""A cup up to the first is not large, from the second it is; a convention, as a normal ratio depends on the disc's size
(Garway-Heath et al. 1998)."""

THIN, INTACT = 0.10, 0.20
"""Width of a rim in disc diameters: below the first it is thin (Foster et al. 2002), from the second intact."""

GAP = 0.02
"""Least difference of two sectors, in disc diameters, by which the ISNT rule is kept or broken."""

NEAR, FAR = 1.0, 1.1
"""Disc diameters from the fovea: below the first a lesion is near it, above the second not (Porwal et al. 2018)."""

SECTORS = ("inferior", "superior", "nasal", "temporal")
"""In the order of the ISNT rule, the widest first."""


def facts_by_name(record: Record) -> Facts:
    """Return the facts of a record's image by name; empty without any."""
    return {fact.name: fact for fact in record.facts}


BOUNDS = (
    ("cup-to-disc ratio = x, or x to y", f"within {TOLERANCE:g} of the measured one", "else"),
    ("ratio above, below x", "by more than its error", "likewise"),
    ("large cup", f"ratio from {LARGE:.2f}", f"ratio up to {SMALL:.2f}"),
    ("normal or small cup", f"ratio up to {SMALL:.2f}", f"ratio from {LARGE:.2f}"),
    ("thin rim in a sector", f"below {THIN:.2f} disc diameters, or the thinnest", f"from {INTACT:.2f}, or another is"),
    ("thin rim", f"a sector below {THIN:.2f}", f"all four from {INTACT:.2f}"),
    ("rim intact", f"from {INTACT:.2f}, all four without a sector", f"below {THIN:.2f}"),
    ("rim keeps the ISNT rule", f"each sector wider than the next by {GAP:.2f}", f"one thinner by {GAP:.2f}"),
    ("lesion, hole or cysts present, absent", "as annotated", "as annotated"),
    ("lesion near the fovea", f"nearest below {NEAR:.1f} disc diameters", f"above {FAR:.1f}"),
    ("hole of full thickness", "no retina above it in half of its columns", "else"),
)
"""Claim -> what makes it true, and false; between the two it is not decided."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a clause of an explanation says of this eye.

    Attributes:
        subject: ``cup``, ``vcdr``, ``rim``, ``lesion.KIND``, ``hole``, ``cysts``; of what no annotation decides, its
            own name, e.g. ``notch``; of what no image of this kind shows, e.g. ``intraocular pressure``.
        relation: What is said of it: ``large`` and ``small`` of the cup; ``=``, ``>`` and ``<`` of the ratio; ``thin``
            and ``intact`` of the rim, and ``isnt``, that its sectors keep the rule; ``present``; ``near`` the fovea;
            ``full`` thickness of a hole; ``unseen`` of what no image shows.
        low: The number, or the lower end of a range; None without one.
        high: The upper end; that number again without a range.
        place: Sector of the rim, or other place in words; empty for the whole.
        denied: Whether the clause says the opposite.
        start: First character in the reply.
        end: One past the last.
    """

    subject: str
    relation: Relation
    low: float | None = None
    high: float | None = None
    place: str = ""
    denied: bool = False
    start: int = 0
    end: int = 0

    @property
    def content(self) -> tuple[object, ...]:
        """What is claimed, wherever it stands: equal for a claim that is repeated, also in its opposite's denial."""
        relation = {"small": "large", "<": ">"}.get(self.relation, self.relation)
        return self.subject, relation, self.low, self.high, self.place, self.denied != (relation != self.relation)


def is_true(claim: Claim, facts: Facts, tolerance: float = TOLERANCE) -> bool | None:
    """Return whether the facts of an image make a claim true; None where they do not decide it.

    Example:
        >>> facts = {"vcdr": Fact("vcdr", 0.72, "ratio", 0.07)}
        >>> is_true(Claim("vcdr", "=", 0.8, 0.8), facts), is_true(Claim("cup", "large", denied=True), facts)
        (True, False)
        >>> is_true(Claim("vcdr", ">", 0.7, 0.7), facts), is_true(Claim("rim", "thin"), facts)
        (None, None)
    """
    decide = _DECIDED.get(claim.relation)
    found = decide(claim, facts, tolerance) if decide else None
    return found if found is None else found != claim.denied


def number(facts: Facts, name: str) -> float | None:
    """Return the value of a fact that is a number; None without it."""
    value = facts[name].value if name in facts else None
    return value if isinstance(value, float) else None


def word(facts: Facts, name: str) -> str:
    """Return the value of a fact that is a word; empty without it."""
    value = facts[name].value if name in facts else ""
    return value if isinstance(value, str) else ""


def _yes(value: str) -> bool | None:
    return {"yes": True, "no": False}.get(value)


def _large(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    ratio = number(facts, "vcdr")
    if ratio is None:
        return _yes(word(facts, "cup.large"))
    return True if ratio >= LARGE else False if ratio <= SMALL else None


def _small(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    large = _large(claim, facts, tolerance)
    return None if large is None else not large


def _equal(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    ratio = number(facts, claim.subject)
    if ratio is None or claim.low is None or claim.high is None:
        return None
    return claim.low - tolerance - 1e-9 <= ratio <= claim.high + tolerance + 1e-9


def _above(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    ratio = number(facts, claim.subject)
    if ratio is None or claim.low is None:
        return None
    apart = ratio - claim.low
    return None if abs(apart) <= facts[claim.subject].error else apart > 0


def _below(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    above = _above(claim, facts, tolerance)
    return None if above is None else not above


def _thin(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    rims = _rims(facts)
    if not claim.place:
        thin = [width < THIN for width in rims.values()]
        whole = len(rims) == len(SECTORS) and min(rims.values()) >= INTACT
        return True if any(thin) else False if whole else None
    own, thinnest = rims.get(claim.place), word(facts, "rim.thinnest")
    if own is None:
        return None
    if own < THIN or thinnest == claim.place:
        return True
    return False if own >= INTACT or thinnest else None


def _intact(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    rims = _rims(facts)
    if claim.place:
        own = rims.get(claim.place)
        return None if own is None else True if own >= INTACT else False if own < THIN else None
    if any(width < THIN for width in rims.values()):
        return False
    return True if len(rims) == len(SECTORS) and min(rims.values()) >= INTACT else None


def _isnt(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    rims = _rims(facts)
    if len(rims) < len(SECTORS):
        return None
    widths = [rims[sector] for sector in SECTORS]
    gaps = [wider - narrower for wider, narrower in pairwise(widths)]
    return True if min(gaps) >= GAP else False if min(gaps) <= -GAP else None


def _present(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    # a place is decided by no annotation but the fovea
    return None if claim.place else _yes(word(facts, claim.subject))


def _near(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    away = number(facts, f"{claim.subject}.fovea")
    if away is None:
        return _yes(word(facts, f"{claim.subject}.near") or {"no": "no"}.get(word(facts, claim.subject), ""))
    return True if away < NEAR else False if away > FAR else None


def _full(claim: Claim, facts: Facts, tolerance: float) -> bool | None:
    return _yes(word(facts, "hole.full") or {"no": "no"}.get(word(facts, "hole"), ""))


def _rims(facts: Facts) -> dict[str, float]:
    found = {sector: number(facts, f"rim.{sector}") for sector in SECTORS}
    return {sector: width for sector, width in found.items() if width is not None}


_DECIDED: Mapping[str, Callable[[Claim, Facts, float], bool | None]] = {
    "large": _large,
    "small": _small,
    "=": _equal,
    ">": _above,
    "<": _below,
    "thin": _thin,
    "intact": _intact,
    "isnt": _isnt,
    "present": _present,
    "near": _near,
    "full": _full,
}
