"""Messages as one text a turn, with a word where an image stands, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from lmod_train.core.types import Message, Part, Record
from lmod_train.data.formats.folder import ExportFolder
from lmod_train.tasks.conversation import TURNS

IMAGE = "<image>"
"""The word for an image in the text of LLaVA, LLaMA-Factory and ms-swift."""

NEEDS_ANSWERS = "needs_answers", "its words hold answers to earlier questions, which are known when it is asked"
"""Reason and detail why a record with `needs` is left out."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that belong together, the answer of the last one among them.

    Attributes:
        record: Whose id, image files and licence hold: the record that asks last.
        turns: Every message, the assistant's last.
    """

    record: Record
    turns: tuple[Message, ...]


def conversations(records: Iterable[Record]) -> Iterator[Conversation]:
    """Yield each record as a conversation with its answer; what a longer one holds as its beginning is not said twice.

    A conversation of n turns is n records, of which the last holds all words of the others, and which may be of several
    tasks of `lmod_train.tasks.conversation.TURNS`. Records of one task, source and key are expected to follow each
    other. They are read twice.

    Example:
        >>> from lmod_train.tasks.prompt import prompt
        >>> fields = dict.fromkeys(("task", "task_class", "source", "key", "modality", "group", "language"), "")
        >>> fields |= dict.fromkeys(("image", "image_plain", "image_sha256", "choices"), ()) | {"task_version": 1}
        >>> first = Record("a/1", messages=prompt("Which eye?"), answer="Left.", split="train", **fields)
        >>> asked = (*first.messages, Message("assistant", (Part("text", "Left."),)), *prompt("Why?"))
        >>> second = Record("a/2", messages=asked, answer="Disc.", split="train", **fields)
        >>> [(c.record.id, len(c.turns)) for c in conversations([first, second])]
        [('a/2', 4)]
    """
    longest = _of_several_tasks(records)
    for _, together in groupby(records, key=lambda r: (r.task, r.source, r.key, r.language)):
        several = [Conversation(r, (*r.messages, Message("assistant", (Part("text", r.answer),)))) for r in together]
        for one in several:
            n = len(one.turns)
            whole = longest.get(_dialogue(one.record), n) if one.record.task in _NAMES else n
            if n == whole and not any(len(other.turns) > n and other.turns[:n] == one.turns for other in several):
                yield one


_NAMES = frozenset(task.name for task in TURNS)


def _dialogue(record: Record) -> tuple[str, str, str]:
    return record.source, record.key, record.language


def _of_several_tasks(records: Iterable[Record]) -> dict[tuple[str, str, str], int]:
    """Return the turns of each imported conversation whose records are of several tasks, and so not side by side."""
    turns = [(_dialogue(r), r.task, len(r.messages) + 1) for r in records if r.task in _NAMES]
    several = {dialogue for dialogue, task, _ in turns if task != TURNS[0].name}
    longest: dict[tuple[str, str, str], int] = {}
    for dialogue, _, n in turns:
        if dialogue in several:
            longest[dialogue] = max(n, longest.get(dialogue, 0))
    return longest


def text_of(message: Message, after: str = "\n") -> str:
    r"""Return a turn as one text: its words as they are, and `IMAGE` where an image stands.

    Args:
        message: Whose words do not hold `IMAGE` themselves (see `problem_of`).
        after: What parts an image from the words behind it. Where images come last, it stands before them instead.

    Example:
        >>> text_of(Message("user", (Part("image"), Part("text", "Which eye?"))))
        '<image>\nWhich eye?'
        >>> text_of(Message("user", (Part("text", "Which eye?"), Part("image"))))
        'Which eye?\n<image>'
    """
    kinds = [p.type for p in message.parts]
    last = len(kinds) - next((i for i, kind in enumerate(reversed(kinds)) if kind == "text"), len(kinds))
    body = "".join(IMAGE + after if p.type == "image" else p.text for p in message.parts[:last])
    tail = after.join([IMAGE] * (len(kinds) - last))
    return after.join(piece for piece in (body, tail) if piece)


def parts_of(text: str) -> tuple[Part, ...]:
    r"""Return the parts of a turn that is written as one text: the inverse of `text_of`.

    One line break behind an image belongs to the image, as LLaVA writes it; where images come last, one before them
    does. All other words stay as they are.

    Example:
        >>> [p.text or p.type for p in parts_of("<image>\nWhich eye?")]
        ['image', 'Which eye?']
        >>> [p.text or p.type for p in parts_of("Which eye?\n<image>")]
        ['Which eye?', 'image']
    """
    words, last = _without_last_images(text)
    if last and words.strip():
        return (*parts_of(words), *[Part("image")] * last)
    parts: list[Part] = []
    for place, words in enumerate(text.split(IMAGE)):
        if place:
            parts.append(Part("image"))
            words = words.removeprefix("\n")
        if words:
            parts.append(Part("text", words))
    return tuple(parts)


def _without_last_images(text: str) -> tuple[str, int]:
    """Return the text before the lines of images that end it, and how many those are."""
    line, count = f"\n{IMAGE}", 0
    end = len(text)
    while text.endswith(line, 0, end):
        end -= len(line)
        count += 1
    return text[:end], count


def problem_of(conversation: Conversation, *, system: bool) -> tuple[str, str] | None:
    """Return reason and detail why turns cannot be written with an image word, None where they can.

    Args:
        conversation: What is to be written.
        system: Whether the format knows a system turn.
    """
    turns = conversation.turns
    if conversation.record.needs:
        return NEEDS_ANSWERS
    roles = [t.role for t in turns]
    spoken = roles[1:] if roles[0] == "system" else roles
    if roles[0] == "system" and not system:
        return "system_turn", "the format has no place for a system message"
    if spoken != ["user", "assistant"] * (len(spoken) // 2):
        return "roles", f"user and assistant must alternate, found {', '.join(roles)}"
    if any(IMAGE in p.text for t in turns for p in t.parts):
        return "image_word", f"a text holds the word {IMAGE} itself, which readers would take for an image"
    places = sum(p.type == "image" for t in turns for p in t.parts)
    if places != len(conversation.record.image):
        return "image_places", f"{places} places for {len(conversation.record.image)} images"
    return None


def written(records: Iterable[Record], folder: ExportFolder, *, system: bool) -> Iterator[Conversation]:
    """Yield the `conversations` that a format with an image word can hold, counted as written; list the others."""
    for conversation in conversations(records):
        problem = problem_of(conversation, system=system)
        if problem is None:
            folder.written += 1
            yield conversation
        else:
            folder.leave_out(conversation.record, *problem)


def one_question(record: Record) -> tuple[str, str] | str:
    """Return the words of a record that asks once, images first; otherwise reason and detail why it is none such."""
    if record.needs:
        return NEEDS_ANSWERS
    if len(record.messages) != 1 or record.messages[0].role != "user":
        return "several_turns", f"{len(record.messages)} messages where the format has one question"
    kinds = [p.type for p in record.messages[0].parts]
    if kinds != sorted(kinds):  # "image" before "text"
        return "image_not_first", "the format puts images before the words"
    return "".join(p.text for p in record.messages[0].parts)
