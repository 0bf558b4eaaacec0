"""Verdicts on the replies of a run by others than its tasks, e.g. judges, which extensions read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from lmod_train.core.artifacts.run import Run
from lmod_train.core.extension import joined, loaded
from lmod_train.core.types import Answer, Prediction, Score, Unparsed
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsing.visible import strip_thinking


class Judge(Protocol):
    """One who has judged replies of a run."""

    @property
    def judge(self) -> str:
        """Its name."""

    @property
    def tasks(self) -> Sequence[str]:
        """The judged tasks."""

    @property
    def labels(self) -> Sequence[str]:
        """The verdicts that it may give."""

    @property
    def verdicts(self) -> Mapping[str, Answer | Unparsed]:
        """Id of each record whose reply is to be judged -> label, or why it is unjudged."""

    @property
    def pending(self) -> int:
        """Number of replies without a judgement of their present text."""

    @property
    def stale(self) -> int:
        """Number of judgements of an earlier text, which do not count."""

    @property
    def people(self) -> bool:
        """Whether people gave the verdicts."""

    @property
    def itself(self) -> bool:
        """Whether the judge is the model whose replies it judges."""

    def right(self) -> Mapping[str, bool]:
        """Return record id -> whether the reply is right, where there is a verdict."""


class OtherReplies(Protocol):
    """Outcomes of a run that are not its model's: what a class that `Extension.replies` names reads from its folder."""

    def __init__(self, run: Run, predictions: Sequence[Prediction]) -> None:
        """Read those on the predictions as they are now."""

    @property
    def judges(self) -> Sequence[Judge]:
        """Those who judged replies."""

    def scores(self, tasks: Sequence[Task]) -> Sequence[Score]:
        """Return their metrics, for the scores of the run."""

    def lines(self) -> Iterator[str]:
        """Yield what `rescore` prints of them."""


def other_replies(run: Run, predictions: Sequence[Prediction]) -> list[OtherReplies]:
    """Return what each extension finds on the replies of a run."""
    return [kind(run, predictions) for kind in loaded(joined("replies"))]


READABLE = ("no_match", "ambiguous", "out_of_range", "parser_error")
"""Reasons of replies without an answer that are judged nevertheless, as the parser alone could not read their words."""


def given(prediction: Prediction) -> str | None:
    """Return the text of a reply that is sent to a judge, without thinking; None if its outcome is known without one.

    Known are replies that were refused or cut off, are empty, or fell into a loop: no answer, counted wrong. A failed
    request has no reply to judge.

    Example:
        >>> from lmod_train.core.types import Reply, Unparsed
        >>> given(Prediction(None, Reply("a", "<think>hm</think> Pale. "), "Pale."))
        'Pale.'
        >>> given(Prediction(None, Reply("a", "I decline."), Unparsed("refused"))) is None
        True
    """
    answer = prediction.answer
    if isinstance(answer, Unparsed) and answer.reason not in READABLE:
        return None
    return strip_thinking(prediction.reply.reply)[0].strip() or None
