"""Whether the image is read at each stage of a chain, beyond what question and earlier answers give away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Heads, table
from lmod_train.report.chains import every_chain
from lmod_train.report.contents import Part, Text
from lmod_train.report.contexts import effect_heads, effect_rows
from lmod_train.report.image_use import ImageUse, image_uses
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import FEWEST_DISCORDANT

NOTE = f"""The questions of chains with the image and earlier answers, and the same questions after earlier answers
without the image (kind none of a probe), both of one model in the same regime. Difference: share of right answers with
the image minus without, on the same questions, with an interval over patients. Where it is about 0, the model has not
been shown to use the image at this stage. In oracle, both have the same true earlier answers. In cas_last and cas_all,
each has its own, those without the image given without it too; same earlier answers is the share of the questions where
they are equal all the same. IQA has no earlier answers: there, the words of the question alone stand against the image.
p: exact McNemar test with patients as the independent units, only with {FEWEST_DISCORDANT} or more questions that one
of the two alone answers rightly; Holm: adjusted for the stages of a row's model and regime. Mean: unweighted mean of
the differences of the stages. CCR: over the chains that are complete among these questions."""
HEADS: Heads = [
    "model", "regime", *effect_heads("with image", "without image"), Column("same earlier answers", "percent"),
]  # fmt: skip


class ImageOfChains(Section):
    """Accuracy of each stage with and without the image, after earlier answers."""

    title: ClassVar[str] = "Chains: is the image read?"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per task; nothing unless a model was asked with and without the image after earlier answers."""
        for task, _ in every_chain(results):
            rows = [row for use in image_uses(results, task) for row in _rows(use)]
            if rows:
                yield Text(" ".join(NOTE.split()))
                yield table(f"image_use-{task}", HEADS, rows, f"{task}: with and without the image")


def _rows(use: ImageUse) -> Iterator[list[Cell]]:
    for stage, *cells in effect_rows(use.effect):
        yield [use.effect.model, use.effect.first, stage, *cells, use.same.get(str(stage))]
