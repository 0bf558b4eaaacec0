"""Replies in the format of a record's reference reply, with another of its choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Record, own_part


@dataclass(frozen=True, slots=True)
class Wording:
    """One line of a reference reply: the text before the class, and the class.

    Attributes:
        form: Text before the choice, e.g. ``Stage: ``; often empty. It does not depend on the truth.
        target: Index of the choice.
    """

    form: str
    target: int


def wordings(record: Record, choices: Sequence[str]) -> list[Wording]:
    r"""Return form and class of every line of a record's reference reply.

    A line ends with one of the choices, at the start of the line or after a blank; of several that match, the longest
    is used (FEMALE ends with MALE).

    Args:
        record: Record whose `answer` is in the requested format.
        choices: Words a reply may use, in the order of the classes.

    Returns:
        One wording per line, at least one.

    Raises:
        BadArgument: A line does not end with one of the choices, or the reference reply is the letter of an option,
            whose meaning changes from record to record.

    Example:
        >>> record = Record(id="", task="", task_class="", task_version=1, source="", key="", modality="CFP", image=(),
        ...     image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(), choices=(),
        ...     answer="Stage: 2")
        >>> wordings(record, ("0", "1", "2"))
        [Wording(form='Stage: ', target=2)]
    """
    if letter_form(record) is not None:
        raise BadArgument(
            "data.tasks",
            record.task,
            f"questions with the same classes for all images; the prompt of {record.id} lists options of its own, "
            "of which the reply is a letter",
            "leave the task out of data.tasks, or ask a model that reads the prompt, e.g. "
            "`--model configs/model/small_base.yaml`",
        )
    return [_line(record, line, choices) for line in record.answer.splitlines() or [""]]


def _line(record: Record, line: str, choices: Sequence[str]) -> Wording:
    line = own_part(line, choices)
    fitting = [c for c in choices if line == c or line.endswith(f" {c}")]
    if not fitting:
        expected = f"lines that each end with one of the task's choices {list(choices)}"
        cure = f"curate again with the task's present options (record {record.id})"
        raise BadArgument("data.tasks", record.answer, expected, cure)
    word = max(fitting, key=len)
    return Wording(line.removesuffix(word), choices.index(word))


def letter_form(record: Record) -> str | None:
    r"""Return the text before the letter in a reference reply, e.g. ``Answer: ``; None if the reply is no letter.

    The reply is a letter if the user's last turn lists the record's choices with letters (see
    `lmod_train.core.option_letters.options_in`) and the reply is a line that ends with one of them, at its start or
    after a blank.

    Example:
        >>> from lmod_train.core.types import Message, Part
        >>> asked = Message("user", (Part("text", "Which?\nA. cup\nB. rim"),))
        >>> record = Record(id="", task="", task_class="", task_version=1, source="", key="", modality="CFP", image=(),
        ...     image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(asked,),
        ...     choices=("cup", "rim"), answer="Answer: B")
        >>> letter_form(record), replies_of(record)
        ('Answer: ', {'cup': 'Answer: A', 'rim': 'Answer: B'})
    """
    listed = options_in(record.messages)
    form, letter = record.answer[:-1], record.answer[-1:]
    own = letter in listed and (form == "" or form.endswith(" ")) and "\n" not in form
    return form if own and sorted(listed.values()) == sorted(record.choices) else None


def replies_of(record: Record) -> dict[str, str]:
    """Return the reply of each choice in the record's format; empty where the record has no such reply.

    Where the prompt lists the choices with letters and the reference reply is a letter, the reply of a choice is the
    letter that it has in this prompt (see `letter_form`). There is no reply for a record with regions, with fewer than
    two choices, without a reference reply, or whose reference reply is not a line that ends with one of the choices.

    Example:
        >>> record = Record(id="", task="", task_class="", task_version=1, source="", key="", modality="CFP", image=(),
        ...     image_plain=(), image_sha256=(), split="test", group="", language="en", messages=(),
        ...     choices=("0", "1"), answer="Stage: 1")
        >>> replies_of(record)
        {'0': 'Stage: 0', '1': 'Stage: 1'}
    """
    lines = record.answer.splitlines()
    if record.regions or len(record.choices) < 2 or len(lines) != 1:
        return {}
    lettered = letter_form(record)
    if lettered is not None:
        letters = {text: letter for letter, text in options_in(record.messages).items()}
        return {choice: lettered + letters[choice] for choice in record.choices}
    try:
        form = wordings(record, record.choices)
    except BadArgument:  # an open answer
        return {}
    return {choice: reply_text(form, [i], record.choices) for i, choice in enumerate(record.choices)}


def refuse_several_questions(records: Iterable[Record], choices: Sequence[str]) -> None:
    """Raise an error if records ask different questions, as a classifier does not see the question.

    Records with regions are not checked: each crop has one question, and the form of its line is only its number.

    Args:
        records: Records of the training split; may be empty.
        choices: Words a reply may use, in the order of the classes.

    Raises:
        BadArgument: The reference replies have several forms, or one does not end with one of the choices.
    """
    forms = {wordings(record, choices)[0].form for record in records if not record.regions}
    if len(forms) > 1:
        expected = f"one question for a classifier; these records ask {len(forms)}: {', '.join(sorted(forms))}"
        cure = "name one variant, e.g. `--data.variant drusen`, and train one classifier for each"
        raise BadArgument("data.variant", "", expected, cure)


def reply_text(wording: Sequence[Wording], classes: Sequence[int], choices: Sequence[str]) -> str:
    r"""Return the reply with these classes, one per line, in the record's format.

    Example:
        >>> lines = [Wording("Region ID: 1; Type: ", 0), Wording("Region ID: 2; Type: ", 1)]
        >>> reply_text(lines, [1, 1], ("disc", "cup"))
        'Region ID: 1; Type: cup\nRegion ID: 2; Type: cup'
    """
    return "\n".join(w.form + choices[c] for w, c in zip(wording, classes, strict=True))
