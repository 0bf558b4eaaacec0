"""Draw the same number of questions from every class, as the published sets were drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lmod_train.core.shuffling import shuffle_key

Over = Literal["split", "all", "source"]
"""Whether every split is balanced by itself, a task as a whole, or every source within every split."""

Cell = tuple[str, ...]
"""Task, language, split (or ``all``), variant, and source where that is balanced: what is balanced by itself."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be drawn.

    Attributes:
        task: Name of the task.
        language: Of the question.
        split: Of the sample; a drawn question keeps it.
        variant: Of the question.
        stratum: Class; balanced against the other classes of its cell.
        source: Source of the sample.
        key: Key of the sample within the source.
        group: Patient or augmentation family.
        classes: Every class that the question could be of; empty where its task does not state them.
    """

    task: str
    language: str
    split: str
    variant: str
    stratum: str
    source: str
    key: str
    group: str
    classes: tuple[str, ...] = ()


def draw(candidates: Sequence[Candidate], seed: int, over: Over = "split") -> tuple[set[int], list[dict[str, Any]]]:
    """Return the positions drawn, and an account of each cell for the manifest.

    The smallest class present in a cell sets n for all its classes; n items of each class are drawn by seed. A cell
    is a task in one language and variant, and in one split or over ``all`` of them: the published counts (19 x 4 = 76
    macular holes, 168 + 168 = 336 glaucoma) are of whole tasks, and a class that lies in one patient is missing from
    two splits of three. The draw depends on the sample alone, so that two languages of a task ask about the same
    images. A class that the task states, or has elsewhere, but not in the cell is named in the account as ``missing``.
    Items are what is balanced, as published; the account states how many patients (groups) they come from.

    Balanced over several sources together, a task can be answered by the source: one that is mostly ill draws mostly
    ill images. ``source`` balances each within itself; where a task has several, a source that has not all classes
    found in it is left out, and so is a cell with one class alone: their accounts have ``left_out`` with the reason.

    Args:
        candidates: In any order; the result does not depend on it.
        seed: Of the draw.
        over: What a cell spans.

    Returns:
        Positions in `candidates`, and one account a cell, sorted; both empty for no candidates.
    """
    cells: defaultdict[Cell, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    stated: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # classes of a task and variant, stated or seen
    for i, c in enumerate(candidates):
        cells[_cell(c, over)][c.stratum].append(i)
        stated[c.task, c.variant].update((c.stratum, *c.classes))
    several = _sources(candidates)
    lacks = lacking(candidates)
    drawn: set[int] = set()
    accounts = []
    for cell in sorted(cells):
        strata = cells[cell]
        mixed = over == "source" and len(several[cell[0], cell[3]]) > 1
        left_out = _left_out(cell, strata, lacks) if mixed else ""
        n = 0 if left_out else min(len(members) for members in strata.values())
        kept = {
            stratum: sorted(members, key=lambda i: _draw_key(candidates[i], seed))[:n]
            for stratum, members in strata.items()
        }
        drawn.update(i for members in kept.values() for i in members)
        before = {stratum: len(members) for stratum, members in sorted(strata.items())}
        missing = sorted(stated[cell[0], cell[3]] - set(strata))
        origin = _origin({s: [candidates[i] for i in members] for s, members in sorted(kept.items())})
        accounts.append(
            {"cell": list(cell), "over": over, "n_per_class": n, "before": before, "missing": missing, **origin}
            | ({"left_out": left_out} if left_out else {})
        )
    return drawn, accounts


def lacking(candidates: Iterable[Candidate]) -> dict[tuple[str, str, str], list[str]]:
    """Return (task, variant, source) -> classes it lacks, of those that other sources of the task have.

    Example:
        >>> ill, well = (Candidate("glaucoma", "en", "train", "", s, "refuge", s, s) for s in ("yes", "no"))
        >>> lacking([ill, well, Candidate("glaucoma", "en", "train", "", "no", "g1020", "1", "1")])
        {('glaucoma', '', 'g1020'): ['yes']}
    """
    return {
        (task, variant, source): sorted(missing)
        for (task, variant), sources in sorted(_sources(candidates).items())
        for source, classes in sorted(sources.items())
        if (missing := set[str]().union(*sources.values()) - classes)
    }


def _sources(candidates: Iterable[Candidate]) -> dict[tuple[str, str], dict[str, set[str]]]:
    """Return (task, variant) -> source -> classes it has."""
    found: defaultdict[tuple[str, str], dict[str, set[str]]] = defaultdict(dict)
    for c in candidates:
        found[c.task, c.variant].setdefault(c.source, set()).add(c.stratum)
    return found


def _cell(candidate: Candidate, over: Over) -> Cell:
    split = "all" if over == "all" else candidate.split
    cell = candidate.task, candidate.language, split, candidate.variant
    return (*cell, candidate.source) if over == "source" else cell


def _left_out(
    cell: Cell, strata: Mapping[str, Sequence[int]], lacks: Mapping[tuple[str, str, str], Sequence[str]]
) -> str:
    """Return why a cell of one source gives nothing; empty where it does."""
    if missing := lacks.get((cell[0], cell[3], cell[4])):
        return f"the source has no {', '.join(missing)}"
    return f"no class but {next(iter(strata))} in {cell[2]}" if len(strata) == 1 else ""


def absent(accounts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line for each task and variant that lacks a class altogether: balanced is what is left of it.

    Args:
        accounts: Of one task or several, as `draw` gives them; in the manifest under ``balance``, by task.

    Example:
        >>> train = {"cell": ["age_group", "en", "train", ""], "missing": ["<18", "80+"], "before": {"60–69": 4}}
        >>> test = {"cell": ["age_group", "en", "test", ""], "missing": ["60–69", "<18"], "before": {"80+": 2}}
        >>> absent([train, test])
        ['age_group: no sample of <18; balanced over the 2 classes that there are']
        >>> absent([])
        []
    """
    lines = []
    for task, variant in sorted({(a["cell"][0], a["cell"][3]) for a in accounts}):
        cells = [a for a in accounts if (a["cell"][0], a["cell"][3]) == (task, variant)]
        nowhere = set.intersection(*(set(a["missing"]) for a in cells))
        found = {stratum for a in cells for stratum in a["before"]}
        if nowhere:
            name = f"{task} {variant}" if variant else task
            left = f"balanced over the {len(found)} classes that there are" if len(found) > 1 else "of one class only"
            lines.append(f"{name}: no sample of {', '.join(sorted(nowhere))}; {left}")
    return lines


def _origin(kept: Mapping[str, Sequence[Candidate]]) -> dict[str, Any]:
    """Return items, items a split, groups, and groups a class."""
    groups = {stratum: {(c.source, c.group) for c in members} for stratum, members in kept.items()}
    splits = Counter(c.split for members in kept.values() for c in members)
    return {
        "items": splits.total(),
        "items_per_split": dict(sorted(splits.items())),
        "groups": len(set().union(*groups.values())),
        "groups_per_class": {stratum: len(of_class) for stratum, of_class in groups.items()},
    }


def _draw_key(candidate: Candidate, seed: int) -> tuple[str, str, str]:
    drawn = shuffle_key(seed, "balance", candidate.source, candidate.key, candidate.variant)
    return drawn, candidate.source, candidate.key
