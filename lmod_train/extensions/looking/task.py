"""A task's own questions about its images, changed ones and others: does an answer depend on what carries it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.core.removal import ALL, FILLS, Removal
from lmod_train.core.types import Prediction, Question, Record, Sample, Score
from lmod_train.core.vocabulary.phantoms import REDRAWN
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.scoring.items import items_of
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.own import Own
from lmod_train.tasks.variants import Variants

EVIDENCE: Mapping[str, tuple[str, ...]] = {
    "glaucoma": ("optic disc", "optic cup"),
    "macular_hole_stage": ("macular hole",),
}
"""Task -> structures that carry its answer. Other published tasks have no source with both labels and masks."""

_STRUCTURES = {term.name for term in STRUCTURES}

FLIPPED = {"yes": "no", "no": "yes"}


class Grounding(Variants):
    """A task's questions about the image as it is, twice, and about images in which something is changed.

    Words, options and parser are the task's own. Each variant is a record, whose id without the variant is that of the
    question: ``as_is`` and ``as_is_again``; ``evidence_removed.FILL``, with the structures that carry the answer filled
    from their surroundings; ``elsewhere_removed.FILL``, with a like place filled; ``same_answer`` and ``other_answer``,
    another patient's image of the same task; ``blank``, the mean image of source and modality; ``counterfactual`` of
    phantoms that were drawn with it. The truth of a record is that of the image shown; where something is removed, that
    of the image as it is. Classes are not balanced, so that all variants are of the same images.

    Args:
        of: The task; its questions are about the sample's own image, without drawn boxes.
        fills: Fills of `lmod_train.core.removal`: biharmonic, blur, mean. A verdict holds for all of them.
        evidence: Structures that carry the answer, ``[annotated]`` for all that are annotated; an empty list removes
            nothing. None takes those of `EVIDENCE`, all of a question of one's own, and none of other tasks.

    Example:
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> Grounding(Glaucoma()).name
        'glaucoma_grounding'
    """

    name = "grounding"
    version = 1

    def __init__(self, of: Task, fills: Sequence[str] = ("biharmonic",), evidence: Sequence[str] | None = None) -> None:
        if not fills or len(set(fills)) < len(fills) or not set(fills) <= FILLS.keys():
            raise BadArgument("fills", list(fills), f"different ones of {', '.join(FILLS)}", "leave it out for one")
        super().__init__(of)
        self.fills = list(fills)
        usual = EVIDENCE.get(of.name, (ALL,) if isinstance(of, Own) else ())
        self.evidence = list(usual if evidence is None else evidence)
        if self.evidence != [ALL] and (unknown := sorted(set(self.evidence) - _STRUCTURES)):
            expected = f"[{ALL}] alone, or names of structures: {', '.join(sorted(_STRUCTURES))}"
            raise BadArgument("evidence", unknown, expected, f"name others, or leave it out for {list(usual)}")

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield each question of the task once for each variant.

        Raises:
            BadArgument: A question is about drawn boxes, or not about the sample's own, unchanged image.
        """
        redrawn = self._redrawn(sample)
        for question in self.of.ask(sample):
            self._check(question)
            if question.marked:
                expected = f"a task without drawn boxes; {self.of.name} asks about them"
                raise BadArgument("of", self.of.name, expected, "name another task")
            yield self._named(question, "as_is")
            yield self._named(question, "as_is_again")
            yield from self._removals(question)
            for shows in ("same_answer", "other_answer", "blank"):
                yield replace(self._named(question, shows), shows=shows)
            changed = redrawn.get((question.variant, question.chain_step))
            if changed is not None and changed.answer != question.answer:
                yield replace(self._named(changed, "counterfactual"), perturbation=REDRAWN)

    def _as_asked(self, record: Record) -> Record:
        own = record.variant.rpartition("-")[0]
        return replace(record, task=self.of.name, variant=own, group=record.group or record.key)

    def _removals(self, question: Question) -> Iterator[Question]:
        structures = () if self.evidence == [ALL] else tuple(self.evidence)
        for fill in self.fills if self.evidence else ():
            for where in ("evidence", "elsewhere"):
                removal = Removal(where, fill, structures)
                yield replace(self._named(question, f"{where}_removed.{fill}"), perturbation=removal.name)

    def _redrawn(self, sample: Sample) -> dict[tuple[str, str], Question]:
        """Return the questions about a phantom whose fact is changed, by variant and step; none for other samples."""
        labels = dict(sample.labels)
        if not sample.phantom or labels.get("glaucoma") not in FLIPPED:
            return {}
        labels["glaucoma"] = FLIPPED[labels["glaucoma"]]
        return {(q.variant, q.chain_step): q for q in self.of.ask(replace(sample, labels=labels))}

    def measure(self, curated: Path) -> None:
        """Write to ``audit.csv`` whether a small classifier finds the answer in the filled regions alone."""
        from lmod_train.core.artifacts.records import read_records
        from lmod_train.extensions.looking.blind import write_filled_crops

        write_filled_crops(curated, (r for r in read_records(curated / "records") if r.task == self.name))

    @classmethod
    def over(cls, task: Task) -> Task | None:
        """Return the task about a task of one's own, with everything annotated as evidence where none is stated.

        None without choices, and for questions about drawn boxes.
        """
        if not task.classes or isinstance(task, Anatomy):
            return None
        return cls(task, evidence=EVIDENCE.get(task.name, (ALL,)))

    def is_scored(self, record: Record) -> bool:
        """Return whether the image is shown as it is."""
        return record.variant.rpartition("-")[2] == "as_is"

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the task's scores over the images as they are, and the changes (`grounding_scores`)."""
        from lmod_train.extensions.looking.scores import grounding_scores  # scipy: not for `--help`

        own = [replace(p, record=self._as_asked(p.record)) for p in predictions if self.is_scored(p.record)]
        scores = [replace(s, task=self.name) for s in self.of.score(own)]
        items = [self.as_scored(item) for item in items_of(predictions, self.truth)]
        return [*scores, *(grounding_scores(self.name, items) if scores else [])]
