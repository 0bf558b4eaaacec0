"""What is left of the scores without the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.probes import Probed, probed
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.tripwires import read_probes
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score

NOTE = """The same questions with their image, without it (none), without it and with no words but the listed options
(options), with the image of another eye (another), and with a photograph that does not show an eye (foreign; any answer
is a failure to abstain). Accuracy counts every reply, one without an answer as wrong. Difference: accuracy with the
image minus accuracy without, on the same questions. Where it is about 0, the model has not been shown to use the image.
Options alone: an accuracy above chance is what the list of options gives away. Open answers have no accuracy here, but
by judges. A chain that is asked after earlier answers is so with and without the image."""
TRAINING = (
    """During training, a small probe is asked with its own and with exchanged images; the last probe is shown."""
)


class WithoutImage(Section):
    """Accuracy with the image, without it, and with exchanged images, from probes of the same questions."""

    title: ClassVar[str] = "Without the image"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of the probes and of the training's last probe; none without probes."""
        asked = [(name, found) for name, run in results.outcomes.items() for found in probed(run)]
        rows = [_row(found, name) for name, found in asked]
        stages = [_row(found.at(stage), name, stage) for name, found in asked for stage in found.stages]
        words = {(r.task, r.split): r for r in results.shortcuts if r.shortcut == "words" and r.metric == "accuracy"}
        if rows:
            blind = [[task, split, row.n, row.value, (row.low, row.high)] for (task, split), row in words.items()]
            yield Text(" ".join(NOTE.split()))
            yield table("without_image", heads_of(), rows)
            if stages:
                yield table("without_image_stages", heads_of("stage"), stages, "Chains, stage by stage")
            if blind:
                heads: Heads = ["task", "split", N, Column("accuracy", "number"), INTERVAL]
                yield table("words_alone", heads, blind, "A classifier that reads the question alone")
        yield from _training(results)


def heads_of(*stage: str) -> Heads:
    """Return the heads of a table with these columns behind the model."""
    return [
        "task", "model", *stage, "shown instead", N, Column("with image", "number"), Column("without", "number"),
        Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column("abstained", "percent"),
        Column("chance", "number"),
    ]  # fmt: skip


def _row(found: Probed, name: str, stage: str = "") -> list[Cell]:
    names: list[Cell] = [found.task, name, *([stage] if stage else []), found.kind]
    return [*names, *_cells(found)]


def _cells(found: Probed) -> list[Cell]:
    """Return n, both accuracies, their difference with its interval, the share of abstentions, and chance."""
    items, both = found.items, found.pairs
    refused = share_score("refused", [i.status == "refused" for i in items], [i.group for i in items]).value
    if found.kind == "foreign" or not all(item.choices for item in items):
        return [len(items), None, None, None, None, refused, None]
    chance = sum(1 / len(item.choices) for item in items) / len(items)
    if not both:
        return [len(items), None, _mean(_right(items)), None, None, refused, chance]
    own, without = _right([one for one, _ in both]), _right([other for _, other in both])
    gap = paired_difference(found.task, own, without, [one.group for one, _ in both])
    return [len(both), _mean(own), _mean(without), gap.value, (gap.low, gap.high), refused, chance]


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
