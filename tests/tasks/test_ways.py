"""Ways of asking: every combination once, only messages, images, id and tags differ, and errors name the option."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.four_way import PROMPT, FourWay
from lmod_train.tasks.glaucoma import PROMPT as GLAUCOMA
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.ways import Ways, in_every_way, is_greedy, summary
from tests.tabled import stored, tabled
from tests.tiny import record

TASKS = {"four_way": FourWay(), "glaucoma": Glaucoma(), "conversation": Conversation()}


def four_way(key="a", answer="normal", **fields):
    made = record(f"four_way/p/{key}", PROMPT, [f"{key}.png"], f"DISEASE: {answer}", task="four_way")
    return replace(made, choices=FourWay.choices, tags={"level": "R"}, split="test", **fields)


def glaucoma(key="a", **fields):
    text = GLAUCOMA.replace("<IMAGE TYPE>", "an ophthalmology fundus image")
    return replace(record(f"glaucoma/p/{key}", text, [f"{key}.png"]), split="test", **fields)


def free():
    made = record("conversation/p/a", "What is it?", [], "An eye.", task="conversation")
    return replace(made, choices=(), split="test")


def asked(records, training=(), **ways):
    return in_every_way(records, TASKS, Ways(**ways), training)


def test_by_default_every_record_is_asked_as_curated():
    records = [four_way(), glaucoma(), free()]
    assert asked(records) == records
    assert summary(records) == []


def test_every_combination_is_asked_once_and_the_curated_record_is_one_of_them():
    made = asked([four_way()], wordings=3, orders=4, system_prompts={"none": "", "expert": "You are."}, repeats=2)
    assert len(made) == 3 * 4 * 2 * 2 == len({r.id for r in made})
    assert Counter(len({r.tags[factor] for r in made}) for factor in ("wording", "order", "system", "repeat")) == {
        3: 1,
        4: 1,
        2: 2,
    }
    plain = made[0]
    assert plain.id == four_way().id and plain.messages == four_way().messages
    assert plain.tags == {"level": "R", "wording": "0", "order": "0", "system": "none", "repeat": "1"}
    assert made[-1].id == f"{plain.id}/wording-2_order-3_system-expert_repeat-2"


def test_nothing_but_messages_images_id_and_tags_changes():
    training = [replace(four_way(f"t{i}"), split="train") for i in range(4)]
    made = asked([four_way()], training, wordings=2, orders="all", system_prompts={"expert": "You are."}, shots=2)
    same = {"id": "", "tags": {}, "messages": (), "image": (), "image_plain": (), "image_sha256": ()}
    assert len(made) == 48 and {repr(replace(r, **same)) for r in made} == {repr(replace(four_way(), **same))}


def test_repeats_have_the_same_words_and_other_ids():
    first, second = asked([glaucoma()], repeats=2)
    assert first.messages == second.messages and [first.tags, second.tags] == [{"repeat": "1"}, {"repeat": "2"}]


def test_a_system_message_is_named_and_comes_first():
    (made,) = asked([glaucoma()], system_prompts={"expert": "You are an ophthalmologist."})
    assert made.id == "glaucoma/p/a/system-expert" and made.tags == {"system": "expert"}
    assert made.messages == (Message("system", (Part("text", "You are an ophthalmologist."),)), *glaucoma().messages)


def test_examples_are_asked_in_the_words_and_the_order_of_the_question():
    training = [replace(glaucoma(f"t{i}", answer=a), split="train") for i, a in enumerate(("GLAUCOMA", "NON-GLAUCOMA"))]
    made = asked([glaucoma()], training, wordings=2, orders=2, shots=2)
    for way in made:
        words = [m.parts[-1].text for m in way.messages if m.role == "user"]
        assert len(words) == 3 and len(set(words)) == 1
        assert sorted(m.parts[0].text for m in way.messages if m.role == "assistant") == ["GLAUCOMA", "NON-GLAUCOMA"]
    assert len({way.messages for way in made}) == 4
    assert len({way.image for way in made}) == 1, "all ways have the same examples"


def test_a_task_with_fewer_ways_is_asked_in_those_that_it_has():
    made = asked([four_way(), glaucoma(), free()], wordings=4, orders=4)
    assert Counter(r.task for r in made) == {"four_way": 16, "glaucoma": 8, "conversation": 1}
    assert summary(made) == [
        "four_way: 1 question, 16 records (4 of wording, 4 of order)",
        "glaucoma: 1 question, 8 records (4 of wording, 2 of order)",
        "conversation: 1 question, 1 record (1 of wording, 1 of order)",
    ]


@tabled("option", [{"wordings": 2}, {"wordings": "all"}, {"orders": 2}, {"orders": "all"}])
def test_a_way_that_no_question_has_is_an_error(option):
    (name,) = option
    with pytest.raises(BadArgument, match=rf"data\.asking\.{name}=.*none has"):
        asked([free()], **option)
    assert asked([], **option) == []


@tabled(("option", "message"), stored(__file__, "ways.wrong_options_are_named"))
def test_wrong_options_are_named(option, message):
    with pytest.raises(BadArgument, match=message):
        Ways(**option)


def test_all_orders_of_many_options_are_refused():
    many = tuple("ABCDEFGH")
    made = replace(four_way(), choices=many, messages=record(text=f"One of {', '.join(many)}.").messages)
    with pytest.raises(BadArgument, match=r"at most 120 orders; four_way/p/a lists 8 options"):
        asked([made], orders="all")
    assert len({r.messages for r in asked([made], orders=50)}) == 50


def test_a_system_message_of_its_own_or_a_tag_of_that_name_is_refused():
    own = replace(glaucoma(), messages=(Message("system", (Part("text", "Be brief."),)), *glaucoma().messages))
    with pytest.raises(BadArgument, match=r"leave out data\.asking\.system_prompts"):
        asked([own], system_prompts={"expert": "You are."})
    with pytest.raises(BadArgument, match=r"tags of glaucoma/p/a=\['order'\]"):
        asked([glaucoma(tags={"order": "3"})], wordings=2)


def test_greedy_decoding_is_known_by_the_settings_of_both_backends():
    from lmod_train.models.backends.endpoint.request import Decoding
    from lmod_train.models.chat.decoding import Decoding as Local

    assert is_greedy({"decoding": str(Local(8))}) and is_greedy(Decoding("m").settings())
    assert not is_greedy(Decoding("m", temperature=0.7).settings()) and not is_greedy(Decoding("gpt-5").settings())
    assert not is_greedy({"decoding": "model"})
