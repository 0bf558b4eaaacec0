"""A task's own questions with nothing to see, with another image, or with a photograph that is not an eye.

LMOD (figure 8, "failure to abstain") shows models that find glaucoma in a photograph of a cat. The replies to
these questions show how often a model abstains, and what it answers whatever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Prediction, Question, Sample, Score
from lmod_train.scoring.items import Item, items_of
from lmod_train.scoring.probing import probe_scores, question_and_kind
from lmod_train.tasks.base import Task
from lmod_train.tasks.forms import Form
from lmod_train.tasks.variants import Derived

Kind = Literal["none", "another", "foreign", "options", "stem", "other_language"]
IMAGELESS = ("none", "options")
"""Kinds that show no image."""

FORMS = ("options", "stem", "other_language")
"""Kinds with other words, which the task states (`Task.in_form`)."""


class Probe(Derived):
    """A task's questions without the image they are about: a question for each of its questions and each kind.

    The words stay the task's own, and so does its parser; the reference reply is still the truth of the image that is
    not shown. A question about boxes drawn on the image is asked with nothing drawn, and never about another image:
    that has boxes of its own.

    Args:
        of: The task to probe.
        kinds: What is shown in the image's place: ``none``, nothing; ``another``, an image with another answer;
            ``foreign``, a photograph that is not an eye; ``options``, nothing, and of the words only the lettered
            options and the form of the reply; ``stem``, the image, and of the words all but the options;
            ``other_language``, the image and a question in its own language that asks for a reply in the other one.
            Earlier answers of a chain alone are asked by ``none`` with `data.regime`.

    Example:
        >>> from lmod_train.tasks.glaucoma import Glaucoma
        >>> Probe(Glaucoma()).name
        'glaucoma_probe'
    """

    name = "probe"
    version = 2

    def __init__(self, of: Task, kinds: Sequence[Kind] = ("none", "another", "foreign")) -> None:
        if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= set(get_args(Kind)):
            raise BadArgument("kinds", list(kinds), f"different ones of {get_args(Kind)}", "leave it out for all three")
        super().__init__(of)
        self.kinds = list(kinds)

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield each question of the task once for each kind; its needs are those of the same kind.

        Raises:
            BadArgument: The task asks about drawn boxes, and ``another`` is among the kinds; or it has no words for
                one of the kinds.
        """
        for question in self.of.ask(sample):
            if question.marked and "another" in self.kinds:
                cure = "set `kinds: [none, foreign]`"
                expected = f"none or foreign, as {self.of.name} asks about drawn boxes"
                raise BadArgument("kinds", self.kinds, expected, cure)
            for kind in self.kinds:
                formed = self.of.in_form(sample, question, cast(Form, kind)) if kind in FORMS else question
                yield from (self._asked(one, kind) for one in (formed,) if one is not None)

    def _asked(self, question: Question, kind: Kind) -> Question:
        messages = tuple(map(_without_image, question.messages)) if kind in IMAGELESS else question.messages
        named = self._named(question, kind)
        shown = "none" if kind in IMAGELESS else "own" if kind in FORMS else cast(Literal["another", "foreign"], kind)
        return replace(named, messages=messages, marked=False, regions=(), shows=shown)

    def asks_as(self, question: Question) -> tuple[str, str]:
        """Return the probed task and the variant of its question."""
        return self.of.name, question_and_kind(question.variant)[0]

    def placed(self, sample: Sample, question: Question, place: int) -> Question:
        """Return the question with its right option where the task puts it."""
        task, variant = self.asks_as(question)
        own = replace(question, task=task, variant=variant)
        placed = self.of.placed(sample, own, place)
        return question if placed is own else replace(placed, task=question.task, variant=question.variant)

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the rejection rate, the account, the language prior and the baseline, each ``kind=...`` apart."""

        def kind_of(item: Item) -> str:
            return question_and_kind(item.variant)[1]

        items = items_of(predictions, self.of.truth)
        unknown = sorted({kind_of(item) for item in items} - set(get_args(Kind)))
        if unknown:
            raise BadArgument("variant", unknown, f"to end with one of {get_args(Kind)}", "curate the probe again")
        return probe_scores(self.name, [self.as_scored(item) for item in items], kind_of)


def _without_image(message: Message) -> Message:
    return replace(message, parts=tuple(part for part in message.parts if part.type != "image"))
