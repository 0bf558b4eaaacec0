"""Scores of subgroups: sizes, tests, gaps, equal opportunity and the worst group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.comparisons import comparable
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.fairness import ENOUGH, Fairness, fairness
from lmod_train.report.figures.forest import COLUMNS, DRAWN, draw_forest, drawn_groups
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.association import DRAWS
from lmod_train.scoring.shares import MIN_PATIENTS
from lmod_train.scoring.subgroups import Gap, Group
from lmod_train.scoring.subsets import SUBGROUPS

NOTE = """Records whose group a source does not state are counted as unknown and left out. Groups also differ in their
diseases, sources and cameras: a difference between them is no proof of its cause."""
_TESTS = f"""Tests that all groups are equally often correct. Chi-square: Pearson's, without continuity correction;
Fisher: exact, or marked as simulated from {DRAWS:,} tables. By rule: the test that expected counts call for, Fisher's
if one is below 1 or more than a fifth are below 5 (Cochran 1954). Both take items as independent. LMOD's Tables 7 and 8
print p values by age and sex without naming the test or the task; these two are what can be compared with them. By
patient: groups permuted over patients, and within patients that have items of several groups (both eyes), in all ways
or in {DRAWS:,}; it is the one to read. Holm: p by patient, adjusted for the keys of this task and model."""
_GAPS = """Of groups of {} patients or more that have an interval; others are listed. Gap: score of the best group minus
that of the worst. Equal opportunity: the largest gap of the share found of a class (recall, true positive rate); with
two classes, of the first. A gap is above 0 by chance, too: see p by patient, which is of all groups. As groups and
classes are chosen on these data, the intervals of gaps are widened for the number of pairs of groups and classes, and
that of the worst group is from the lowest lower end of all groups to the lowest upper end, widened for their
number."""
_SIZES: Heads = ["task", "key", "group", N, Column("patients", "count"), "models"]
_SCORES: Heads = ["task", "key", "group", "model", N, Column("patients", "count"), SCORE, INTERVAL]
_TEST: Heads = [
    "task", "key", "model", Column("groups", "count"), Column("chi-square", "p"), Column("Fisher", "p"), "by rule",
    Column("by patient", "p"), "permutations", Column("Holm", "p"),
]  # fmt: skip
_GAP: Heads = [
    "task", "key", "model", "best", "worst", Column("gap", "signed"), Column("95 % interval of gap", "signed_interval"),
    "class", Column("equal opportunity", "signed"), Column("95 % interval of opportunity", "signed_interval"),
    Column("worst group", "number"), INTERVAL, "groups left out (patients)",
]  # fmt: skip


class SubgroupFairness(Section):
    """Scores by age, sex, laterality, camera, quality and source.

    Args:
        keys: The keys to compare; by default all for which two or more groups are known.
        least_patients: Number of patients, from 3, of a group whose score is compared as the best or the worst one.
    """

    title: ClassVar[str] = "Subgroups and fairness"

    def __init__(self, keys: list[str] | None = None, least_patients: int = ENOUGH) -> None:
        if least_patients < MIN_PATIENTS:
            cure = f"set it in the config of the report, e.g. `least_patients: {ENOUGH}`"
            raise BadArgument("least_patients", least_patients, f"{MIN_PATIENTS} or more", cure)
        unknown = [key for key in keys or () if key not in SUBGROUPS]
        if unknown:
            raise BadArgument("keys", unknown, f"some of {', '.join(SUBGROUPS)}", "correct the config of the report")
        self.keys = list(SUBGROUPS) if keys is None else keys
        self.least_patients = least_patients

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of sizes, scores, tests and gaps, and a forest plot per task and key."""
        found = fairness(comparable(results), results.choices, self.keys, self.least_patients)
        if found:
            yield Text(NOTE)
            yield table("subgroup_sizes", _SIZES, list(_sizes(found)), "Sizes of the groups")
            rows = [[f.task, f.key, g.name, f.run, *_group(g)] for f in found for g in f.groups]
            yield table("subgroups", _SCORES, rows, "Scores of the groups")
            yield table("subgroup_tests", _TEST, [_test(f) for f in found], "Tests between the groups", _TESTS)
            yield table(
                "subgroup_gaps",
                _GAP,
                [_gap(f) for f in found],
                "Gaps between the groups",
                _GAPS.format(self.least_patients),
            )
            for task, key in dict.fromkeys((f.task, f.key) for f in found):
                yield _forest(task, key, [f for f in found if (f.task, f.key) == (task, key)])


def _sizes(found: Sequence[Fairness]) -> Iterator[list[Cell]]:
    """Yield a row per group and size, with the runs that have it."""
    for task, key in dict.fromkeys((f.task, f.key) for f in found):
        own = [f for f in found if (f.task, f.key) == (task, key)]
        sizes: dict[tuple[str, int, int | None], list[str]] = {}
        for f in own:
            groups = [(g.name, g.score.n, g.patients) for g in f.groups]
            for size in (*groups, *([("unknown", f.unknown, None)] if f.unknown else ())):
                sizes.setdefault(size, []).append(f.run)
        for (name, n, patients), runs in sorted(sizes.items(), key=lambda size: (size[0][2] is None, size[0][0])):
            yield [task, key, name, n, patients, "all" if len(runs) == len(own) else ", ".join(runs)]


def _group(group: Group) -> list[Cell]:
    return [group.score.n, group.patients, group.score.value, (group.score.low, group.score.high)]


def _test(f: Fairness) -> list[Cell]:
    by_rule, chi_square, fisher = None, None, None
    if f.test:
        by_rule, chi_square, fisher = f.test.chosen, f.test.p_chi_square, f.test.p_fisher
        by_rule += " (Fisher simulated)" if f.test.simulated else ""
    permutations = "all" if f.exact else f"{DRAWS:,} drawn"
    return [f.task, f.key, f.run, len(f.groups), chi_square, fisher, by_rule, f.p, permutations, f.adjusted]


def _gap(f: Fairness) -> list[Cell]:
    name, opportunity = f.opportunity or (None, None)
    ends = [(s.value, (s.low, s.high)) if s else (None, None) for s in (_of(f.gap), _of(opportunity), f.worst)]
    groups = [f.gap.best, f.gap.worst] if f.gap else [None, None]
    left_out = ", ".join(f"{g.name} ({g.patients})" for g in f.left_out)
    return [f.task, f.key, f.run, *groups, *ends[0], name, *ends[1], *ends[2], left_out]


def _of(gap: Gap | None) -> Score | None:
    return gap.difference if gap else None


def _forest(task: str, key: str, found: Sequence[Fairness]) -> Figure:
    name = f"forest-{task}-{key}"
    rows = [[f.run, g.name, *_group(g), f.overall.value] for f in found for g in f.groups]
    groups, title = list(dict.fromkeys(g.name for f in found for g in f.groups)), f"{task} by {key}"
    some = f", the {DRAWN} largest of {len(groups)} groups" if len(groups) > DRAWN else ""
    alt = f"Score with 95 % interval of each model for {', '.join(drawn_groups(rows))}{some}, beside its overall score."
    return Figure(name, title, alt, table(name, COLUMNS, rows, f"{title}{some}"), draw_forest)
