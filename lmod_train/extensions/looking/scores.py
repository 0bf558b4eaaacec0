"""Whether answers change with the image and with the part that carries the answer, and the verdicts on it.

Each question is asked about the image as it is, twice, and about changed images (`SHOWN`). All measures are changes of
the answer, paired by image, over all answers and not only right ones, minus the changes between the two times that the
same image was shown (the floor). They are given per true answer: the removal of a disc may rightly leave NON-GLAUCOMA.
Intervals are clustered by patient, or by the other patients' images that are shown, if those are wider: one may be
shown with many questions. `scripts/benchmarks/grounding.py` measures their coverage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from lmod_train.core.types import Score, Unparsed
from lmod_train.scoring.comparison import holm, paired_difference
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score
from lmod_train.scoring.shares import combined_interval
from lmod_train.scoring.ways import question_of

AS_IS, AGAIN = "as_is", "as_is_again"

EVIDENCE, ELSEWHERE = "evidence_removed", "elsewhere_removed"

SAME, OTHER, BLANK, REDRAWN = "same_answer", "other_answer", "blank", "counterfactual"

SHOWN = (AS_IS, AGAIN, EVIDENCE, ELSEWHERE, SAME, OTHER, BLANK, REDRAWN)
"""What is shown: the image, the image again, it with the evidence or a like place filled, another patient's image with
the same or another answer, the mean image, and a phantom redrawn with only the asked fact changed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the item of everything that was shown with it.

    Attributes:
        shown: What was shown, e.g. ``evidence_removed.biharmonic`` -> its item; always `AS_IS` among them.
    """

    shown: Mapping[str, Item]

    @property
    def truth(self) -> str:
        """True answer about the image as it is."""
        return str(self.shown[AS_IS].truth)

    @property
    def group(self) -> str:
        """Patient."""
        return self.shown[AS_IS].group

    def changed(self, shown: str) -> float:
        """Return 1 if the answer differs from that to the image as it is, otherwise 0."""
        return float(said(self.shown[shown]) != said(self.shown[AS_IS]))


@dataclass(frozen=True, slots=True)
class Effect:
    """A change or a share with its 95 % interval and number of questions; None without any."""

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None


NOTHING = Effect(0, None)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured of one task and true answer.

    Attributes:
        task: Name of the task.
        truth: True answer about the images as they are.
        n: Number of questions.
        floor: Share of answers that differ between the two times that the image was shown as it is.
        changes: What was shown -> share of answers that change, minus the floor.
        margins: What was shown -> mean absolute change of the margin, minus the floor; with likelihoods only. The
            margin is the probability of the true answer minus that of the likeliest other one.
        specific: Fill -> change under `EVIDENCE` minus change under `ELSEWHERE`.
        grounded: Fill -> of the answers that are right as is, the share that changes without the evidence, and stays
            without the place elsewhere.
        follow: Share of answers under `OTHER` that are the truth of the image shown.
        stay: Share of answers under `SAME` that are those as is.
        given: Answer to the image as it is -> share of questions.
        turned: Answer without the evidence -> share of questions that change to it, and do not without the place
            elsewhere.
        following: Change under `OTHER` minus change under `SAME`.
        recall: Share of this answer where it is the truth, minus its share where another answer is.
        obeys: Share of answers that change under `REDRAWN` to the truth of the redrawn image; a constant answer has 0.
        hidden: What was shown -> share of questions with an answer neither to it nor to the image as it is: a change
            between two replies that cannot be read, or two refusals, is not seen.
    """

    task: str
    truth: str
    n: int
    floor: Effect
    changes: Mapping[str, Effect]
    margins: Mapping[str, Effect] = field(default_factory=dict)
    specific: Mapping[str, Effect] = field(default_factory=dict)
    grounded: Mapping[str, Effect] = field(default_factory=dict)
    follow: Effect = NOTHING
    stay: Effect = NOTHING
    given: Mapping[str, float] = field(default_factory=dict)
    turned: Mapping[str, float] = field(default_factory=dict)
    hidden: Mapping[str, float] = field(default_factory=dict)
    following: Effect = NOTHING
    recall: Effect = NOTHING
    obeys: Effect = NOTHING


def variant_parts(variant: str) -> tuple[str, str]:
    """Return the variant of a task's own question, and what is shown, of a variant.

    Example:
        >>> variant_parts("drusen-evidence_removed.blur"), variant_parts("as_is")
        (('drusen', 'evidence_removed.blur'), ('', 'as_is'))
    """
    own, _, shown = variant.rpartition("-")
    return own, shown


def fill_of(shown: str) -> str:
    """Return the fill of what is shown; empty for what is not filled."""
    return shown.partition(".")[2]


def said(item: Item) -> str:
    """Return the answer as a text, or why there is none: two refusals are no change."""
    return f"({item.answer.reason})" if isinstance(item.answer, Unparsed) else str(item.answer)


def asked_of(items: Iterable[Item]) -> list[Asked]:
    """Return the questions that were asked about the image as it is, in the order of their ids.

    A question that was asked in several ways is one for each. The first one has the answers about the image as it is
    in the other ways, too, e.g. ``wording-1``.

    Args:
        items: As the task scores them, in any order.
    """
    found: dict[str, dict[str, dict[str, Item]]] = {}
    for item in items:
        shown = variant_parts(item.variant)[1]
        question = question_of(item.id, item.tags)
        way = item.id.removeprefix(question).removeprefix("/")
        found.setdefault(question.removesuffix(shown), {}).setdefault(way, {})[shown] = item
    made = []
    for _, ways in sorted(found.items()):
        first = min(ways)
        others = {way: own[AS_IS] for way, own in sorted(ways.items()) if way != first and AS_IS in own}
        made += [Asked(own | (others if way == first else {})) for way, own in sorted(ways.items()) if AS_IS in own]
    return made


def findings(task: str, items: Iterable[Item]) -> list[Finding]:
    """Return what was measured of each true answer, in their order; an empty list without items.

    Example:
        >>> again = dict.fromkeys((AS_IS, AGAIN, OTHER), "yes")
        >>> items = [Item(f"t/s/{i}/{v}", "answered", a, "yes", group=str(i), variant=v)
        ...          for i in range(100) for v, a in again.items()]
        >>> [(f.truth, f.n, f.changes[OTHER].value) for f in findings("t", items)]
        [('yes', 100, 0.0)]
    """
    by_truth: dict[str, list[Asked]] = {}
    for asked in asked_of(items):
        by_truth.setdefault(asked.truth, []).append(asked)
    every = [one for own in by_truth.values() for one in own]
    return [replace(_finding(task, t, own), recall=_recall(every, t)) for t, own in sorted(by_truth.items())]


def _recall(asked: Sequence[Asked], truth: str) -> Effect:
    """Return the share of an answer where it is the truth, minus that where it is not.

    The interval is that of two independent shares (Newcombe 1998, method 10).
    """
    its = [one for one in asked if one.truth == truth]
    others = [one for one in asked if one.truth != truth]
    own, beside = (_share(part, (AS_IS,), lambda one: said(one.shown[AS_IS]) == truth) for part in (its, others))
    if own.value is None or beside.value is None:
        return NOTHING
    ends = combined_interval(
        np.array([own.value, beside.value]), np.array([1.0, -1.0]), [(e.low, e.high) for e in (own, beside)], np.eye(2)
    )
    return Effect(own.n, own.value - beside.value, *ends)


def _finding(task: str, truth: str, asked: Sequence[Asked]) -> Finding:
    shown = in_order({name for one in asked for name in one.shown} - {AS_IS, AGAIN})
    fills = [fill_of(name) for name in shown if name.startswith(EVIDENCE)]
    both = [(fill, f"{EVIDENCE}.{fill}", f"{ELSEWHERE}.{fill}") for fill in fills]
    right = [one for one in asked if said(one.shown[AS_IS]) == truth]
    margins = {name: _margin_change(asked, name) for name in shown}
    return Finding(
        task,
        truth,
        len(asked),
        _share(asked, (AGAIN,), lambda one: one.changed(AGAIN)),
        {name: _difference(asked, name, AGAIN, Asked.changed) for name in shown},
        {name: effect for name, effect in margins.items() if effect.n},
        {fill: _difference(asked, one, other, Asked.changed) for fill, one, other in both},
        {fill: _share(right, (one, other), partial(_needs_evidence, one, other)) for fill, one, other in both},
        _share(asked, (OTHER,), lambda one: said(one.shown[OTHER]) == str(one.shown[OTHER].truth)),
        _share(asked, (SAME,), lambda one: one.changed(SAME) == 0),
        _shares([said(one.shown[AS_IS]) for one in asked], len(asked)),
        _shares(
            [said(one.shown[name]) for one in asked for _, name, like in both if _turns(one, name, like)], len(asked)
        ),
        {name: _hidden(asked, name) for name in (AGAIN, *shown)},
        _difference(asked, OTHER, SAME, Asked.changed),
        obeys=_share(asked, (REDRAWN,), _obeys),
    )


def _obeys(asked: Asked) -> bool:
    redrawn = asked.shown[REDRAWN]
    return asked.changed(REDRAWN) > 0 and said(redrawn) == str(redrawn.truth)


def _shares(answers: Sequence[str], questions: int) -> dict[str, float]:
    """Return each answer -> how often it is given a question."""
    return {answer: count / questions for answer, count in Counter(answers).items()}


def _turns(asked: Asked, evidence: str, elsewhere: str) -> bool:
    return {evidence, elsewhere} <= asked.shown.keys() and _needs_evidence(evidence, elsewhere, asked)


def _hidden(asked: Sequence[Asked], shown: str) -> float:
    pairs = [(one.shown[AS_IS], one.shown[shown]) for one in asked if shown in one.shown]
    return sum(all(isinstance(i.answer, Unparsed) for i in pair) for pair in pairs) / max(len(pairs), 1)


def _needs_evidence(evidence: str, elsewhere: str, asked: Asked) -> bool:
    return asked.changed(evidence) > asked.changed(elsewhere)


def in_order(shown: Iterable[str]) -> list[str]:
    """Return what was shown in the order of `SHOWN`, each with its fills in the order of their names.

    Example:
        >>> in_order(["blank", "evidence_removed.mean", "evidence_removed.blur", "as_is"])
        ['as_is', 'evidence_removed.blur', 'evidence_removed.mean', 'blank']
    """
    kinds = (*SHOWN, "")
    return sorted(shown, key=lambda one: (kinds.index(kind) if (kind := one.partition(".")[0]) in kinds else 99, one))


def _difference(asked: Sequence[Asked], first: str, second: str, value: Callable[[Asked, str], float]) -> Effect:
    """Return the mean of the value of one thing shown minus that of another, over the questions that have both."""
    own = [one for one in asked if {first, second} <= one.shown.keys()]
    values = [[value(one, name) for one in own] for name in (first, second)]
    return _widest(paired_difference("", values[0], values[1], groups) for groups in _groupings(own, first, second))


def _share(asked: Sequence[Asked], needed: Sequence[str], held: Callable[[Asked], object]) -> Effect:
    own = [one for one in asked if set(needed) <= one.shown.keys()]
    values = [bool(held(one)) for one in own]
    return _widest(share_score("", values, groups) for groups in _groupings(own, *needed)) if own else NOTHING


def _groupings(asked: Sequence[Asked], *shown: str) -> Iterator[list[str]]:
    """Yield the patients asked about and, where others' images are shown, which one: many may be shown the same."""
    yield [one.group for one in asked]
    for name in {SAME, OTHER}.intersection(shown):
        yield [one.shown[name].image or one.group for one in asked]


def _widest(scores: Iterable[Score]) -> Effect:
    """Return an effect with the outer ends of its intervals, without any if one of them has none."""
    several = list(scores)
    ends = [(s.low, s.high) for s in several if s.low is not None and s.high is not None]
    whole = len(ends) == len(several)
    low, high = (min(e[0] for e in ends), max(e[1] for e in ends)) if whole else (None, None)
    return Effect(several[0].n, several[0].value, low, high)


def _margin_change(asked: Sequence[Asked], shown: str) -> Effect:
    """Return the mean absolute change of the margin minus its floor, over the questions with all likelihoods."""
    needed = {AS_IS, AGAIN, shown}
    own = [one for one in asked if needed <= one.shown.keys()]
    own = [one for one in own if all(margin_of(one.shown[n], one.truth) is not None for n in needed)]

    def change(one: Asked, name: str) -> float:
        """Return half of the change, which is in [0, 1]."""
        before, after = (margin_of(one.shown[n], one.truth) or 0.0 for n in (AS_IS, name))
        return abs(after - before) / 2

    half = _difference(own, shown, AGAIN, change)
    value, low, high = (None if end is None else 2 * end for end in (half.value, half.low, half.high))
    return Effect(half.n, value, low, high)


def margin_of(item: Item, truth: str) -> float | None:
    """Return the probability of an answer minus that of the likeliest other choice, -1 to 1.

    Returns:
        None without the likelihoods of at least two choices, the answer among them.

    Example:
        >>> logs = {"yes": math.log(0.6), "no": math.log(0.2)}
        >>> round(margin_of(Item("a", "answered", "yes", "yes", ("yes", "no"), likelihoods=logs), "no"), 2)
        -0.5
    """
    logs = item.likelihoods
    if truth not in logs or len(logs) < 2 or not all(map(math.isfinite, logs.values())):
        return None
    highest = max(logs.values())
    shares = {choice: math.exp(value - highest) for choice, value in logs.items()}
    rest = max(share for choice, share in shares.items() if choice != truth)
    return (shares[truth] - rest) / sum(shares.values())


def grounding_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the rows of ``scores.csv``: of each true answer the floor, changes, effects, grounded share, follow, stay.

    Args:
        task: Name of the task.
        items: As the task scores them; an empty sequence gives no scores.
    """
    return [
        Score(
            task, ";".join(filter(None, (shown and f"shown={shown}", f"truth={found.truth}"))), metric, *_ends(effect)
        )
        for found in findings(task, items)
        for metric, shown, effect in _named(found)
        if effect.n
    ]


def _ends(effect: Effect) -> tuple[int, float | None, float | None, float | None]:
    return effect.n, effect.value, effect.low, effect.high


def _named(found: Finding) -> Iterable[tuple[str, str, Effect]]:
    """Yield metric, what is shown, and effect."""
    yield "floor", AGAIN, found.floor
    yield from (("change", shown, effect) for shown, effect in found.changes.items())
    yield from (("margin_change", shown, effect) for shown, effect in found.margins.items())
    yield from (("specific_effect", f"{EVIDENCE}.{fill}", effect) for fill, effect in found.specific.items())
    yield from (("grounded_share", f"{EVIDENCE}.{fill}", effect) for fill, effect in found.grounded.items())
    yield "follow", OTHER, found.follow
    yield "stay", SAME, found.stay
    yield "following", "", found.following
    yield "recall_difference", "", found.recall


# What the changes of a model's answers say: whether it looks at the eye, and at the evidence for the answer.
SMALL = 0.05
"""Change below which an answer does not depend on what was changed: 5 points."""

LEVEL = 0.025
"""Of each one-sided test: an end of a 95 % interval."""

_Z, _POWER = 1.959964, 0.841621  # normal quantiles of 0.975, and of 0.8

Verdict = Literal[
    "does not look",
    "looks, not at the evidence",
    "reacts to the removal, does not follow it",
    "looks at the evidence",
    "cannot be told",
]

_NAMED: Mapping[str, Verdict] = {
    "blind": "does not look",
    "at": "looks at the evidence",
    "reacts": "reacts to the removal, does not follow it",
    "off": "looks, not at the evidence",
}
"""Test -> verdict."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with its verdict.

    Attributes:
        finding: What was measured.
        verdict: One of five.
        why: Why it cannot be told, and what to do next; empty for other verdicts.
        widest: The effect that more questions would tell; None if they would not.
        default: The answer that removal leads to and that is given here, too: it cannot be shown for this truth.
    """

    finding: Finding
    verdict: Verdict
    why: str = ""
    widest: Effect | None = None
    default: str = ""

    @property
    def detectable(self) -> float | None:
        """Effect that this number of questions would have shown with a probability of 0.8; above 1 if none."""
        return None if self.widest is None else (_Z + _POWER) * _spread(self.widest)


def judged(found: Sequence[Finding]) -> list[Judged]:
    """Return the verdict on each finding of one model, in their order; Holm-adjusted over tasks and true answers.

    Does not look: the upper end of the change under `OTHER` is below `SMALL`. Looks at the evidence: the lower end of
    the specific effect is above `SMALL` for every fill, and those of `Finding.following` and `Finding.recall` are above
    0. Reacts to the removal, does not follow it: the first of these, and the upper end of following is below `SMALL`;
    not where recall, or redrawn phantoms, show that the answer follows. (A reader that gives an answer in fewer than
    half of the images where it is true changes no more often under `OTHER` than under `SAME`, however well it reads.)
    Looks, not at the evidence: the lower end of the change under `OTHER` is above 0, and the upper end of the specific
    effect is below `SMALL`, for every fill. A verdict that redrawn phantoms contradict is not given. Otherwise it
    cannot be told; nor where two of these hold, nor where a removal could not show it: the evidence for another answer
    may be looked at, and without it an answer is given that is given here, too. Changes that are hidden count against
    each verdict.

    Args:
        found: Of all tasks of one model.
    """
    hidden = [{name: f.hidden.get(name, 0.0) for name in (AGAIN, SAME, OTHER)} for f in found]
    both = list(zip(found, hidden, strict=True))
    removed = [_worst(f, partial(_above, margin=SMALL), ELSEWHERE) for f in found]
    follows = [max(p, _above(f.following, h[SAME])) for p, (f, h) in zip(removed, both, strict=True)]
    tests = {
        "blind": [_below(f.changes.get(OTHER, NOTHING), h[OTHER]) for f, h in both],
        "at": [max(p, _above(f.recall, 0.0)) for p, f in zip(follows, found, strict=True)],
        "reacts": [max(p, _below(f.following, h[OTHER])) for p, (f, h) in zip(removed, both, strict=True)],
        "off": [max(_above(f.changes.get(OTHER, NOTHING), h[AGAIN]), _worst(f, _below, EVIDENCE)) for f, h in both],
        "follows": follows,
    }
    held = {name: [p is not None and p < LEVEL for p in holm(own)] for name, own in tests.items()}
    at = [f for f, shown in zip(found, held["follows"], strict=True) if shown]
    near = [f for f in found if _worst(f, _below, EVIDENCE) >= LEVEL]
    return [_judged(f, {name: own[i] for name, own in held.items()}, at, near) for i, f in enumerate(found)]


def _judged(found: Finding, held: Mapping[str, bool], at: Sequence[Finding], near: Sequence[Finding]) -> Judged:
    """Return the verdict on a finding, from the tests that it passed.

    Args:
        found: The finding.
        held: Test -> whether it passed.
        at: Findings whose answers follow the evidence.
        near: Findings that may look at it.
    """
    passed = [verdict for test, verdict in _NAMED.items() if held[test]]
    if passed == [_NAMED["blind"], _NAMED["reacts"]]:
        passed = [_NAMED["reacts"]]  # no answer follows an image that is looked at for its removal alone
    same = _same_without(found, near if passed else at)
    if same and passed in ([], [_NAMED["off"]]):
        led = "replies without an answer" if same.startswith("(") else same
        why = f"removal leads to {led}, as some images here do: its use cannot be shown for this truth"
        return Judged(found, "cannot be told", why, default=same)
    if len(passed) == 1 and (why := _contradicted(found, passed[0])):
        return Judged(found, "cannot be told", why)
    if len(passed) == 1:
        return Judged(found, passed[0])
    if held["follows"] and not passed and found.recall.low is not None:
        why = "the answer follows the evidence, and is not shown to be given more often where it is true"
        return Judged(found, "cannot be told", f"{why}: the evidence is read wrongly, or the answers are exchanged")
    if why := _why(found, passed):
        return Judged(found, "cannot be told", why)
    effects = [e for e in (found.changes[OTHER], found.following, *found.specific.values()) if e.low is not None]
    return Judged(found, "cannot be told", "the intervals are too wide", max(effects, key=_spread))


def _contradicted(found: Finding, verdict: Verdict) -> str:
    """Return what contradicts a verdict: recall, redrawn phantoms, right answers that stay; empty if nothing does."""
    ignored, followed = _below(found.obeys, 0.0) < LEVEL, _above(found.obeys, 0.0, SMALL) < LEVEL
    redrawn = "phantoms redrawn with only the asked fact changed"
    if verdict == _NAMED["reacts"] and (_above(found.recall, 0.0) < LEVEL or followed):
        given = "the answer is given more often where it is true" if not followed else f"the answer follows {redrawn}"
        return f"removal counts and {given}, but another patient's image changes it no more often than one of the same"
    if verdict == _NAMED["at"] and ignored:
        return (
            f"the evidence is needed, but {redrawn} change fewer than 5 points of the answers: they are read elsewhere"
        )
    if verdict == _NAMED["at"] and any(_below(share, 0.0) < LEVEL for share in found.grounded.values()):
        return "fewer than 5 points of the right answers need the evidence: its use cannot be shown for this truth"
    if verdict == _NAMED["off"] and followed:
        return f"removal changes nothing, but {redrawn} are followed: the answer is read at the evidence and elsewhere"
    return ""


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
        cure = "make it answer first, e.g. by `--model.constrain choices`"
        return f"{pairs}, both are refused or not in the form asked for, which hides a change; {cure}"
    return ""


def _worst(found: Finding, test: Callable[[Effect, float], float], hiding: str) -> float:
    """Return the largest p value over fills of a test of the specific effect; 1 without removals."""
    hidden = found.hidden
    return max((test(e, hidden.get(f"{hiding}.{fill}", 0)) for fill, e in found.specific.items()), default=1.0)


def _above(effect: Effect, hidden: float, margin: float = 0.0) -> float:
    """Return the one-sided p value that an effect is above a margin: `LEVEL` if its interval begins at it."""
    if effect.value is None or effect.low is None:
        return 1.0
    return _tail(effect.value - hidden - margin, effect.value - effect.low)


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


def enough(effect: Effect, detectable: float) -> int:
    """Return how many questions would show a change of `SMALL`, if their answers vary as these do."""
    return math.ceil(effect.n * (detectable / SMALL) ** 2)
