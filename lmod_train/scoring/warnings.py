"""Warnings about scores that would mislead a reader; each stands in the row of its score, with a sentence below.

Every check is a pure function of a `TaskOfRun` and returns the sentence, empty if there is nothing to warn about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import NormalDist

from lmod_train.core.artifacts.replies import models_of
from lmod_train.core.artifacts.training_set import BALANCED_TWICE, NOTHING_LEARNED
from lmod_train.core.types import Answer, Prediction, Score, Unparsed
from lmod_train.scoring.completeness import Account
from lmod_train.scoring.items import Item

MOST_UNPARSED = 0.05
"""Share of unparsed replies above which a score is mostly about the format."""

COLLAPSED, LEAST_ANSWERS = 0.95, 10
"""Share of one answer, and number of answers, from which a model counts as collapsed to it."""

MOSTLY_READ, MOSTLY_UNREAD = 0.8, 0.5
"""Shares of readable replies by which one answer is read and another is not."""

FEWEST = 3
"""Number of records of a class, or of failed requests about it, from which it is named."""

LOST = 0.1
"""Share of the requests about a class that may fail."""

TOLD = 0.1
"""How much better than the most frequent answer one answer per source may be."""

INCOMPLETE = "incomplete"
"""Phrase of a run in which records have no reply."""

BELOW_CHANCE = "below chance"
"""Phrase of a score that is worse than that of random answers."""

CONSTRAINED = "constrained to the choices"
"""Phrase of a run whose decoding could only give one of the choices."""

OTHERWISE, PARTLY_OTHERWISE = "asked otherwise", "partly asked otherwise"
"""Phrases of a run that was asked other words, images, choices, examples or system words than one it stands beside."""

OTHER_REPLIES = "scores of other replies"
"""Phrase of a run whose ``scores.csv`` is older than its replies, or was changed."""

SAME = 2e-6
"""Maximum difference of equal scores; ``scores.csv`` has six decimals."""

NAMED = 4
"""Maximum number of values that a sentence names."""


@dataclass(frozen=True, slots=True)
class TaskOfRun:
    """What one run has about one task.

    Attributes:
        items: The scored items.
        predictions: The predictions they were made of.
        score: The headline score; None without one.
        chance: The score of random answers; None if there is none.
        installed: Version of the task that is installed; 0 if unknown.
        leaks: Kind -> number of pairs of images in different splits, as the manifest counts them.
        elsewhere: Ids of records that are not in the curated folder; empty if there is no folder to compare with.
        stated: Scores of the run that its replies give, too: the headline score and the share of unparsed replies.
        counted: Value and n that the items have, of each of `stated`.
        pooled: Whether the replies are of several folds, whose trainings differ in length.
        own_options: Whether each question has options of its own, e.g. those of chains: they are texts, not classes.
        training: Phrase -> sentence of the warnings about the training of the model.
        otherwise: What was asked otherwise than of another run, and the share of their questions; empty for nothing.
        trained_on: Ids of records whose image or patient the model was trained on; empty if none or not known.
        failed: Items whose request failed or was not sent; no score contains them.
        balanced: Balanced accuracy; None without one.
        auroc: Area under the ROC curve of the likelihoods; None without likelihoods.
        trained_beside: Whether a model of the report was trained on records.
        account: Number of records with a reply, failed and not asked; None if the scores do not state it.
    """

    items: Sequence[Item] = ()
    predictions: Sequence[Prediction] = ()
    score: Score | None = None
    chance: float | None = None
    installed: int = 0
    leaks: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()
    stated: Sequence[Score] = ()
    counted: Sequence[tuple[float, int]] = ()
    own_options: bool = False
    pooled: bool = False
    training: Mapping[str, str] = field(default_factory=dict)
    account: Account | None = None
    trained_on: Sequence[str] = ()
    otherwise: tuple[str, float] = ("", 0.0)
    failed: Sequence[Item] = ()
    balanced: Score | None = None
    auroc: Score | None = None
    trained_beside: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning: a short fixed phrase for a table, and a sentence with the numbers."""

    phrase: str
    text: str


def warnings_of(case: TaskOfRun) -> list[Warned]:
    """Return the warnings about one task of one run, in the order of `CHECKS`."""
    return [Warned(phrase, text) for phrase, check in CHECKS.items() if (text := check(case))]


def incomplete(case: TaskOfRun) -> str:
    """Return a sentence if records have no reply of the model, as their request failed or was not sent."""
    if case.account is None or case.account.complete:
        return ""
    return f"{case.account}; scores are over the replies, and the same command asks the rest"


def other_replies(case: TaskOfRun) -> str:
    """Return a sentence if stated scores are not those of the replies: of earlier ones, or changed by hand."""
    other = [
        f"{score.subset} {score.metric} is {_number(score.value)} of {score.n}, the replies give {value:.3f} of {n}"
        for score, (value, n) in zip(case.stated, case.counted, strict=True)
        if score.n != n or (n > 0 and (score.value is None or abs(score.value - value) > SAME))
    ]
    if not other:
        return ""
    shown = "; ".join(other[:1])
    more = f", and {len(other) - 1} more" if len(other) > 1 else ""
    return f"scores.csv is not of these replies ({shown}{more}); write it again: `python -m lmod_train rescore RUN`"


def class_failed(case: TaskOfRun) -> str:
    """Return a sentence if more than `LOST` of the requests about a class failed, twice as many as about the others."""
    lost, kept = (Counter(_classes(case, items)) for items in (case.failed, case.items))
    shares = {
        word: (n, n + kept[word], lost.total() - n, lost.total() - n + kept.total() - kept[word])
        for word, n in lost.items()
    }
    found = [
        f"{n} of {of} requests about {word} ({others} of {rest} about the others)"
        for word, (n, of, others, rest) in sorted(shares.items())
        if rest and n >= FEWEST and n > LOST * of and n * rest > 2 * others * of
    ]
    return f"failed or not asked: {_few(found)}; the score is mostly of the others" if found else ""


def one_class_only(case: TaskOfRun) -> str:
    """Return a sentence if all items with a choice have the same truth."""
    truths = Counter(item.truth for item in case.items if isinstance(item.truth, str) and item.choices)
    (word, n), *others = truths.most_common() or [("", 0)]
    return f"the truth of all {n} records is {word}: the score is the share of this answer" if n and not others else ""


def one_patient_behind_a_class(case: TaskOfRun) -> str:
    """Return a sentence if all of several items of a class are of one patient, with at least two classes.

    Questions with options of their own have no classes.
    """
    if case.own_options:
        return ""
    groups: dict[str, set[str]] = {}
    truths = Counter(item.truth for item in case.items if isinstance(item.truth, str) and item.choices)
    for item in case.items:
        if isinstance(item.truth, str) and item.choices:
            groups.setdefault(item.truth, set()).add(item.group)
    single = [
        f"{word} ({truths[word]} records)" for word, own in sorted(groups.items()) if len(own) == 1 < truths[word]
    ]
    if len(groups) < 2 or not single:
        return ""
    return f"all records of one patient: {_few(single)}; what is said about this class is said about one patient"


def interval_includes_chance(case: TaskOfRun) -> str:
    """Return a sentence if the interval of the headline score includes the score of random answers."""
    score, chance = case.score, case.chance
    if score is None or chance is None or score.low is None or score.high is None:
        return ""
    if not score.low <= chance <= score.high:
        return ""
    return f"the interval {score.low:.3f}-{score.high:.3f} includes {chance:.3f}, the score of random answers"


def below_chance(case: TaskOfRun) -> str:
    """Return a sentence if the replies are readable, and the interval is below the score of random answers."""
    score, chance = case.score, case.chance
    if score is None or chance is None or score.high is None or score.high >= chance:
        return ""
    if unparsed(case) or truncated(case) or refused(case):
        return ""
    return f"the interval ends at {score.high:.3f}, below {chance:.3f} of random answers: are words of answers swapped?"


def one_answer(case: TaskOfRun) -> str:
    """Return a sentence if nearly all answers are the same, and the truths are not."""
    answers = Counter(chain.from_iterable(_words(item.answer) for item in case.items))
    truths = Counter(chain.from_iterable(_words(item.truth) for item in case.items))
    n = answers.total()
    if n < LEAST_ANSWERS or max(truths.values(), default=0) >= COLLAPSED * truths.total():
        return ""
    word, most = answers.most_common(1)[0]
    if most < COLLAPSED * n:
        return ""
    return f"{most} of {n} answers are {word[:60]}, which is the truth of {truths[word]} of {truths.total()}"


def class_never_answered(case: TaskOfRun) -> str:
    """Return a sentence if a class of several records is never answered, and others are."""
    truths = Counter(_classes(case, case.items))
    given = Counter(item.answer for item in case.items if isinstance(item.answer, str))
    missing = {word: n for word, n in sorted(truths.items()) if n >= FEWEST and not given[word]}
    never = [f"{word} ({n} of {truths.total()} records)" for word, n in missing.items()]
    if not never or given.total() < LEAST_ANSWERS or one_answer(case) or one_answer_unread(case):
        return ""
    return f"{_few(never)} is never the answer: the score says how well the model tells the other classes apart"


def source_tells(case: TaskOfRun) -> str:
    """Return a sentence if one answer per source, camera or modality is right much more often than one to all.

    Each record is answered with the most frequent truth of the *other* records of its source, within each kind of
    question, so that few records of many sources do not tell their own truths.
    """
    known = [item for item in case.items if isinstance(item.truth, str) and item.choices and not case.own_options]
    to_all = _share_told([((item.variant,), item.truth) for item in known], own=0)
    told = {name: _share_told([((i.variant, of(i)), i.truth) for i in known], own=1) for name, of in _ORIGINS.items()}
    name = max(told, key=lambda one: told[one])
    if told[name] <= to_all + TOLD:
        return ""
    return (
        f"one answer per {name} would be right in {100 * told[name]:.0f} % of the records, and one to all in "
        f"{100 * to_all:.0f} %: is the disease seen, or where the image comes from?"
    )


_ORIGINS: Mapping[str, Callable[[Item], str]] = {
    "source": lambda item: item.source,
    "camera": lambda item: item.patient.camera or "",
    "modality": lambda item: item.modality,
}
"""Where an image comes from, by name."""


def _share_told(cells: Sequence[tuple[Hashable, Answer]], own: int) -> float:
    """Return the share of records, each (place, truth), whose truth is the most frequent one of its place.

    Args:
        cells: The records.
        own: 1 to leave each record itself out of what is counted for it, 0 to count it.
    """
    counts: dict[Hashable, Counter[Answer]] = {}
    for place, truth in cells:
        counts.setdefault(place, Counter())[truth] += 1
    right = 0
    for of_place in counts.values():
        (_, most), (_, second) = [*of_place.most_common(2), ("", 0)][:2]
        right += most if not own or most - own > second else 0
    return right / max(len(cells), 1)


def _classes(case: TaskOfRun, items: Iterable[Item]) -> Iterator[str]:
    """Yield the true class of each item that has one; questions with options of their own have none."""
    yield from (i.truth for i in items if isinstance(i.truth, str) and i.choices and not case.own_options)


def unparsed(case: TaskOfRun) -> str:
    """Return a sentence if more replies than `MOST_UNPARSED` have no answer that the parser finds."""
    reasons = Counter(i.answer.reason for i in case.items if i.status == "unparsed" and isinstance(i.answer, Unparsed))
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    many = _many(case, "unparsed")
    return f"no answer is found in {many} ({listed}), which count as wrong" if many else ""


def truncated(case: TaskOfRun) -> str:
    """Return a sentence if more replies than `MOST_UNPARSED` were cut off before an answer."""
    many = _many(case, "truncated")
    text = f"{many} end at max_new_tokens before an answer, and count as wrong: ask again with a larger limit"
    return text if many else ""


def refused(case: TaskOfRun) -> str:
    """Return a sentence if the model or its service declined to answer more questions than `MOST_UNPARSED`."""
    many = _many(case, "refused")
    return f"{many} refuse to answer, or were withheld by the service, and count as wrong" if many else ""


def _many(case: TaskOfRun, status: str) -> str:
    """Return how many replies have a status, as text; empty if their share is at most `MOST_UNPARSED`."""
    n = sum(item.status == status for item in case.items)
    return f"{n} of {len(case.items)} replies" if n > MOST_UNPARSED * len(case.items) else ""


def one_answer_unread(case: TaskOfRun) -> str:
    """Return a sentence if the parser reads one of the answers and hardly another, or a class is never given.

    What a reply without a readable answer meant is unknown; its truth stands for it. Classes with fewer than
    `LEAST_ANSWERS` records, or with less than half of an equal share of them, do not count.
    """
    if case.own_options:
        return ""
    read: dict[str, list[bool]] = {}
    for item in case.items:
        if isinstance(item.truth, str) and item.choices:
            read.setdefault(item.truth, []).append(not isinstance(item.answer, Unparsed))
    given = Counter(item.answer for item in case.items if isinstance(item.answer, str))
    least = max(LEAST_ANSWERS, sum(map(len, read.values())) / max(2 * len(read), 1))
    shares = {truth: sum(own) / len(own) for truth, own in sorted(read.items()) if len(own) >= least}
    if len(shares) < 2:
        return ""
    best, worst = max(shares, key=lambda truth: shares[truth]), min(shares, key=lambda truth: shares[truth])
    if shares[best] >= MOSTLY_READ and shares[worst] <= MOSTLY_UNREAD:
        stated = f"{100 * shares[best]:.0f} % of the replies are read where the truth is {best}"
        other = f"{100 * shares[worst]:.0f} % where it is {worst}"
        return f"{stated}, and {other}: is one answer written in a form of its own?"
    never = [truth for truth in shares if not given[truth]]
    unread = sum(map(len, read.values())) - given.total()
    if never and given.total() >= LEAST_ANSWERS and unread > (1 - COLLAPSED) * (given.total() + unread):
        return f"{_few(never)} is never read as an answer, and {unread} replies are not read"
    return ""


def leak(case: TaskOfRun) -> str:
    """Return a sentence if the manifest counts pairs of images in different splits."""
    found = {kind: n for kind, n in case.leaks.items() if n}
    if not found:
        return ""
    listed = ", ".join(f"{kind} {n}" for kind, n in found.items())
    return (
        f"the manifest counts pairs of images in different splits ({listed}): training images may be among the tested"
    )


def trained_on_these(case: TaskOfRun) -> str:
    """Return a sentence if the model was trained on images or patients of the records that it answers."""
    n = len(case.trained_on)
    if not n:
        return ""
    found = f"{n} of {len(case.predictions)} records belong to the training of the model, e.g. {case.trained_on[0]}"
    return f"{found}: the score is no estimate for new patients; ask those in unseen.txt of the run by --data.subset"


def training_split(case: TaskOfRun) -> str:
    """Return a sentence if records are of the training split, and all are, or a model of the report was trained."""
    n = sum(p.record.split == "train" for p in case.predictions)
    if not n or trained_on_these(case) or not (case.trained_beside or n == len(case.predictions)):
        return ""
    found = f"{n} of {len(case.predictions)} records are of the training split"
    return f"{found}: the score of a model that was trained on it is no estimate for new patients"


def other_folder(case: TaskOfRun) -> str:
    """Return a sentence if records are not in the curated folder of the run."""
    n = len(case.elsewhere)
    if not n:
        return ""
    return f"{n} of {len(case.predictions)} records are not in the curated folder, e.g. {case.elsewhere[0]}"


def other_version(case: TaskOfRun) -> str:
    """Return a sentence if records were asked by another version of the task than the installed one."""
    versions = Counter(p.record.task_version for p in case.predictions)
    other = {version: n for version, n in sorted(versions.items()) if case.installed and version != case.installed}
    if not other:
        return ""
    asked = ", ".join(f"{n} by version {version}" for version, n in other.items())
    return f"asked {asked} of the task; installed is version {case.installed}: questions or answers may differ"


def mixed_settings(case: TaskOfRun) -> str:
    """Return a sentence if the replies are of several models, checkpoints or generation settings.

    Requests that failed or that a filter withheld state neither model nor settings of the server.
    """
    own = [p.reply for p in case.predictions if p.status != "failed"]
    replies = [r for r in own if r.finish_reason != "content_filter"] or own
    several = {
        "models": len(models_of(replies)),
        "checkpoint steps": 1 if case.pooled else len({r.step for r in replies}),
        "generation settings": len({r.settings for r in replies}),
    }
    listed = ", ".join(f"{n} {name}" for name, n in several.items() if n > 1)
    return f"the replies are of {listed}" if listed else ""


def part_of_the_likelihoods(case: TaskOfRun) -> str:
    """Return a sentence if some replies have likelihoods and others have none."""
    given = sum(bool(item.likelihoods) for item in case.items)
    if given in (0, len(case.items)):
        return ""
    return f"{given} of {len(case.items)} replies have likelihoods; curves and calibration are of these only"


def likelihoods_rank(case: TaskOfRun) -> str:
    """Return a sentence if the likelihoods of two classes rank the records better than the answers tell.

    Two normal distributions with an area A under the ROC curve give a balanced accuracy of Φ(Φ⁻¹(A) / √2) at the
    best threshold (Green and Swets, 1966); the lower end of A must promise `LOST` more than the answers reach.
    """
    area, balanced = case.auroc, case.balanced
    if area is None or balanced is None or area.low is None or balanced.value is None:
        return ""
    normal = NormalDist()
    promised = normal.cdf(normal.inv_cdf(min(max(area.low, 0.5), 1 - 1e-9)) / math.sqrt(2))
    if len(set(_classes(case, case.items))) != 2 or promised < (balanced.high or balanced.value) + LOST:
        return ""
    reached = f"AUROC {area.value:.3f} ({area.low:.3f}-{area.high:.3f}), balanced accuracy {balanced.value:.3f}"
    return f"the likelihoods rank the classes better than the answers tell: {reached}; another threshold is better"


def constrained(case: TaskOfRun) -> str:
    """Return a sentence if the decoding of replies could only give one of the choices."""
    n = sum(p.reply.constrained for p in case.predictions)
    of = f"{n} of {len(case.predictions)} replies could only be one of the choices"
    return f"{of}: what the model would say freely, and in which form, is not tested" if n else ""


def asked_otherwise(case: TaskOfRun) -> str:
    """Return a sentence if more than half of the questions were asked otherwise than of a run beside it."""
    text, share = case.otherwise
    return text if share > MOSTLY_UNREAD else ""


def partly_asked_otherwise(case: TaskOfRun) -> str:
    """Return a sentence if some questions were asked otherwise than of a run beside it."""
    text, share = case.otherwise
    return text if 0 < share <= MOSTLY_UNREAD else ""


def nothing_learned(case: TaskOfRun) -> str:
    """Return a sentence if the training loss never left that of a model that knows nothing."""
    return case.training.get(NOTHING_LEARNED, "")


def balanced_twice(case: TaskOfRun) -> str:
    """Return a sentence if rare classes were both weighted and drawn more often in the training."""
    return case.training.get(BALANCED_TWICE, "")


CHECKS: dict[str, Callable[[TaskOfRun], str]] = {
    INCOMPLETE: incomplete,
    "requests of a class failed": class_failed,
    OTHER_REPLIES: other_replies,
    "one class only": one_class_only,
    "one patient behind a class": one_patient_behind_a_class,
    "interval includes chance": interval_includes_chance,
    BELOW_CHANCE: below_chance,
    "one answer to all": one_answer,
    "class never answered": class_never_answered,
    "source or camera tells the class": source_tells,
    NOTHING_LEARNED: nothing_learned,
    BALANCED_TWICE: balanced_twice,
    "unparsed above 5 %": unparsed,
    "truncated above 5 %": truncated,
    "refused above 5 %": refused,
    "one answer not read": one_answer_unread,
    "trained on these records": trained_on_these,
    "records of the training split": training_split,
    "leak between splits": leak,
    "records of another folder": other_folder,
    "other task version": other_version,
    CONSTRAINED: constrained,
    OTHERWISE: asked_otherwise,
    PARTLY_OTHERWISE: partly_asked_otherwise,
    "mixed settings": mixed_settings,
    "likelihoods of a part": part_of_the_likelihoods,
    "likelihoods rank better": likelihoods_rank,
}
"""Phrase -> check."""


def _words(answer: Answer | Unparsed) -> Iterator[str]:
    """Yield an answer as text, or that of each region; none if there is no answer."""
    if isinstance(answer, Mapping):
        yield from answer.values()
    elif not isinstance(answer, Unparsed):
        yield str(answer)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more
