"""A task's own questions about images of lower quality: how much blur, shadow or compression its answers survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.perturbations import GRADES, KINDS, perturbation_name
from lmod_train.core.types import Need, Prediction, Question, Record, Sample, Score
from lmod_train.scoring.headline_metrics import HEADLINES, headline_metric
from lmod_train.scoring.items import items_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.filled import placeholders
from lmod_train.tasks.variants import Variants

_Place = tuple[str, str, str]
"""Task, step and variant of a question about a sample."""


class Perturbed(Variants):
    """A task's questions about the unchanged image and about perturbed ones: one for each kind and grade.

    Words, options, parser and truth are the task's own. Boxes are drawn after the perturbation. Classes are not
    balanced, so that all grades are asked about the same images.

    Questions about the image quality (stage IQA of a chain) are not asked, not of the unchanged image either: a
    perturbation makes their truth false, and all grades have the same questions. Of chains, the other stages are asked,
    of the source's image without the defect that a task of chains may add.

    Args:
        of: The task; its questions are about the sample's own image.
        kinds: Kinds of `lmod_train.core.perturbations`: blur, underexposure, overexposure, shadow, crop, jpeg,
            resolution.
        grades: Grades from 1 (barely visible) to 5 (severe). The unchanged image, grade 0, is always asked about.

    Example:
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> Perturbed(Glaucoma()).name
        'glaucoma_perturbed'
    """

    name = "perturbed"
    version = 3

    def __init__(self, of: Task, kinds: Sequence[str] = tuple(KINDS), grades: Sequence[int] = GRADES) -> None:
        if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= set(KINDS):
            raise BadArgument("kinds", list(kinds), f"different ones of {', '.join(KINDS)}", "leave it out for all")
        if not grades or len(set(grades)) < len(grades) or not set(grades) <= set(GRADES):
            raise BadArgument("grades", list(grades), f"different ones of {list(GRADES)}", "leave it out for all")
        super().__init__(of)
        self.kinds = list(kinds)
        self.grades = sorted(grades)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield each question of the task about the unchanged image, and once for each kind and grade.

        Raises:
            BadArgument: A question without a stage of a chain is about a perturbed image, or one is not about the
                sample's own image.
        """
        for question in _without_quality(self.of, list(self.of.ask(sample))):
            unchanged = self._unchanged(question)
            yield self._asked(unchanged, "none", 0)
            for kind in self.kinds:
                yield from (self._asked(unchanged, kind, grade) for grade in self.grades)

    def _unchanged(self, question: Question) -> Question:
        """Return a question about the unchanged image; the truth of a stage other than IQA is that of the eye."""
        unchanged = replace(question, perturbation="")
        self._check(unchanged if question.chain_step in self.of.steps else question)
        return unchanged

    def account(self, samples: Iterable[Sample]) -> dict[str, Any]:
        """Return for each source how many questions of the task are not asked, as they are about the image quality."""
        left_out: Counter[str] = Counter()
        for sample in samples:
            asked = list(self.of.ask(sample))
            left_out[sample.source] += len(asked) - len(_without_quality(self.of, asked))
        counts = {source: n for source, n in sorted(left_out.items()) if n}
        return {"left_out_as_about_quality": counts} if counts else {}

    def _asked(self, question: Question, kind: str, grade: int) -> Question:
        """Return a question about the image with a perturbation; its needs are those of the same perturbation."""
        name = perturbation_name(kind, grade) if grade else ""
        tags = {**question.tags, "perturbation": kind, "grade": str(grade)}
        return replace(self._named(question, name), tags=tags, perturbation=name)

    def _as_asked(self, record: Record) -> Record:
        """Return the record as the task itself would ask it, under its own id.

        Raises:
            BadArgument: The record has no kind and grade.
        """
        if not {"perturbation", "grade"} <= record.tags.keys():
            expected = "tags with perturbation and grade"
            raise BadArgument(f"tags of record {record.id}", dict(record.tags), expected, "curate the task again")
        name = f"{record.tags['perturbation']}-{record.tags['grade']}"
        group = record.group or record.key  # the images, which stand for a missing group, differ with the perturbation
        return replace(
            record, task=self.of.name, variant=record.variant.removesuffix(name).removesuffix("-"), group=group
        )

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the task's scores over all images and each subset, each kind and grade apart, and the drops.

        The subsets ``perturbation=blur;grade=3`` have every score that the task has over all its items; grade 0 is the
        unchanged image. ``drop`` is the score on it minus that on the perturbed ones, over the questions asked of both
        (`lmod_train.scoring.robustness`), if the headline metric is accuracy or F1. Questions about the image quality,
        which version 1 asked of perturbed images too, with the truth of the unchanged one, do not count.
        """
        from lmod_train.scoring.robustness import drop_scores  # scipy: not for `rescore --help`
        from lmod_train.scoring.subset_names import cell_name  # scipy: not for `rescore --help`

        counted = [p for p in predictions if not self.of.is_about_quality(p.record)]
        own = [replace(p, record=self._as_asked(p.record)) for p in counted]
        scores = [replace(s, task=self.name) for s in self.of.score(own)]
        if not scores:
            return []
        for kind, grade in self._cells(own):
            tags = {"perturbation": kind, "grade": str(grade)}
            cell = self.of.score([p for p in own if tags.items() <= p.record.tags.items()])
            scores += [replace(s, task=self.name, subset=cell_name(kind, grade)) for s in cell if s.subset == "all"]
        if headline_metric(scores, self.name) in HEADLINES:
            items = [self.as_scored(item) for item in items_of(own, self.of.truth)]
            scores += drop_scores(self.name, items)
        return scores

    def _cells(self, predictions: Sequence[Prediction]) -> list[tuple[str, int]]:
        """Return the kinds and grades of predictions, in the order in which they are asked."""
        found = {(p.record.tags["perturbation"], int(p.record.tags["grade"])) for p in predictions}
        return sorted(found, key=lambda cell: (cell[1] > 0, cell))


def _without_quality(task: Task, questions: Sequence[Question]) -> list[Question]:
    """Return the questions about a sample whose truth does not depend on the quality of its image.

    Those that needed one about the quality need it no more; one whose words hold the answer to it is left out, too.

    Args:
        task: That asks them.
        questions: All of its questions about one sample.
    """
    return _without(questions, {_place(q) for q in questions if task.is_about_quality(q)})


def _without(questions: Sequence[Question], gone: set[_Place]) -> list[Question]:
    kept = [q for q in questions if _place(q) not in gone]
    holding = {_place(q) for q in kept if placeholders(q.messages) and any(_needed(q, n) in gone for n in q.needs)}
    if holding:
        return _without(kept, gone | holding)
    return [replace(q, needs=tuple(n for n in q.needs if _needed(q, n) not in gone)) for q in kept]


def _place(question: Question) -> _Place:
    return question.task, question.chain_step, question.variant


def _needed(question: Question, need: Need) -> _Place:
    return need.task or question.task, need.chain_step, need.variant
