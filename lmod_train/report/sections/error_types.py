"""Failures of the replies: what rules find, sorted as LMOD and LMOD+ sort them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, Table, table
from lmod_train.core.vocabulary.error_types import LMOD_MODES, LMOD_PLUS_TYPES, TITLES
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.lines import distinct, lines
from lmod_train.report.figures.stacked import COLUMNS as STACKED
from lmod_train.report.figures.stacked import draw_stacked
from lmod_train.report.published import Published, published_beside
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import Sorted, compared, sort_errors
from lmod_train.scoring.agreement import pair_scores
from lmod_train.scoring.share import share_score
from lmod_train.tasks.failures.case import LONGEST
from lmod_train.tasks.failures.measured import read_measured

_TEXTS = texts(__file__)


UNDECIDED = "not decided"
COUNT, SHARE = Column("replies", "count"), Column("share", "percent")
_TEXT = 160
_EACH = 2


class ErrorTypes(Section):
    """Counts, shares and examples of the failures of replies.

    Args:
        most: Number of replies that are read, shared among the runs.
    """

    title: ClassVar[str] = "Error analysis"

    def __init__(self, most: int = 5000) -> None:
        if most < 1:
            raise BadArgument("most", most, "a number of replies from 1", "leave it out for 5000")
        self.most = most

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of failures, modes, types and examples, and the figure of the types; none without runs."""
        share = max(1, self.most // max(1, len(results.outcomes)))
        runs = {name: sort_errors(outcomes, share) for name, outcomes in results.outcomes.items()}
        rows = {(task, name): of_task for name, found in runs.items() for task, of_task in found.items()}
        if not rows:
            return
        read, everything = sum(map(len, rows.values())), sum(len(o.predictions) for o in results.outcomes.values())
        yield Text(_TEXTS["note"].format(read=read, all=everything, most=self.most, longest=LONGEST))
        failures = _counted(rows, lambda reply: (TITLES[rule] for rule in reply.rules))
        yield table("error_failures", _heads("failure"), failures, "Failures that rules find")
        modes = _counted(rows, lambda reply: reply.modes)
        yield table("error_modes_lmod", _heads("failure mode"), modes, "Failure modes of LMOD", _TEXTS["modes_note"])
        types = _types(rows, published_beside(results, kind="error type"))
        if types.rows:
            yield types
            yield _figure(runs)
        yield from _examples(rows)
        yield from _agreement(rows)
        yield _rules()


def _heads(kind: str) -> Heads:
    return ["task", "model", kind, COUNT, N, SHARE, INTERVAL]


Rows = dict[tuple[str, str], list[Sorted]]


def _counted(rows: Rows, kinds: Callable[[Sorted], Iterable[str]]) -> list[list[Cell]]:
    """Return a row for each task, model and kind that occurs, with its share of the replies that were read."""
    found: list[list[Cell]] = []
    for (task, name), replies in sorted(rows.items()):
        several = [set(kinds(reply)) for reply in replies]
        groups = [reply.item.group for reply in replies]
        kept = _ordered(set().union(*several))
        found += [[task, name, kind, *_share([kind in one for one in several], groups)] for kind in kept]
    return found


def _ordered(kinds: set[str]) -> list[str]:
    known = [*TITLES.values(), *(mode.name for mode in LMOD_MODES), *(kind.name for kind in LMOD_PLUS_TYPES), UNDECIDED]
    return [kind for kind in dict.fromkeys(known) if kind in kinds]


def _share(held: Sequence[bool], groups: Sequence[str]) -> list[Cell]:
    """Return the cells count, n, share and interval."""
    score = share_score("share", held, groups)
    return [sum(held), score.n, score.value, (score.low, score.high)]


def _types(rows: Rows, published: Sequence[Published]) -> Table:
    """Return the table of error types of wrong replies, with the published shares, if any may stand beside them."""
    shares = {(p.task, p.metric): p.value for p in published}
    found: list[list[Cell]] = []
    for (task, name), replies in sorted(rows.items()):
        wrong = [reply for reply in replies if reply.wrong]
        kinds = [reply.kind or UNDECIDED for reply in wrong]
        for kind in (*(kind.name for kind in LMOD_PLUS_TYPES), UNDECIDED) if wrong else ():
            judged = sum(reply.by_judge for reply, own in zip(wrong, kinds, strict=True) if own == kind)
            cells = _share([own == kind for own in kinds], [reply.item.group for reply in wrong])
            found.append([task, name, kind, *cells, judged, *([shares.get((task, kind))] if shares else [])])
    counts = [COUNT, Column("wrong replies", "count"), SHARE, INTERVAL, Column("by a judge", "count")]
    beside: Heads = [Column("published share", "percent")] if shares else []
    columns: Heads = ["task", "model", "error type", *counts, *beside]
    note = " ".join([_TEXTS["types_note"], *([_TEXTS["published"]] if shares else [])])
    return table("error_types_lmod_plus", columns, found, "Error types of LMOD+", note)


def _figure(runs: dict[str, dict[str, list[Sorted]]]) -> Figure:
    """Return the stacked bars of the error types of each model."""
    bars: list[list[Cell]] = []
    for name, tasks in runs.items():
        found = [reply.kind or UNDECIDED for replies in tasks.values() for reply in replies if reply.wrong]
        kinds = [*(kind.name for kind in LMOD_PLUS_TYPES), UNDECIDED] if found else []
        bars += [["", name, kind, found.count(kind)] for kind in kinds]
    shown = table("error_types", STACKED, bars)
    alt = f"Stacked bars of the error types of the wrong replies of {len(distinct(lines(shown), 'row'))} models."
    return Figure("error_types", "Error types of the wrong replies", alt, shown, draw_stacked)


def _examples(rows: Rows) -> Iterator[Table]:
    """Yield a table with examples of each failure: the record, the reply cut short, and the evidence."""
    found: list[list[Cell]] = []
    for rule, title in TITLES.items():
        shown = (
            (name, reply, f) for (_, name), of in rows.items() for reply in of for f in reply.failures if f.rule == rule
        )
        for name, reply, failure in _few(shown):
            text = reply.prediction.reply.reply
            found.append([title, name, reply.prediction.record.id, _cut(text), _cut(text[failure.start : failure.end])])
    if found:
        yield table("error_examples", ["failure", "model", "record", "reply", "evidence"], found, "Examples")


def _few(shown: Iterable[Any]) -> Iterator[Any]:
    """Yield examples with different replies."""
    seen: set[str] = set()
    for name, reply, failure in shown:
        text = reply.prediction.reply.reply
        if text not in seen:
            seen.add(text)
            yield name, reply, failure
        if len(seen) == _EACH:
            return


def _cut(text: str) -> str:
    plain = " ".join(text[: 4 * _TEXT].split())
    return plain if len(plain) <= _TEXT else f"{plain[:_TEXT]} ..."


def _agreement(rows: Rows) -> Iterator[Table]:
    """Yield the table of the agreement of rules and judge on the error type, where both have sorted a reply."""
    found: list[list[Cell]] = []
    for (task, name), replies in sorted(rows.items()):
        both = list(compared(replies))
        if both:
            groups, ours, theirs = map(list, zip(*both, strict=True))
            scores = {score.metric: score for score in pair_scores(task, ours, theirs, groups)}
            agreed, kappa = scores["agreement"], scores["kappa"]
            found.append([task, name, agreed.n, agreed.value, (agreed.low, agreed.high), kappa.value])
    if found:
        columns: Heads = ["task", "model", N, Column("same type", "percent"), INTERVAL, Column("kappa", "number")]
        yield table("error_types_agreement", columns, found, "Agreement of rules and judge")


def _rules() -> Table:
    """Return the precision and recall of the rules on the held-out labelled replies."""
    rows: list[list[Cell]] = [
        [TITLES[row.rule], row.found, row.precision, (row.precision_low, row.precision_high), row.labelled, row.recall,
         (row.recall_low, row.recall_high)]
        for row in read_measured()
        if row.half == "held_out"
    ]  # fmt: skip
    title = "Precision and recall of the rules"
    return table("error_rules", heads(__file__)["rules"], rows, title, _TEXTS["rules_note"])
