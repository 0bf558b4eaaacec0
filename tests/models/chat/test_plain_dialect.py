"""The dialect of any class: prompts and pictures of records, and the inputs its processor makes."""

import pytest
import torch
from transformers import AutoProcessor

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.types import Message, Part
from lmod_train.models.chat.plain_dialect import PlainDialect
from tests.models.chat.plain_reference import plain_inputs
from tests.models.chat.written_once import write_other
from tests.tiny import record

RECORDS = [record("1", "Is it ill?", ["a.png"]), record("2", "Which of all these?", ["tall.png"])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_other(tmp_path_factory.mktemp("deepseek_vl"), "deepseek_vl")


def test_inputs_are_those_of_the_processor_padded_on_the_left(folder, eyes):
    dialect = PlainDialect(folder)
    batch = dialect(RECORDS, eyes)
    both = dialect.inputs(batch, [0, 1])
    assert both["attention_mask"][0, 0] == 0 and both["attention_mask"][:, -1].all()
    for row, one in enumerate(RECORDS):
        alone, theirs = dialect.inputs(batch, [row]), plain_inputs(AutoProcessor.from_pretrained(folder), eyes, one)
        assert alone.keys() == theirs.keys() and all(torch.equal(alone[name], theirs[name]) for name in theirs)
        length = theirs["input_ids"].shape[1]
        assert torch.equal(both["input_ids"][row, -length:], theirs["input_ids"][0])


def test_a_picture_is_decoded_once(folder, eyes):
    batch = PlainDialect(folder)([RECORDS[0], record("3", "And?", ["a.png"])], eyes)
    assert batch.pictures[0][0] is batch.pictures[1][0]


def test_as_many_image_parts_as_images(folder, eyes):
    parts = (Part("image"), Part("image"), Part("text", "Which?"))
    wrong = record("1", image=["a.png"])
    wrong = type(wrong)(
        **{f: getattr(wrong, f) for f in wrong.__dataclass_fields__} | {"messages": (Message("user", parts),)}
    )
    with pytest.raises(BadArgument, match=r"messages of 1='2 image part\(s\)': expected 1"):
        PlainDialect(folder)([wrong], eyes)


def test_an_answer_continues_its_prompt_with_its_end_token(folder, eyes):
    dialect = PlainDialect(folder)
    batch = dialect(RECORDS, eyes)
    ids = dialect.answer_ids(batch, 0, "NORMAL", dialect.inputs(batch, [0])["input_ids"][0].tolist())
    assert ids[-1] == dialect.end_id and dialect.tokenizer.decode(ids) == " NORMAL</s>"


def test_a_folder_without_an_image_processor_is_refused(tmp_path):
    folder = write_other(tmp_path, "deepseek_vl")
    (folder / "processor_config.json").unlink()
    with pytest.raises((WeightsMismatch, OSError)):
        PlainDialect(folder)
