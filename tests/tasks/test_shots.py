"""Examples of few-shot questions: whose they are, how many of each answer, and where their images stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import lettered
from lmod_train.core.types import Message, Part
from lmod_train.tasks.ways import Examples, with_examples
from tests.tabled import tabled
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def pool(n=40, **fields):
    made = [
        record(f"glaucoma/phantom/{i:02}", text=f"Eye {i}?", image=[f"{i:02}.png"], answer=WORDS[i % 4 == 0])
        for i in range(n)
    ]
    return [replace(r, group=f"p{i // 4}", **fields) for i, r in enumerate(made)]


def asked(group="p99", **fields):
    return replace(record("glaucoma/phantom/asked", image=["own.png"], split="test"), group=group, **fields)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(0, 9), st.integers(0, 5))
def test_examples_are_of_other_families_different_and_balanced(count, group, seed):
    drawn = Examples(pool(), seed).draw(asked(f"p{group}"), count)
    assert len({r.id for r in drawn}) == count
    assert f"p{group}" not in {r.group for r in drawn}
    found = Counter(r.answer for r in drawn)
    rare = min(count // 2, 9)
    assert found["NON-GLAUCOMA"] >= rare and abs(found["NON-GLAUCOMA"] - found["GLAUCOMA"]) <= max(1, count - 18)


def test_an_example_never_shows_the_image_of_the_question():
    copy = replace(asked(group=""), image_sha256=pool()[0].image_sha256)
    drawn = Examples(pool(8), 0).draw(copy, 7)
    assert pool()[0].id not in {r.id for r in drawn}


def test_the_draw_depends_on_seed_and_question_alone():
    one, examples = asked(), Examples(pool(), 0)
    first = examples.draw(one, 4)
    assert first == examples.draw(one, 4) == Examples(pool()[::-1], 0).draw(one, 4)
    others = [Examples(pool(), 1).draw(one, 4), examples.draw(replace(one, id="other"), 4)]
    assert first not in others
    assert first[:2] == examples.draw(one, 2)


@tabled(
    "other",
    [{"task": "four_way"}, {"source": "refuge"}, {"modality": "OCT"}, {"variant": "drusen"}, {"language": "zh"},
     {"choices": ("GLAUCOMA",)}, {"phantom": True}, {"needs": ("a",), "messages": (Message("user", (Part("text",
     "{answer 1}?"),)),)}],
)  # fmt: skip
def test_a_question_of_another_kind_is_no_example(other):
    with pytest.raises(BadArgument, match=r"data\.asking\.shots=1: expected at most 0"):
        Examples(pool(**other), 0).draw(asked(), 1)


def test_too_few_examples_are_an_error_that_names_their_number():
    with pytest.raises(BadArgument, match=r"shots=9: expected at most 4: .*glaucoma/phantom/asked"):
        Examples(pool(8), 0).draw(asked("p0"), 9)


def test_examples_are_answered_turns_before_the_question_each_with_its_image():
    system = Message("system", (Part("text", "Be brief."),))
    question = replace(asked(), messages=(system, *asked().messages))
    drawn = pool()[:2]
    made = with_examples(question, drawn, lambda r: replace(r, messages=(Message("user", r.messages[0].parts[:1]),)))
    assert [m.role for m in made.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [m.parts[0].text for m in made.messages if m.role == "assistant"] == [r.answer for r in drawn]
    assert made.messages[1].parts == (Part("image"),) and made.messages[-1] == question.messages[-1]
    assert made.image == ("00.png", "01.png", "own.png") == made.image_plain
    assert made.image_sha256 == (*drawn[0].image_sha256, *drawn[1].image_sha256, *question.image_sha256)
    assert (made.id, made.answer, made.group, made.split) == (question.id, question.answer, "p99", "test")


def test_the_examples_do_not_make_a_family():
    bare = asked(group="")
    made = [with_examples(bare, [example], lambda r: r) for example in pool()[:2]]
    assert made[0].group == made[1].group == bare.image_sha256[0]


def stages(split, cases):
    """Two stages of cases, with options in an order of each question's own."""
    for i in range(cases):
        for step, words in (("DD", ["no hole", "full", "lamellar"]), ("CD", ["observe", "treat"])):
            options = words[i % 2 :] + words[: i % 2]
            text = f"{step}?\n{lettered(options)}"
            made = record(f"chain/phantom/{split}{i}/{step}", text=text, image=[f"{split}{i}.png"], split=split)
            yield replace(made, chain_step=step, choices=tuple(options), answer="Answer: B", group=f"{split}{i}")


@pytest.mark.parametrize("step", ["DD", "CD"])
def test_examples_of_a_stage_have_lists_of_their_own(step):
    question = next(r for r in stages("test", 1) if r.chain_step == step)
    drawn = Examples(stages("train", 6), 0).draw(question, 6)
    assert {r.chain_step for r in drawn} == {step} and len({r.choices for r in drawn}) == 2
    texts = [part.text for m in with_examples(question, drawn, lambda r: r).messages for part in m.parts]
    for example in drawn:
        at = texts.index(example.messages[0].parts[-1].text)
        assert texts[at + 1] == "Answer: B", "the letter is that of the example's own list"
