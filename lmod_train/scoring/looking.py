"""What the changes of a model's answers say: whether it looks at the eye, and at the evidence for the answer.

`scripts/benchmarks/grounding.py` measures how often a verdict is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmod_train.scoring.grounding import AGAIN, ELSEWHERE, EVIDENCE, NOTHING, OTHER, Effect, Finding

SMALL = 0.05
"""Change below which an answer does not depend on what was changed: 5 points."""
LEVEL = 0.025
"""Of each one-sided test: an end of a 95 % interval."""
_Z, _POWER = 1.959964, 0.841621  # normal quantiles of 0.975, and of 0.8

Verdict = Literal["does not look", "looks, not at the evidence", "looks at the evidence", "cannot be told"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with its verdict.

    Attributes:
        finding: What was measured.
        verdict: One of four.
        why: Why it cannot be told, and what to do next; empty for other verdicts.
        widest: The effect that more questions would tell; None if they would not.
    """

    finding: Finding
    verdict: Verdict
    why: str = ""
    widest: Effect | None = None

    @property
    def detectable(self) -> float | None:
        """Effect that this number of questions would have shown with a probability of 0.8; above 1 if none."""
        return None if self.widest is None else (_Z + _POWER) * _spread(self.widest)


def judged(found: Sequence[Finding]) -> list[Judged]:
    """Return the verdict on each finding of one model, in their order; Holm-adjusted over the tasks.

    Does not look: the upper end of the change under `OTHER` is below `SMALL`. Looks at the evidence: the lower end of
    the specific effect is above 0, for every fill. Looks, not at the evidence: the lower end of the change under
    `OTHER` is above 0, and the upper end of the specific effect is below `SMALL`, for every fill. Otherwise it cannot
    be told; nor where two of these hold, nor where a removal could not show it: the evidence for another answer may be
    looked at, and without it an answer is given that is given here, too. Changes that are hidden count against each
    verdict.

    Args:
        found: Of all tasks of one model.
    """
    tests = {
        "blind": [_below(f.changes.get(OTHER, NOTHING), f.hidden.get(OTHER, 0)) for f in found],
        "at": [_worst(f, _above, ELSEWHERE) for f in found],
        "off": [
            max(_above(f.changes.get(OTHER, NOTHING), f.hidden.get(AGAIN, 0)), _worst(f, _below, EVIDENCE))
            for f in found
        ],
    }
    held = {name: _adjusted(found, p) for name, p in tests.items()}
    at = [f for f, shown in zip(found, held["at"], strict=True) if shown]
    near = [f for f in found if _worst(f, _below, EVIDENCE) >= LEVEL]
    return [_judged(f, {name: own[i] for name, own in held.items()}, at, near) for i, f in enumerate(found)]


def _judged(found: Finding, held: Mapping[str, bool], at: Sequence[Finding], near: Sequence[Finding]) -> Judged:
    """Return the verdict on a finding, from the tests that it passed.

    Args:
        found: The finding.
        held: Test -> whether it passed.
        at: Findings that look at the evidence.
        near: Findings that may look at it.
    """
    named: Mapping[str, Verdict] = {
        "blind": "does not look", "at": "looks at the evidence", "off": "looks, not at the evidence",
    }  # fmt: skip
    passed = [verdict for test, verdict in named.items() if held[test]]
    same = _same_without(found, near if passed else at)
    if same and passed in ([], [named["off"]]):
        why = f"without the evidence the answer is {same} in any case; see its change under {OTHER}"
        return Judged(found, "cannot be told", why)
    if len(passed) == 1:
        return Judged(found, passed[0])
    if why := _why(found, passed):
        return Judged(found, "cannot be told", why)
    effects = [e for e in (found.changes[OTHER], *found.specific.values()) if e.low is not None]
    return Judged(found, "cannot be told", "the intervals are too wide", max(effects, key=_spread))


def _same_without(found: Finding, others: Sequence[Finding]) -> str:
    """Return an answer that is given here, and that others turn to without the evidence; empty if there is none."""
    alike = [f for f in others if f.task == found.task and f.truth != found.truth]
    turned = [a for f in alike for a, share in f.turned.items() if share > SMALL and found.given.get(a, 0.0) > SMALL]
    return max(turned, key=lambda answer: found.given[answer], default="")


def _spread(effect: Effect) -> float:
    """Return the standard error of an effect with an interval, on its lower side."""
    return ((effect.value or 0.0) - (effect.low or 0.0)) / _Z


def _why(found: Finding, passed: Sequence[str]) -> str:
    """Return why more questions would not tell, and what would; empty if they would."""
    if passed:
        return f"two rules hold: {' and '.join(passed)}; look at the replies"
    other, effects = found.changes.get(OTHER, NOTHING), found.specific.values()
    if not found.floor.n:
        return "no two answers about the same image, which every change needs; ask all records"
    if not other.n:
        return "no answers about another patient's image; ask all records, or curate images of other answers"
    if other.low is None:
        return "fewer than three patients were asked about, or shown as others; curate more images of each answer"
    if not found.specific:
        return "the evidence was not removed; add masks or boxes that show where it is"
    if all(effect.low is None for effect in effects):
        return "fewer than three patients with the evidence and a like place removed; ask all records, or curate more"
    hidden = max(found.hidden.values(), default=0.0)
    if hidden > SMALL:
        pairs = f"in up to {100 * hidden:.0f} % of the pairs of replies"
        return f"{pairs}, both are refused or not in the form asked for, which hides a change; make it answer first"
    return ""


def _worst(found: Finding, test: Callable[[Effect, float], float], hiding: str) -> float:
    """Return the largest p value over fills of a test of the specific effect; 1 without removals."""
    hidden = found.hidden
    return max((test(e, hidden.get(f"{hiding}.{fill}", 0)) for fill, e in found.specific.items()), default=1.0)


def _above(effect: Effect, hidden: float) -> float:
    """Return the one-sided p value that an effect is above 0: `LEVEL` if its interval begins at what is hidden."""
    if effect.value is None or effect.low is None:
        return 1.0
    return _tail(effect.value - hidden, effect.value - effect.low)


def _below(effect: Effect, hidden: float) -> float:
    """Return the one-sided p value that an effect is below `SMALL`, even if all that is hidden changes."""
    if effect.value is None or effect.high is None:
        return 1.0
    return _tail(SMALL - effect.value - hidden, effect.high - effect.value)


def _tail(distance: float, half: float) -> float:
    """Return the normal tail beyond a distance, where `half` is the half width of the 95 % interval on that side."""
    if half <= 0:
        return 0.0 if distance > 0 else 1.0
    return 0.5 * math.erfc(_Z * distance / half / math.sqrt(2))


def _adjusted(found: Sequence[Finding], p: Sequence[float]) -> list[bool]:
    """Return which tests hold, adjusted over tasks by Holm (1979); the p value of a task is its smallest one."""
    least: dict[str, float] = {}
    for one, value in zip(found, p, strict=True):
        least[one.task] = min(value, least.get(one.task, 1.0))
    factors, reached = {}, 0.0
    for place, (task, value) in enumerate(sorted(least.items(), key=lambda pair: pair[1])):
        factors[task] = len(least) - place, reached
        reached = max(reached, value * (len(least) - place))
    return [
        max(value * factors[one.task][0], factors[one.task][1]) < LEVEL for one, value in zip(found, p, strict=True)
    ]


def enough(effect: Effect, detectable: float) -> int:
    """Return how many questions would show a change of `SMALL`, if their answers vary as these do."""
    return math.ceil(effect.n * (detectable / SMALL) ** 2)
