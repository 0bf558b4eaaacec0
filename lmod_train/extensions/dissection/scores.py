"""Where the information about an image is lost between a vision tower and the scored answer, and what exchange adds.

At every place the true class is read for each record, by a probe or by the model itself, and the places stand in the
order in which an image passes through them. A linear probe can read more behind a place than at it. A step is the
difference of balanced accuracy between two places on the same records. Definitions and the rule that names a loss:
`named`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, mean_measure, ratio
from lmod_train.scoring.share import share_score

_WORDS = package_data(__file__, "words.yaml")["scores"]


Classes = NDArray[np.intp]
"""Index of the class that is read for each record, (records); -1 for none."""

UNUSED = "comprehension or mapping"
"""Name of a loss behind image tokens that keep what is lost."""

PRIOR = "prior"
"""Name of a loss to the preference for a choice, if a reference shows that the image is used."""

ACTS_LIKE = "prior, or an earlier fault that acts like one"
"""Its name if that is not known."""

FOLLOWED = 0.5
"""Share, by its lower end, from which a reference is said to use an exchanged image in front of a layer."""

MARGIN = 0.05
"""Smallest difference of balanced accuracy that is called a loss: 5 points."""

POINTS = f"{100 * MARGIN:.0f} points or more"

NONE = f"no step loses {POINTS} of the mean recall"
"""Reason of a finding without a loss. A class alone, or several steps together, can still have lost more."""

TIMES = (2, 5, 10)
"""How many times as many images are thought of where nothing can be told; more are not advised."""

CEILING, TOWER, PROJECTOR, BEST, LAST = "ceiling", "tower", "projector", "best layer", "last layer"

CHEAP = "cheap ceiling"
"""In the place of `CEILING`: a small network that was trained from pixels, which a better one may exceed."""

READ, CORRECTED, LIKELIHOOD, REPLY = "likelihoods, read", "prior corrected", "likelihood", "reply"

CHAIN = (CEILING, TOWER, PROJECTOR, BEST, LAST, READ, CORRECTED, LIKELIHOOD, REPLY)
"""The places that the steps compare, in order."""

CEILINGS = (CEILING, CHEAP)
"""One of them stands in front of the tower."""

PROBED = (TOWER, PROJECTOR, BEST, LAST, READ)
"""The places at which a linear probe reads; what is lost in front of them can still be there in another form."""

SHORTCUTS = ("border mask", "thumbnail")
"""What can be read without a model, the floor: where an image is black, and its coarse colours."""

UNTRAINED = "untrained tower"
"""A control beside them: a tower like the model's with random weights."""

_LOST = ("representation", "connection", "comprehension", "comprehension", "mapping", "mapping", "prior", "saying")

STEPS = dict(zip(pairwise(CHAIN), _LOST, strict=True))
"""Two neighbouring places -> what is lost between them. From states to likelihoods, and from likelihoods to the right
choice, it is the mapping to words: a projector that permutes its channels loses it at the first, exchanged words at the
second."""


@dataclass(frozen=True, slots=True)
class Step:
    """The change of balanced accuracy from one place to the next, on the records read at both.

    Attributes:
        name: What is lost here: representation, connection, comprehension, mapping, prior or saying; `ACTS_LIKE`;
            or `UNUSED`, where the image's tokens keep in the language model what the decision lacks.
        first: Place in front of the step.
        second: Place behind it.
        n: Number of records.
        change: Balanced accuracy behind the step minus in front of it; None if not judged.
        low: Lower end of its 95 % interval, by patient.
        high: Upper end.
    """

    name: str
    first: str
    second: str
    n: int
    change: float | None
    low: float | None = None
    high: float | None = None

    @property
    def is_loss(self) -> bool:
        """Whether at least `MARGIN` is lost, by the interval."""
        return self.high is not None and self.high <= -MARGIN

    @property
    def excludes_loss(self) -> bool:
        """Whether a loss of `MARGIN` is outside the interval; True where the step is not judged."""
        return self.change is None or (self.low is not None and self.low > -MARGIN)

    def exceeds(self, other: Step) -> bool:
        """Whether more is lost than another step may lose, by both intervals."""
        return self.high is not None and other.low is not None and self.high < other.low


@dataclass(frozen=True, slots=True)
class Finding:
    """What the steps say.

    Attributes:
        loss: The step named; None if none is.
        largest: The step of the largest fall; None if nothing falls.
        reason: Why no step is named; empty if one is.
        behind: An earlier step whose interval excludes no loss, from which the named one may follow; None without.
        times: How many times as many images would tell; 0 if not even the last of `TIMES`, None if there is no need.
    """

    loss: Step | None
    largest: Step | None
    reason: str = ""
    behind: Step | None = None
    times: int | None = None


def balanced(task: str, place: str, truth: Classes, read: Classes, groups: Sequence[str], classes: int) -> Score:
    """Return the balanced accuracy at a place: the mean of the recalls of the classes, an unread record wrong.

    Args:
        task: Name of the task.
        place: Name of the place, the subset of the score.
        truth: Index of the true class of each record.
        read: Index of the class that is read, -1 for none.
        groups: Patient of each record.
        classes: Number of classes; those without a record take no part.

    Example:
        >>> balanced("demo", "tower", np.array([0, 0, 1]), np.array([0, 1, 1]), list("abc"), 2).value
        0.75
    """
    columns = {"held": _one_hot(truth, classes), "right": _one_hot(truth, classes, read == truth)}
    return compute_scores(task, f"place={place}", columns, groups, [_BALANCED])[0]


_BALANCED = mean_measure("balanced_accuracy", lambda s: ratio(s["right"], s["held"]), lambda s: s["held"])


def steps(truth: Classes, places: Mapping[str, Classes], groups: Sequence[str], classes: int) -> list[Step]:
    """Return the steps between neighbouring places of `CHAIN`, with 95 % intervals by patient.

    A place that is missing joins its neighbours. The step behind the ceiling is not tested, and has no change, without
    one, and where the probe of the tower is better than the ceiling, which then is none.

    Args:
        truth: Index of the true class of each record.
        places: Place -> class read for each record, -1 for none; -2 for a record that has not been asked there.
        groups: Patient of each record.
        classes: Number of classes.
    """
    found = [] if set(CEILINGS) & places.keys() else [Step(STEPS[CEILING, TOWER], CEILING, TOWER, 0, None)]
    for first, second in pairwise([place for place in (CHEAP, *CHAIN) if place in places]):
        both = (places[first] != ABSENT) & (places[second] != ABSENT)
        kept = np.flatnonzero(both)
        own = [groups[i] for i in kept.tolist()]
        before, after = (places[p][kept] == truth[kept] for p in (first, second))
        name = next(name for pair, name in STEPS.items() if pair[1] == second)
        step = _step(name, first, second, truth[kept], (before, after), own, classes)
        judged = not (first in CEILINGS and (step.change or 0) > 0)
        found.append(step if judged else replace(step, change=None, low=None, high=None))
    unused = _tokens_keep(truth, places)
    return [replace(s, name=UNUSED) if unused and s.is_loss and s.name == "comprehension" else s for s in found]


def _tokens_keep(truth: Classes, places: Mapping[str, Classes]) -> bool:
    """Return whether the image's tokens can still be read in the last layer read, nearly as behind the projector.

    Then the language model has them and does not use them: it cannot, or the projector makes them in another form than
    it knows. A probe cannot tell the two apart, as it learns any form (permuted channels: tried).
    """
    layers = [place for place in places if place.startswith("image.")]
    if not layers:
        return False
    last = max(layers, key=lambda place: int(place.partition(".")[2]))
    return mean_recall(truth, places[last]) > mean_recall(truth, places[PROJECTOR]) - MARGIN


def mean_recall(truth: Classes, read: Classes) -> float:
    """Return the balanced accuracy without an interval: the mean of the recalls of the classes that occur."""
    return float(np.mean([np.mean(read[truth == c] == c) for c in sorted(set(truth.tolist()))]))


ABSENT = -2
"""Class of a record that has not been asked at a place."""


def _step(
    name: str,
    first: str,
    second: str,
    truth: Classes,
    right: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    groups: Sequence[str],
    classes: int,
) -> Step:
    """Return a step with its interval."""
    before, after = right
    present = sorted(set(truth.tolist()))
    held = _one_hot(truth, classes)[:, present]
    gained, lost = held * (after & ~before)[:, None], held * (before & ~after)[:, None]
    columns = {"held": np.concatenate([held, held], 1), "sides": np.concatenate([gained, lost], 1)}
    weight = 1 / max(1, len(present))
    signs = (weight,) * len(present) + (-weight,) * len(present)

    def sides(sums: Mapping[str, Floats]) -> Floats:
        return ratio(sums["sides"], sums["held"])

    measure = Measure("change", lambda s: sides(s) @ np.array(signs), lambda s: s["held"], parts=sides, signs=signs)
    score = compute_scores("", "all", columns, groups, [measure])[0]
    return Step(name, first, second, len(truth), score.value, score.low, score.high)


def named(found: Sequence[Step]) -> Finding:
    """Return the first step that loses at least 5 points and more than any earlier one may lose, by their intervals.

    Behind an earlier loss whose interval excludes 0 it only may follow from that one. Where none is named,
    the intervals of more images are thought of as narrower by the root of their number.

    Example:
        >>> step = Step("prior", CORRECTED, LIKELIHOOD, 200, -0.23, -0.31, -0.17)
        >>> named([step]).loss.name, named([]).reason
        ('prior', 'no step is judged')
        >>> named([Step("mapping", LAST, READ, 200, -0.09, -0.15, -0.03)]).times
        5
    """
    judged = [step for step in found if step.change is not None]
    largest = min((step for step in judged if (step.change or 0) < 0), key=lambda step: step.change or 0, default=None)
    if not judged:
        return Finding(None, None, "no step is judged")
    finding = replace(_decided(judged), largest=largest)
    if finding.loss or finding.reason == NONE:
        return finding
    more = (times for times in TIMES if _tells(_decided([_narrower(step, times) for step in judged])))
    return replace(finding, times=next(more, 0))


def _decided(judged: Sequence[Step]) -> Finding:
    """Return what judged steps say, without the largest fall."""
    judged = [step for i, step in enumerate(judged) if not _is_recovered(judged[i:])]
    for i, step in enumerate(judged):
        if step.is_loss and all(step.exceeds(one) for one in judged[:i]):
            behind = next((one for one in judged[:i] if one.high is not None and one.high < 0), None)
            return Finding(step, None, behind=behind)
    for i, step in enumerate(judged):
        if step.is_loss:
            may = next(one for one in judged[:i] if not step.exceeds(one))
            return Finding(None, None, f"{may.name} may lose as much before {step.name}")
    unsure = dict.fromkeys(step.name for step in judged if not step.excludes_loss)
    return Finding(None, None, f"{' and '.join(unsure)} may lose {POINTS}" if unsure else NONE)


def _is_recovered(steps: Sequence[Step]) -> bool:
    """Return whether the replies do not show the loss of the first of some steps, as the last one regains it.

    Likelihoods that are nearly flat punish long choices by their sums, and the replies may be right all the same.
    """
    regained = steps[-1].second == REPLY and (steps[-1].low or 0.0) > 0 and len(steps) > 1
    return steps[0].is_loss and regained and sum(step.change or 0.0 for step in steps) > -MARGIN


def _tells(finding: Finding) -> bool:
    return finding.loss is not None or finding.reason == NONE


def _narrower(step: Step, times: int) -> Step:
    """Return a step as expected of so many times as many images; one without an interval gets that of its change."""
    middle = step.change or 0.0
    low, high = (middle if end is None else middle + (end - middle) / times**0.5 for end in (step.low, step.high))
    return replace(step, low=low, high=high)


NEXT: Mapping[str, str] = _WORDS["next"]
"""What is lost -> what to try next."""


def sentence(
    task: str,
    scores: Mapping[str, float],
    finding: Finding,
    best: str = BEST,
    recalls: Mapping[str, tuple[float, float]] | None = None,
    visible: str = "",
) -> str:
    """Return one sentence: what can be read at the places, where it is lost, and what to try next.

    Args:
        task: Name of the task.
        scores: Place -> balanced accuracy.
        finding: What the steps say.
        best: The layer of the language model that was chosen, in words.
        recalls: Class -> its recalls in the tower and in the reply; the one that falls most is named, from `MARGIN` on.
        visible: What the replies show without any probe, which is said first.

    Example:
        >>> loss = Step("prior", CORRECTED, LIKELIHOOD, 200, -0.23, -0.31, -0.17)
        >>> scores = {TOWER: 0.97, PROJECTOR: 0.96, BEST: 0.95, CORRECTED: 0.78, REPLY: 0.55}
        >>> recalls = {"GLAUCOMA": (0.96, 0.13), "NON-GLAUCOMA": (0.98, 0.97)}
        >>> print(sentence("glaucoma", scores, Finding(loss, loss), "layer 18", recalls))
        ... # doctest: +NORMALIZE_WHITESPACE
        glaucoma: 0.97 can be read from the tower, 0.96 behind the projector, 0.95 at the best layer (layer
        18), 0.78 with the prior removed, 0.55 is answered: lost to the prior (-0.23, -0.31 to -0.17); the recall of
        GLAUCOMA falls most, from 0.96 in the tower to 0.13 in the reply; next: tune, or correct the prior
    """
    places = {place: words for place, words in _SAID.items() if place in scores}
    told = [f"{scores[p]:.2f} {words}{f' ({best})' if p == BEST else ''}" for p, words in places.items()]
    said = [f"{task}: {visible}", f"{', '.join(told)}: {_lead(scores, finding)}"]
    said = [*(said if visible else ["".join(said)]), _largest(finding), _fallen(recalls or {})]
    ceiling = next((place for place in CEILINGS if place in scores), "")
    untested = scores.get(ceiling, 0.0) < scores.get(TOWER, 1.0) <= 1 - MARGIN  # what is lost first could be lost here
    if untested:
        better = "a better supervised model than this" if ceiling else "a supervised model"
        below = f" as the {ceiling} is below it" if ceiling else ""
        said.append(f"whether the tower itself loses any is not tested{below}: add `--ceiling RUN` of {better}")
    return "; ".join(part for part in (*said, _next(finding, untested)) if part)


def _next(finding: Finding, untested: bool) -> str:
    """Return in words what to try next: for the loss, or for one before it that may be of at least `MARGIN`.

    A projector behind a tower that is not tested is not to blame yet.
    """
    before = finding.behind if finding.behind and not finding.behind.excludes_loss else None
    if tried := before or finding.loss:
        return "" if untested and tried.name in ("connection", UNUSED) else f"next: {NEXT[tried.name]}"
    if finding.times:
        return f"next: read about {finding.times} times as many images"
    return (
        "" if finding.times is None else f"{TIMES[-1]} times as many images are not expected to tell, so read no more"
    )


def _lead(scores: Mapping[str, float], finding: Finding) -> str:
    """Return in words where it is lost, why that cannot be told, or that no loss is found."""
    loss = finding.loss
    if loss is not None:
        if loss.second in PROBED:
            said = f"{'a' if finding.behind else 'first'} drop of linear readability: {_step_said(loss)}"
        else:
            said = f"lost {'to' if loss.name in (PRIOR, ACTS_LIKE) else 'in'} {_step_said(loss)}"
        may = f", which may follow from the loss before it, in {_step_said(finding.behind)}" if finding.behind else ""
        return f"{said}{may}"
    if finding.reason != NONE:
        it = "it" if finding.largest and finding.largest.is_loss else "anything, if at all,"
        return f"where {it} is lost cannot be told ({finding.reason})"
    together = scores.get(TOWER, 0.0) - scores.get(REPLY, 1.0)
    return f"{'lost in several steps together' if together >= MARGIN else 'no loss is found'} ({finding.reason})"


def _step_said(step: Step) -> str:
    name = f"the {step.name}" if step.name in (PRIOR, ACTS_LIKE) else step.name
    return f"{name} ({step.change:+.2f}, {step.low:+.2f} to {step.high:+.2f})"


def _fallen(recalls: Mapping[str, tuple[float, float]]) -> str:
    """Return in words which class falls most between tower and reply; empty if none by `MARGIN`."""
    choice = max(recalls, key=lambda name: recalls[name][0] - recalls[name][1], default="")
    before, after = recalls.get(choice, (0.0, 0.0))
    if before - after < MARGIN:
        return ""
    return f"the recall of {choice} falls most, from {before:.2f} in the tower to {after:.2f} in the reply"


def _largest(finding: Finding) -> str:
    """Return the largest fall in words, if it is a loss and not the one that is named."""
    step = finding.largest
    if step is None or step == finding.loss or not step.is_loss:
        return ""
    follows = ", which may follow from it" if finding.loss else ""
    follows = ", which the replies do not show" if finding.reason == NONE and not finding.loss else follows
    return f"the largest fall is in {step.name}, {step.change:+.2f}{follows}"


_SAID: Mapping[str, str] = _WORDS["said"]


def _one_hot(truth: Classes, classes: int, kept: NDArray[np.bool_] | None = None) -> Floats:
    made = np.zeros((len(truth), classes))
    made[np.arange(len(truth)), truth] = 1.0 if kept is None else kept
    return made


# How long a language model uses the tokens of an image, from images that were exchanged in front of its layers.
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


def prior_name(own: Sequence[Exchanged], reference: Sequence[Exchanged], unsaid: bool = False) -> str:
    """Return what a loss to the prior is called by the exchange of images in a model and in its reference.

    It is the prior where the model uses the image at least half as much as the reference, by the lower end, in front of
    every layer where the reference uses it (`FOLLOWED`). It is comprehension where it is not shown to use it at all in
    front of one of the first of these layers (at least two, at most half), and uses it less than half as much by the
    upper end: healthy models of two seeds take an image in at other depths, and one that takes it in earlier is not to
    blame. Where a model does not reply with the choice that it
    prefers, something else is damaged, and may shift the preferences too.

    Args:
        own: What exchange shows in the model, layer by layer, of preferences without the prior.
        reference: The same of another model of the architecture; empty for none.
        unsaid: Whether the replies lose what the likelihoods still have.
    """
    at = {one.layer: one.used for one in own}
    limits = [(at.get(one.layer), (one.used.value or 0.0) / 2) for one in reference if (one.used.low or 0.0) > FOLLOWED]
    early = limits[: max(2, len(limits) // 2)]
    if any(used and not (used.low or 0.0) > 0 and used.high is not None and used.high < half for used, half in early):
        return STEPS[PROJECTOR, BEST]
    follows = [bool(used and used.low is not None and used.low > half) for used, half in limits]
    return PRIOR if follows and all(follows) and not unsaid else ACTS_LIKE


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
