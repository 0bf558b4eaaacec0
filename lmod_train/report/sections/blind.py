"""What is left of the scores without the image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Part, Text, table
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import PROBES
from lmod_train.report.tripwires import read_probes
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.detection import share_score
from lmod_train.scoring.items import Item
from lmod_train.types import Record

NOTE = """The same questions with their image, without it (none), with the image of another eye (another), and with a
photograph that does not show an eye (foreign; any answer is a failure to abstain). Accuracy counts every reply, one
without an answer as wrong. Difference: accuracy with the image minus accuracy without, on the same questions. Where it
is about 0, the model has not been shown to use the image."""
TRAINING = (
    """During training, a small probe is asked with its own and with exchanged images; the last probe is shown."""
)
HEADS: Heads = (
    *("task", "model", "shown instead", N, Column("with image", "number"), Column("without", "number")),
    *(Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column("abstained", "percent")),
    Column("chance", "number"),
)
SHOWN = ("none", "another", "foreign")

Key = tuple[str, str, str, str]


class WithoutImage(Section):
    """Accuracy with the image, without it, and with exchanged images, from probes of the same questions."""

    title: ClassVar[str] = "Without the image"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of the probes and of the training's last probe; none without probes."""
        rows = [row for name, found in results.outcomes.items() for row in _rows(name, found)]
        words = {(r.task, r.split): r for r in results.shortcuts if r.shortcut == "words" and r.metric == "accuracy"}
        if rows:
            blind = [[task, split, row.n, row.value, (row.low, row.high)] for (task, split), row in words.items()]
            yield Text(" ".join(NOTE.split()))
            yield table("without_image", HEADS, rows)
            if blind:
                heads: Heads = ["task", "split", N, Column("accuracy", "number"), INTERVAL]
                yield table("words_alone", heads, blind, "A classifier that reads the question alone")
        yield from _training(results)


def _rows(name: str, outcomes: Outcomes) -> Iterator[list[Cell]]:
    """Yield a row for each probed task and what was shown instead of its image."""
    records = {p.record.id: p.record for p in outcomes.predictions}
    for task, items in sorted(outcomes.items.items()):
        if not task.endswith(PROBES):
            continue
        seen = {_key(records[item.id]): item for item in outcomes.items.get(task.removesuffix(PROBES), [])}
        for kind in SHOWN:
            probed = {_key(records[item.id], kind): item for item in items if _kind(item) == kind}
            if probed:
                yield [task.removesuffix(PROBES), name, kind, *_cells(task, kind, probed, seen)]


def _cells(task: str, kind: str, probed: Mapping[Key, Item], seen: Mapping[Key, Item]) -> list[Cell]:
    """Return n, both accuracies, their difference with its interval, the share of abstentions, and chance."""
    both = [key for key in probed if key in seen]
    items = list(probed.values())
    without = _right([probed[key] for key in both] or items)
    refused = share_score("refused", [item.status == "refused" for item in items], [item.group for item in items])
    chance = sum(1 / len(item.choices) for item in items) / len(items)
    if kind == "foreign":
        return [len(items), None, None, None, None, refused.value, None]
    if not both:
        return [len(items), None, _mean(without), None, None, refused.value, chance]
    own, groups = _right([seen[key] for key in both]), [probed[key].group for key in both]
    gap = paired_difference(task, own, without, groups)
    return [len(both), _mean(own), _mean(without), gap.value, (gap.low, gap.high), refused.value, chance]


def _kind(item: Item) -> str:
    return item.variant.rpartition("-")[2]


def _key(record: Record, kind: str = "") -> Key:
    """Return what a question and its probe have in common."""
    variant = record.variant.removesuffix(kind).removesuffix("-") if kind else record.variant
    return record.source, record.key, record.language, variant


def _right(items: Sequence[Item]) -> list[float]:
    return [float(item.answer == item.truth) for item in items]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _training(results: Results) -> Iterator[Part]:
    """Yield the last probe of each run that was trained with tripwires."""
    rows: list[list[Cell]] = []
    for name, run in zip(results.names, results.runs, strict=True):
        for probe in read_probes(run.path)[-1:]:
            signs = [probe.get(sign) for sign in ("right", "right_shuffled", "lost_without_picture")]
            rows.append([name, probe.get("step"), probe.get("n"), *signs])
    if rows:
        accuracies = (Column("own image", "number"), Column("exchanged", "number"), Column("lost", "signed"))
        yield Text(TRAINING)
        yield table(
            "exchanged_images", ["model", Column("step", "count"), N, *accuracies], rows, "Exchanged images in training"
        )
