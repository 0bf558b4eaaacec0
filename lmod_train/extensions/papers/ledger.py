"""The ledger: every printed number of a run's model beside the run's score, by protocol, with printed relations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.model_facts import PAPERS as PAPERS_MODEL_FACTS
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.tables import Cell, Column, table
from lmod_train.core.types import Score
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.extensions.papers.printed import (
    PAPERS,
    Printed,
    State,
    canonical_names,
    first_match,
    models_of_run,
    printed,
    read_table,
    state_of,
)
from lmod_train.report.contents import Part, Text, heads, noted, texts
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.association import independence
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import age_group
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.conditions import variant_of
from lmod_train.tasks.run_scores import RunScores
from lmod_train.tasks.wordings import digests_of

_TEXTS, _HEADS = texts(__file__), heads(__file__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One printed number beside the score of a run.

    Attributes:
        run: Label of the run.
        cell: The printed number.
        protocol: How it was obtained.
        score: The run's score.
        here: How the score was obtained.
        found: How the two compare.
    """

    run: str
    cell: Printed
    protocol: Protocol
    score: Score
    here: Measured
    found: Found


def entries(results: Results) -> Iterator[Entry]:
    """Yield an entry for each printed number that a run has a score for, run by run, in the order of the papers.

    A printed number belongs to a run if its row is of the run's model and the run has the metric on these items. Tasks
    with records of phantoms have no entries.
    """
    drawn = phantom_tasks(results.outcomes)
    for name, run in zip(results.names, results.runs, strict=True):
        yield from _entries_of(name, run, results.outcomes[name], manifest_of(results.images[name]), drawn)


def _entries_of(
    name: str, run: RunScores, outcomes: Outcomes, manifest: Mapping[str, Any], drawn: set[str]
) -> Iterator[Entry]:
    known: dict[tuple[str, str], Measured] = {}
    for cell in cells_of(models_of_run(run.model)):
        protocol = protocol_of(cell)
        if protocol is None or protocol.task in drawn or not (items := outcomes.items.get(protocol.task)):
            continue
        part = protocol.task, protocol.asked
        if part not in known:
            known[part] = conditions(outcomes, manifest, protocol)
        here = known[part]
        score = find_score(run, protocol, here.n, len(items))
        if score is not None:
            here = replace(here, value=score.value, low=score.low, high=score.high)
            yield Entry(name, cell, protocol, score, here, compare(cell, protocol, here))


def cells_of(models: Collection[str]) -> Iterator[Printed]:
    """Yield all printed numbers of models, given by their names in all papers."""
    names = canonical_names()
    cells = (cell for paper in PAPERS for cell in printed(paper))
    yield from (c for c in cells if c.value and names.get((c.paper, c.model)) in models)


def unknown_models(results: Results) -> list[str]:
    """Return the labels of the runs whose model is in no paper."""
    return [n for n, run in zip(results.names, results.runs, strict=True) if not models_of_run(run.model)]


# How the scores of a run were obtained, as far as its files and the curated folder record it.
_KEYS: Mapping[str, Callable[[Item], str]] = {
    "modality": lambda item: item.modality,
    "source": lambda item: item.source,
    "condition": lambda item: item.variant,
    "language": lambda item: item.language,
}

IN_POINTS = ("uas",)
"""Metrics whose scores are points, at most 100, and printed as percentages."""


def find_score(run: RunScores, protocol: Protocol, n: int, of: int) -> Score | None:
    """Return the run's score that is defined as the printed one, points as fractions; None if it has none.

    A subset that contains all items of a run is not in its scores: it is ``all``.

    Args:
        run: The run's scores.
        protocol: How the printed score was obtained.
        n: Number of the run's items in the part that `protocol` asks about.
        of: Number of all its items of the task.
    """
    if not n:
        return None
    score = run.find(protocol.task, protocol.metric, protocol.subset)
    whole = protocol.subset == protocol.asked and n == of
    score = run.find(protocol.task, protocol.metric) if score is None and whole else score
    return _as_fraction(score) if score is not None and score.metric in IN_POINTS else score


def _as_fraction(score: Score) -> Score:
    value, low, high = (None if v is None else v / 100 for v in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


def items_of_part(items: Sequence[Item], part: str) -> list[Item]:
    """Return the items of a part, ``all`` or ``key=value`` with modality, source, condition or language as key."""
    key, _, value = part.partition("=")
    return [item for item in items if part == "all" or _KEYS[key](item) == value]


def conditions(outcomes: Outcomes, manifest: Mapping[str, Any], protocol: Protocol) -> Measured:
    """Return how a run's scores of a task were obtained, without a score.

    Args:
        outcomes: The run's predictions and items.
        manifest: Manifest of the curated folder of its records; empty if it is not known.
        protocol: How the printed score was obtained.
    """
    items = items_of_part(outcomes.items[protocol.task], protocol.asked)
    balanced = bool((manifest.get("balance") or {}).get(protocol.task)) if "protocol" in manifest else None
    split, changed = _split(outcomes, items), _changed(outcomes, protocol.task)
    name, sources = str(manifest.get("protocol") or ""), Counter(item.source for item in items)
    words = _words(outcomes, protocol.task, {item.id for item in items})
    return Measured(None, None, None, len(items), split, balanced, name, changed, words, sources)


def _words(outcomes: Outcomes, task: str, ids: Set[str]) -> frozenset[str]:
    """Return the digests of the templates with which some records of a task were asked."""
    wordings = outcomes.tasks[task].wordings
    asked = {p.record.messages: p.record for p in outcomes.predictions if p.record.id in ids}
    return frozenset().union(*(digests_of(record, wordings) for record in asked.values()))


def manifest_of(curated: Path | None) -> Mapping[str, Any]:
    """Return the manifest of a curated folder; empty if the folder is not known or has no readable one."""
    try:
        return read_manifest(curated) if curated else {}
    except ArtifactError:
        return {}


def _split(outcomes: Outcomes, items: Sequence[Item]) -> str:
    """Return the split of the items, ``all`` if the run asked for all or has items of several."""
    data = outcomes.config.get("data") or {}
    splits = {item.split for item in items}
    asked = (data.get("init_args") or data).get("split")
    return "all" if asked == "all" or len(splits) > 1 else next(iter(splits), "")


def _changed(outcomes: Outcomes, task: str) -> str:
    """Return what makes the run's model or questions others than the printed ones; empty if nothing does."""
    own = [p for p in outcomes.predictions if p.record.task == task]
    steps = {p.reply.step for p in own} - {0}
    otherwise = any(p.record.id != question_of(p.record.id, p.record.tags) for p in own)
    trained = f"weights (trained here for {max(steps):,} steps)" if steps else ""
    return "; ".join(filter(None, (trained, "questions (asked in other ways than printed)" if otherwise else "")))


# Comparison of a score measured here with a printed one that was obtained in the same way.
Relation = Literal["same", "different within interval", "different", "cannot be told", "refused"]

RELATIONS: tuple[Relation, ...] = ("same", "different within interval", "different", "cannot be told", "refused")


@dataclass(frozen=True, slots=True)
class Measured:
    """A score measured here, and how it was obtained.

    Attributes:
        value: The score; None if it is not defined.
        low: Lower bound of its 95 % interval, None without one.
        high: Upper bound.
        n: Number of items asked.
        split: Split of the items; ``all`` for all splits.
        balanced: Whether the classes were balanced; None if not recorded.
        protocol: Protocol of the curated folder; empty if not recorded.
        changed: What else differs from the printed model or question, e.g. trained weights; empty if nothing.
        words: Digests of the templates of the questions, with an empty text for other questions.
        sources: Source -> number of items.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    split: str
    balanced: bool | None
    protocol: str
    changed: str = ""
    words: frozenset[str] = frozenset()
    sources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a comparison.

    Attributes:
        relation: ``same`` if both are equal in the printed digits, rounded or cut off; ``different within interval`` if
            the printed number lies in the interval of the measured one, within its rounding; otherwise ``different``.
            ``refused`` if the two were obtained in different ways, ``cannot be told`` if that or the interval is not
            known.
        why: Reasons of the last two relations; empty for the others.
        remark: What a reader of the relation must know about the printed number.
    """

    relation: Relation
    why: str
    remark: str


def compare(cell: Printed, protocol: Protocol, measured: Measured) -> Found:
    """Return how a measured score compares with a printed one.

    Args:
        cell: The printed number.
        protocol: How it was obtained.
        measured: The score measured here, in the metric that `protocol` names.
    """
    state = state_of(cell)
    remark = "; ".join(filter(None, (_caution(state), protocol.note, _place(protocol, measured))))
    if differing := "; ".join(_differences(state, protocol, measured)):
        return Found("refused", differing, remark)
    if unknown := "; ".join(_unknown(cell, protocol, measured)):
        return Found("cannot be told", unknown, remark)
    return Found(_relation(cell, measured), "", remark)


def _caution(state: State) -> str:
    return f"the printed cell is inconsistent in its source: {state.why}" if state.name == "source inconsistent" else ""


def _place(protocol: Protocol, measured: Measured) -> str:
    """Return where the words that were asked are printed, if the paper prints several."""
    places = sorted({place for words in measured.words if (place := protocol.words.get(words))})
    return f"asked here in the words of {' and '.join(places)}" if places else ""


def _differences(state: State, protocol: Protocol, measured: Measured) -> Iterator[str]:
    if state.name in ("other protocol", "not comparable"):
        yield f"definition ({state.why})"
    if measured.changed:
        yield measured.changed
    if protocol.words and not measured.words <= protocol.words.keys():
        yield "words (asked in other words)"
    others = ", ".join(_other_counts(protocol.sources, measured.sources)) if protocol.sources else ""
    if others or (protocol.n is not None and protocol.n != measured.n):
        yield f"n ({protocol.n:,} in the paper, {measured.n:,} here{': ' if others else ''}{others})"
    if protocol.split != measured.split:
        yield f"split ({protocol.split} in the paper, {measured.split} here)"
    if None not in (protocol.balanced, measured.balanced) and protocol.balanced != measured.balanced:
        yield f"balance ({_balanced_words(protocol.balanced)} in the paper, {_balanced_words(measured.balanced)} here)"
    if protocol.names and measured.protocol and measured.protocol not in protocol.names:
        yield f"protocol ({protocol.names[0]} in the paper, {measured.protocol} here)"


def _other_counts(printed: Mapping[str, int], here: Mapping[str, int]) -> Iterator[str]:
    """Yield the sources that have another number of images than printed, and by how many."""
    for source in dict.fromkeys((*printed, *here)):
        more = here.get(source, 0) - printed.get(source, 0)
        if more:
            yield f"{source} {abs(more):,} {'more' if more > 0 else 'fewer'}"


def _balanced_words(balanced: bool | None) -> str:
    return "balanced" if balanced else "not balanced"


def _unknown(cell: Printed, protocol: Protocol, measured: Measured) -> Iterator[str]:
    if protocol.n is None:
        yield "n is not printed"
    if protocol.unknown:
        yield protocol.unknown
    if measured.balanced is None or not measured.protocol:
        yield "balance or protocol of the curated folder is not recorded"
    if measured.value is None or cell.number is None:
        yield "one of the two has no value"
    elif not cell.equals(measured.value) and (measured.low is None or measured.high is None):
        yield "the score here has no interval"


def _relation(cell: Printed, measured: Measured) -> Relation:
    number = cell.number
    assert number is not None and measured.value is not None
    if cell.equals(measured.value):
        return "same"
    assert measured.low is not None and measured.high is not None
    inside = measured.low - cell.rounding <= number <= measured.high + cell.rounding
    return "different within interval" if inside else "different"


# How a printed result was obtained, and which score of this package is defined in the same way.
_LEVELS = {"resident": "R", "attending": "A", "specialist": "S"}
"""Level of expertise, as printed -> tag ``level`` of the records."""

_LANGUAGES = {"CN": "zh", "EN": "en"}
"""End of a subset's name, as printed -> language of the records."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a printed result was obtained.

    Attributes:
        task: Task of this package.
        metric: Metric of this package with the same definition.
        subset: Subset of the scores, as in ``scores.csv``.
        asked: Part of `subset` that chooses which items are asked, without a stage or level; ``all`` for all.
        names: Protocols whose curated folders ask the same questions of the same sources; empty if not stated.
        words: Digest of each printed template (`lmod_train.tasks.wordings.digest_of`) -> where it is printed, empty if
            only one is; empty if none is printed.
        sources: Source -> number of its images among the items, where the paper states it.
        n: Number of items asked; None if it is neither printed nor follows from printed numbers.
        split: Split of the items: ``all`` or ``test``.
        balanced: Whether all classes have equally many items; None if not stated.
        unknown: What else about the definition is not stated; empty if nothing.
        note: Remark needed to interpret the score.
    """

    task: str
    metric: str
    subset: str
    asked: str
    names: tuple[str, ...]
    words: Mapping[str, str]
    sources: Mapping[str, int]
    n: int | None
    split: str
    balanced: bool | None
    unknown: str
    note: str


@cache
def protocol_of(cell: Printed) -> Protocol | None:
    """Return how a printed result was obtained: the first matching row of ``protocols.csv``, None if there is none.

    Example:
        >>> found = protocol_of(Printed("lmod_naacl", "Table 2", "GPT-4o", "glaucoma_diagnosis", metric="accuracy"))
        >>> found.metric, found.n, found.balanced
        ('accuracy_answered', 336, True)
    """
    row = first_match(read_table("protocols"), cell)
    if row is None or not row["our_task"]:
        return None
    n, balanced = row["n"], {"yes": True, "no": False, "": None}[row["balanced"]]
    asked = _subset(row["by"].removesuffix("stage").removesuffix("level").removesuffix(";"), cell)
    return Protocol(
        row["our_task"],
        row["our_metric"],
        _subset(row["by"], cell),
        asked,
        tuple(filter(None, row["protocol"].split("|"))),
        {digest: place for digest, _, place in (w.partition("=") for w in row["words"].split("|")) if digest},
        _sources(cell) if row["our_task"] == "anatomy" and n else {},
        int(n) if n else None,
        row["split"],
        balanced,
        row["unknown"],
        row["remark"],
    )


def _sources(cell: Printed) -> dict[str, int]:
    """Return the printed number of images of each source that a cell about regions is over."""
    found = {source_of(c): c for c in images_of_sources(cell.paper)}
    own = {source_of(cell)} & found.keys()
    return {s: int(c.value) for s, c in found.items() if s in (own or found) and cell.modality in ("all", c.modality)}


def images_of_sources(paper: str) -> Iterator[Printed]:
    """Yield the printed numbers of images of single sources."""
    for cell in printed(paper):
        if cell.metric == "num_images" and cell.modality not in ("", "all") and "+" not in cell.dataset_or_subset:
            yield cell


def source_of(cell: Printed) -> str:
    """Return what a cell is over as the name of a source in this package.

    Example:
        >>> source_of(Printed("lmod_plus", "text", dataset_or_subset="Harvard FairSeg"))
        'fairseg'
    """
    return re.sub("[^a-z0-9]", "_", cell.dataset_or_subset.lower().removeprefix("harvard "))


def _subset(by: str, cell: Printed) -> str:
    """Return the subset of ``scores.csv`` that a cell is over, by the kinds of subset, e.g. ``modality;stage``."""
    if ";" in by:
        return ";".join(_subset(one, cell) for one in by.split(";"))
    values = {
        "": "",
        "modality": "" if cell.modality in ("all", "macro_avg") else cell.modality,
        "stage": cell.stage_or_class.removeprefix("stage ").replace("overall", ""),
        "level": _LEVELS.get(cell.stage_or_class, ""),
        "source": cell.dataset_or_subset.lower(),
        "condition": _condition(cell.dataset_or_subset),
        "language": _LANGUAGES.get(cell.dataset_or_subset.rpartition("_")[2], ""),
    }
    return f"{by}={values[by]}" if values[by] else "all"


def _condition(short: str) -> str:
    """Return the condition with a short form, in the spelling of subsets; empty if there is none."""
    return next((variant_of(f.condition) for f in FINDINGS if f.short.lower() == short.lower()), "")


# p values of subgroups as in LMOD's Tables 7 and 8: whether being right depends on age group or sex.
GROUPS: Mapping[str, tuple[Callable[[Item], str], tuple[str, ...]]] = {
    "subgroup_age_p": (lambda item: age_group(item.patient.age), ("18-40", "40-60", "60+")),
    "subgroup_sex_p": (lambda item: item.patient.sex or "", ("male", "female")),
}
"""Task in the paper -> function that returns an item's group, and the groups that are compared."""


def subgroup_p(items: Sequence[Item], task: str) -> float | None:
    """Return the p value of equal accuracy in the groups: chi-square, or Fisher's exact test for small expected counts.

    Items are taken as independent, and an image is right if all its regions are. Patients under 18 and those of unknown
    age or sex are in no group.

    Args:
        items: Items of one task.
        task: A key of `GROUPS`.

    Returns:
        None with fewer than two groups that have items, or if all items are right or none is: then nothing can be
        tested, and the paper prints N/A for models without a right answer.
    """
    group_of, names = GROUPS[task]
    right = [sum(item_score(i) == 1 for i in items if group_of(i) == name) for name in names]
    sizes = [sum(group_of(i) == name for i in items) for name in names]
    found = independence(right, sizes) if 0 < sum(right) < sum(sizes) else None
    return None if found is None else found.p


# Comparison of the runs with the printed numbers of their models, by protocol.
class Ledger(Section):
    """How the scores of runs relate to the printed numbers of their models.

    Args:
        papers: Names of the papers, e.g. ``lmod_plus``; None compares with all.
    """

    title: ClassVar[str] = "Comparison with the papers"
    name: ClassVar[str] = "ledger"

    def __init__(self, papers: list[str] | None = None) -> None:
        if unknown := [name for name in papers or () if name not in PAPERS_MODEL_FACTS]:
            cure = "correct the report's config"
            raise BadArgument("papers", unknown, f"names among {', '.join(PAPERS_MODEL_FACTS)}", cure)
        self.papers = papers or list(PAPERS_MODEL_FACTS)

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the counts of relations, the comparable numbers, and the refused ones by reason."""
        found = [entry for entry in entries(results) if entry.cell.paper in self.papers]
        yield from (Text(line) for line in _left_out(results))
        kinds = Counter((e.run, PAPERS_MODEL_FACTS[e.cell.paper], e.found.relation) for e in found)
        counts: list[list[Cell]] = [
            [*of, *(kinds[*of, r] for r in RELATIONS)] for of in dict.fromkeys(kind[:2] for kind in kinds)
        ]
        compared = [_compared(e) for e in found if e.found.relation != "refused"]
        refused = Counter(
            (e.run, _where(e.cell), e.protocol.task, e.found.why) for e in found if e.found.relation == "refused"
        )
        yield from noted(
            _TEXTS["note"],
            table("ledger", ["run", "paper", *(Column(relation, "count") for relation in RELATIONS)], counts),
            table("ledger_cells", _HEADS["compared"], compared, "Numbers", _TEXTS["digits"]),
            table("ledger_refused", _HEADS["refused"], [[*key, n] for key, n in refused.items()], "Refused"),
        )


def _left_out(results: Results) -> Iterator[str]:
    if drawn := sorted(phantom_tasks(results.outcomes)):
        yield f"Not compared, as they have records of phantoms: {', '.join(drawn)}."
    if unknown := unknown_models(results):
        yield f"Not compared, as the papers have no row of this model name: {', '.join(unknown)}."


def _compared(e: Entry) -> list[Cell]:
    """Return an entry in the unit and with the digits of the printed number."""
    low, high = (None if v is None else v * e.cell.scale for v in (e.score.low, e.score.high))
    here = None if e.score.value is None else e.cell.as_printed(e.score.value)
    numbers: list[Cell] = [e.protocol.metric, e.cell.value, state_of(e.cell).name, here, (low, high), e.here.n]
    said = "; ".join(filter(None, (e.found.why, e.found.remark)))
    return [e.run, _where(e.cell), _what(e.cell), *numbers, e.found.relation, said]


def _where(cell: Printed) -> str:
    return f"{PAPERS_MODEL_FACTS[cell.paper]}, {cell.table}"


def _what(cell: Printed) -> str:
    part = [cell.modality if cell.modality != "all" else "", cell.stage_or_class.replace("overall", "")]
    target = cell.dataset_or_subset if cell.task in ("rejection_rate", "supervised_baseline") else ""
    return " ".join(filter(None, (cell.model + ":", cell.task, target, *part, cell.metric)))
