"""How a classifier says a class in the words that a record asks for: the reference reply gives the form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmod_train.errors import BadArgument
from lmod_train.types import Record, own_part


@dataclass(frozen=True, slots=True)
class Wording:
    """One line of a reply: what stands before the class, and the class that the reference names.

    Attributes:
        form: Text before the choice, e.g. ``Stage: ``; often empty. The same whatever the truth is.
        target: Index of the reference's choice.
    """

    form: str
    target: int


def wordings(record: Record, choices: Sequence[str]) -> list[Wording]:
    r"""Return the form and the class of every line of a record's reference reply.

    A line ends in one of the choices, which begins the line or follows a blank; of several that fit, the longest counts
    (FEMALE ends in MALE).

    Args:
        record: Its `answer` is in the requested format.
        choices: Words a reply may use, in the order of the classes.

    Returns:
        One a line, at least one.

    Raises:
        BadArgument: A line ends in none of the choices.

    Example:
        >>> record = Record(id="", task="", task_class="", task_version=1, source="", key="", modality="CFP", image=(),
        ...     image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(), choices=(),
        ...     answer="Stage: 2")
        >>> wordings(record, ("0", "1", "2"))
        [Wording(form='Stage: ', target=2)]
    """
    return [_line(record, line, choices) for line in record.answer.splitlines() or [""]]


def _line(record: Record, line: str, choices: Sequence[str]) -> Wording:
    line = own_part(line, choices)
    fitting = [c for c in choices if line == c or line.endswith(f" {c}")]
    if not fitting:
        raise BadArgument(
            "data.tasks",
            record.answer,
            f"lines that each end in one of the task's choices {list(choices)}",
            f"curate again with the task's present options (record {record.id})",
        )
    word = max(fitting, key=len)
    return Wording(line.removesuffix(word), choices.index(word))


def refuse_several_questions(records: Iterable[Record], choices: Sequence[str]) -> None:
    """Refuse records that ask several questions: a classifier sees no question, and learns contradicting answers.

    Records with regions pass: each crop is asked about once, and its line's form only numbers it.

    Args:
        records: Of the training split; none pass.
        choices: Words a reply may use, in the order of the classes.

    Raises:
        BadArgument: The reference replies of pictures have several forms; or one ends in none of the choices.
    """
    forms = {wordings(record, choices)[0].form for record in records if not record.regions}
    if len(forms) > 1:
        raise BadArgument(
            "data.variant",
            "",
            f"one question for a classifier; these records ask {len(forms)}: {', '.join(sorted(forms))}",
            "name one variant, e.g. `--data.variant drusen`, and train one classifier for each",
        )


def said(wording: Sequence[Wording], classes: Sequence[int], choices: Sequence[str]) -> str:
    r"""Return the reply that says these classes, one a line, in the record's own form.

    Example:
        >>> said([Wording("Region ID: 1; Type: ", 0), Wording("Region ID: 2; Type: ", 1)], [1, 1], ("disc", "cup"))
        'Region ID: 1; Type: cup\nRegion ID: 2; Type: cup'
    """
    return "\n".join(w.form + choices[c] for w, c in zip(wording, classes, strict=True))
