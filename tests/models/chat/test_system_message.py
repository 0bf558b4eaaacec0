"""A system message is in the prompt, before the user's words and not as an assistant's, or the template is refused."""

import ast
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part, Record
from lmod_train.models.chat.dialect import Dialect
from tests.families import PLAIN
from tests.tiny import base, record

SYSTEM = "Reply as an ophthalmologist would.\nBe brief: {x}, 视盘."
QUESTION = "Does this eye have glaucoma?"
PARTS = (Part("image"), Part("text", QUESTION))
ASKED = Message("user", PARTS)
SCRIPTS = Path(__file__).parents[3] / "scripts"
BEFORE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}USER: {% else %} ASSISTANT: {% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %} ASSISTANT: {% endif %}"
)
"""The small base's template before it rendered system messages; without one it must write the same."""


def asked(*before: Message, image: str = "a.png") -> Record:
    return replace(record(image=[image]), messages=(*before, ASKED))


def system(*texts: str) -> Message:
    return Message("system", tuple(Part("text", text) for text in texts))


def said(role: str, text: str) -> Message:
    return Message(role, (Part("text", text),))  # type: ignore[arg-type]


def template_written(files: Path, text: str) -> Dialect:
    for file in base().iterdir():
        if file.suffix != ".safetensors":
            shutil.copy(file, files)
    (files / "chat_template.jinja").write_text(text, encoding="utf-8")
    return Dialect(files)


def test_every_family_renders_it_before_the_users_words_and_not_as_an_assistants(kin, eyes):
    batch = kin.dialect([asked(system(SYSTEM)), asked()], eyes)
    with_it, without = batch.rendered
    assert with_it.count(SYSTEM) == 1 and SYSTEM not in without
    assert with_it.index(SYSTEM) < with_it.index(QUESTION)
    assert SYSTEM in kin.dialect.tokenizer.decode(batch.prompt_ids[0])
    lead = with_it[: with_it.index(SYSTEM)].casefold().rstrip(": \n")
    assert not lead.endswith(("assistant", "model", "[/inst]"))
    assert with_it.rpartition(QUESTION)[2] == without.rpartition(QUESTION)[2]


def test_the_small_base_writes_it_before_the_first_turn():
    dialect = Dialect(base())
    prompt, learnt = dialect.render(asked(system(SYSTEM)))
    assert prompt == f"<s>{SYSTEM} USER: <image>\n{QUESTION} ASSISTANT: " and learnt == "GLAUCOMA</s>"


def test_prompts_of_the_small_base_without_one_are_what_they_were(tmp_path, eyes):
    new, old = Dialect(base()), template_written(tmp_path, BEFORE)
    several = [
        asked(),
        asked(said("user", "Which eye?"), said("assistant", "The right one.")),
        record(image=[], text="  Two  spaces, 视盘\n", answer=""),
    ]
    assert [new.render(r) for r in several] == [old.render(r) for r in several]
    mine, theirs = (d(several, eyes) for d in (new, old))
    assert mine.prompt_ids == theirs.prompt_ids and mine.answer_ids == theirs.answer_ids


@pytest.mark.parametrize("file", ["base/language.py", "benchmarks/tuning_world.py"])
def test_the_scripts_that_make_a_base_write_the_same_template(tmp_path, file):
    source = ast.parse((SCRIPTS / file).read_text(encoding="utf-8"))
    (written,) = [
        ast.literal_eval(line.value)
        for line in source.body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "TEMPLATE"
    ]
    if file.startswith("base"):
        assert written == (base() / "chat_template.jinja").read_text(encoding="utf-8")
    one = asked(system(SYSTEM))
    assert template_written(tmp_path, written).render(one) == Dialect(base()).render(one)


USER_OR_ASSISTANT = (
    "{%- if message.role == 'assistant' %} ASSISTANT: {% elif message.role == 'user' %}USER: {% endif %}"
)
LOOP = "{% for message in messages %}"
MISTRAL = """{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST] {% endif %}
{%- for part in message.content %}{% if part.type == 'image' %}<image>
{% else %}{{ part.text }}{% endif %}{% endfor %}{% if message.role == 'user' %} [/INST]
{%- else %}{{ eos_token }}{% endif %}
{%- endfor %}"""
DROPPED = PLAIN.replace(LOOP, "{% for message in messages if message.role != 'system' %}")
BEHIND = (
    "{% for m in messages if m.role == 'system' %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}"
)
FIRST_PART = PLAIN.replace(
    LOOP, LOOP + "{% if message.role == 'system' %}{{ message.content[0].text }}{% else %}"
).replace("{%- endfor %}{% if add", "{%- endif %}{% endfor %}{% if add")


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (BEFORE, "as an assistant's turn"),
        (MISTRAL, "as an assistant's turn"),
        (DROPPED, "does not write"),
        (DROPPED.replace("{% if add", BEHIND + "{% if add"), "before the user's words"),
        (
            PLAIN.replace(
                LOOP, LOOP + "{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
            ),
            "raises no system",
        ),
        (FIRST_PART, "does not write 'Be kind.'"),
    ],
    ids=["assistant", "mistral", "dropped", "behind", "raises", "first_part"],
)
def test_a_template_without_a_place_for_it_is_refused_by_name_with_the_cure(tmp_path, template, found):
    dialect = template_written(tmp_path, template)
    dialect.render(asked())
    with pytest.raises(BadArgument, match=found) as refused:
        dialect.render(asked(system("Be brief.", "Be kind.")))
    assert f"chat_template of {tmp_path}" in str(refused.value) and "data.tasks" in str(refused.value)


def test_words_that_the_question_holds_too_are_not_taken_for_it(tmp_path):
    dialect = template_written(tmp_path, DROPPED)
    with pytest.raises(BadArgument, match="before the user's words"):
        dialect.render(asked(system("glaucoma")))
