"""Messages as one text and back: nothing is lost, nothing is added, and what cannot be written is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Message, Part
from lmod_train.data.formats.turns import Conversation, conversations, one_question, parts_of, problem_of, text_of
from lmod_train.tasks.prompt import prompt
from tests.data.formats.conftest import WORDS, record, talk
from tests.growth import growth
from tests.tabled import tabled

IMAGE = Part("image")


def text(words: str) -> Part:
    return Part("text", words)


def parted(parts: list[Part]) -> tuple[Part, ...]:
    """Neighbouring texts as one, as one text has no seam."""
    joined: list[Part] = []
    for part in parts:
        if joined and joined[-1].type == part.type == "text":
            joined[-1] = text(joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


WRITTEN = st.text("ab <>\n.ü左", min_size=1, max_size=8).filter(lambda t: t.strip() and "<image>" not in t).map(text)


@given(st.lists(st.one_of(st.just(IMAGE), WRITTEN), min_size=1, max_size=6))
def test_parts_survive_being_one_text(parts: list[Part]):
    assert parts_of(text_of(Message("user", tuple(parts)))) == parted(parts)


@tabled(
    ("written", "parts"),
    [
        ("<image>\nWhat?", (IMAGE, text("What?"))),
        ("What?\n<image>", (text("What?"), IMAGE)),
        ("<image>What?", (IMAGE, text("What?"))),
        ("<image>\n\nWhat?\n", (IMAGE, text("\nWhat?\n"))),
        ("Is <image>\nlike <image>?", (text("Is "), IMAGE, text("like "), IMAGE, text("?"))),
        ("<image>\n<image>\nSame?", (IMAGE, IMAGE, text("Same?"))),
        ("Same?\n<image>\n<image>", (text("Same?"), IMAGE, IMAGE)),
        ("No picture.", (text("No picture."),)),
        ("", ()),
    ],
)
def test_llava_s_own_ways_of_writing_are_read(written: str, parts: tuple[Part, ...]):
    assert parts_of(written) == parts


@tabled("unit", ["a", "\n", " ", "<image>", "\n<image>", "a\n", "\n<image>a"])
def test_time_is_linear_and_depth_bounded(unit: str):
    for end in ("", "\n<image>x"):
        assert growth(lambda size, end=end: parts_of(unit * (size // len(unit)) + end), 25_000) < 2.5


def test_words_are_not_touched():
    assert text_of(prompt(WORDS)[0]) == f"<image>\n{WORDS}"
    assert text_of(prompt(WORDS)[0], after="") == f"<image>{WORDS}"


def test_a_longer_conversation_holds_its_beginning():
    both = talk()
    (one,) = conversations(both)
    assert one.record == both[1]
    assert [(t.role, t.parts[-1].text) for t in one.turns] == [
        ("user", "Which eye?"),
        ("assistant", "Left."),
        ("user", "Why?"),
        ("assistant", "Disc."),
    ]


def test_different_questions_about_one_image_stay_apart():
    several = [record("glaucoma", 0, id=f"g/{n}", messages=prompt(f"Question {n}")) for n in range(3)]
    assert [c.record.id for c in conversations(several)] == ["g/0", "g/1", "g/2"]


def conversation(*turns: Message, image: tuple[str, ...] = ("a.jpg",)) -> Conversation:
    return Conversation(record("glaucoma", 0, image=image), turns)


USER, SAID, SYSTEM = prompt("Eye?")[0], Message("assistant", (text("Yes"),)), Message("system", (text("Be brief"),))


@tabled(
    ("one", "reason"),
    [
        (conversation(USER, SAID), None),
        (conversation(SYSTEM, USER, SAID), "system_turn"),
        (conversation(USER, USER, SAID), "roles"),
        (conversation(USER), "roles"),
        (conversation(prompt("an <image> of")[0], SAID), "image_word"),
        (conversation(USER, Message("assistant", (text("<image>"),))), "image_word"),
        (conversation(USER, SAID, image=("a.jpg", "b.jpg")), "image_places"),
        (conversation(USER, SAID, image=()), "image_places"),
    ],
)
def test_what_cannot_be_written_is_told(one: Conversation, reason: str | None):
    found = problem_of(one, system=False)
    assert (found and found[0]) == reason
    if reason == "system_turn":
        assert problem_of(one, system=True) is None


def test_one_question_is_its_words_or_the_reason_why_not():
    assert one_question(record("glaucoma", 0)) == WORDS
    assert one_question(talk()[1])[0] == "several_turns"
    late = (Message("user", (text("Eye?"), IMAGE)),)
    assert one_question(record("glaucoma", 0, messages=late))[0] == "image_not_first"


def test_a_record_that_needs_earlier_answers_is_left_out_with_its_reason() -> None:
    needing = record("glaucoma", 0, needs=("glaucoma/open_eyes/part/001",))
    (conversation,) = conversations([needing])
    for found in (problem_of(conversation, system=True), one_question(needing)):
        assert isinstance(found, tuple) and found[0] == "needs_answers"
