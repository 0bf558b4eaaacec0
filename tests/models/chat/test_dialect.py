"""What each family is sent and taught, against its own template and tokenizer."""

import json
import pickle
import shutil

import pytest
import torch
from PIL import Image
from transformers import BatchFeature

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.models.chat.answer_loss import batch_loss
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from tests.families import TINY
from tests.models.chat.quick import some_kin
from tests.models.chat.written_once import write_tiny
from tests.tiny import record

ODD = "Two  spaces, a brace {x}, 视盘 or CUP?\nFollow: <JUSTIFICATION>."


def test_the_prompt_is_a_prefix_of_what_is_learnt_and_the_end_is_learnt(kin, eyes):
    for answer in ("GLAUCOMA", "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup", "正常", "assistant"):
        batch = kin.dialect([record(text=ODD, image=["a.png"], answer=answer)], eyes)
        prompt, learnt = batch.prompt_ids[0], batch.answer_ids[0]
        asked = kin.dialect([record(text=ODD, image=["a.png"], answer="another")], eyes).prompt_ids[0]
        tokenizer = kin.dialect.tokenizer
        assert prompt == asked and ODD in batch.rendered[0] and ODD in tokenizer.decode(prompt)
        assert tokenizer.decode(learnt[:-1]).strip() == answer
        assert learnt[-1] == kin.dialect.end_id and learnt.count(kin.dialect.end_id) == 1
        assert tokenizer.decode(learnt[-1:]) == kin.dialect.end == TINY[kin.model_type].end
        assert prompt.count(tokenizer.bos_token_id) == ("bos_token" in TINY[kin.model_type].template)


def test_white_space_around_an_answer_is_not_learnt_and_no_answer_is_asked_alone(kin, eyes):
    records = [record(text=ODD, image=["a.png"], answer=answer) for answer in ("Yes", " Yes\n", "", "\n")]
    batch = kin.dialect(records, eyes)
    plain, around, *nothing = batch.answer_ids
    assert around == plain and nothing == [[], []]
    assert all(prompt == batch.prompt_ids[0] for prompt in batch.prompt_ids)


def test_generation_by_others_stops_on_the_end_too(kin):
    assert kin.dialect.end_id in kin.network.generation_config.eos_token_id


def test_each_picture_has_as_many_places_as_its_shape_gives(kin, eyes):
    batch = kin.dialect([record("1", image=["a.png"]), record("2", image=["tall.png"])], eyes)
    token = kin.network.config.image_token_id
    places = [ids.count(token) for ids in batch.prompt_ids]
    assert places == batch.images.tokens
    assert places == [*TINY[kin.model_type].places]


@some_kin
def test_a_record_that_cannot_be_asked_or_learnt_costs_itself(kin, eyes, tmp_path):
    shutil.copytree(eyes, tmp_path, dirs_exist_ok=True)
    for name, size in (("thin.png", (400, 1)), ("dot.png", (1, 1))):
        Image.new("RGB", size).save(tmp_path / name)
    token = kin.dialect.tokenizer.decode([kin.network.config.image_token_id])
    usual = [record(str(i), image=["a.png"], answer="Yes") for i in range(2)]
    asking = record("asking", text=f"What is {token}?", image=["a.png"], answer="Yes")
    answering = record("answering", image=["a.png"], answer=f"a {token}")
    pictured = [record(name, image=[name], answer="Yes") for name in ("thin.png", "dot.png")]
    batch = kin.dialect([usual[0], asking, answering, *pictured, usual[1]], tmp_path)
    assert batch.refused.keys() == {1, 2, 3, 4} and batch.unasked().keys() == {1, 3, 4}
    assert token in batch.refused[1] and "400x1" in batch.refused[3]
    alone = kin.dialect(usual, tmp_path)
    kept = [batch.prompt_ids[i] for i in (0, 5)], [batch.answer_ids[i] for i in (0, 5)]
    assert kept == (alone.prompt_ids, alone.answer_ids) and len(batch.images) == len(alone.images) == 1
    assert batch.prompt_ids[2] == kin.dialect([record("answering", image=["a.png"])], tmp_path).prompt_ids[0]
    network, pad = kin.network, kin.dialect.tokenizer.pad_token_id
    with torch.no_grad():
        losses = [float(batch_loss(network, b, pad, 4096, shared_prefix=True)) for b in (batch, alone)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    replies = respond(network, kin.dialect, batch, Decoding(4), "tiny")
    assert [r.id for r in replies] == [r.id for r in batch.records]
    assert [r.finish_reason == "error" for r in replies] == [False, True, False, True, True, False]
    assert replies[5].reply == respond(network, kin.dialect, alone, Decoding(4), "tiny")[1].reply


def test_it_travels_to_other_processes(kin, eyes):
    records = [record(image=["a.png"])]
    here, there = kin.dialect(records, eyes), pickle.loads(pickle.dumps(kin.dialect))(records, eyes)
    assert here.prompt_ids == there.prompt_ids
    mine, theirs = (kin.dialect.family.joined(b.images.items) for b in (here, there))
    assert mine.keys() == theirs.keys() and all(torch.equal(v, theirs[k]) for k, v in mine.items())


def test_the_network_is_checked_before_it_is_built(kin, tmp_path):
    kin.dialect.verify(kin.network.config)
    blank = kin.dialect.images([Image.new("RGB", (48, 48))])
    assert len(blank) == 1 and blank.tokens and blank.tokens[0] > 0
    shutil.copytree(kin.folder, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors"))
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    change = dict(TINY[kin.model_type].misfit)
    config["vision_config"] |= change.pop("vision_config", {})
    path.write_text(json.dumps(config | change))
    other = Dialect(tmp_path)
    with pytest.raises(WeightsMismatch, match="image tokens"):
        other.verify(other.config)


THINKS = "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
MAY_THINK = """{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking %}<think>
{% endif %}{% endif %}"""


def test_a_template_that_thinks_is_asked_not_to_and_refused_if_it_must(tmp_path, eyes):
    write_tiny(tmp_path, "qwen3_vl")
    path = tmp_path / "chat_template.jinja"
    plain, opening = (
        path.read_text(encoding="utf-8"),
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    )
    assert opening in plain
    path.write_text(plain.replace(opening, MAY_THINK), encoding="utf-8")
    assert Dialect(tmp_path).render(record(image=["a.png"]))[0].endswith("assistant\n")
    path.write_text(plain.replace(opening, THINKS), encoding="utf-8")
    with pytest.raises(WeightsMismatch, match="instruct variant"):
        Dialect(tmp_path)


def test_a_picture_is_made_square_for_the_family_that_would_crop_it(kin):
    wide = Image.new("RGB", (120, 90))
    assert kin.dialect.shaped(wide).size == ((120, 120) if kin.model_type == "llava" else (120, 90))


def test_a_template_may_end_its_prompt_in_another_white_space_than_it_teaches(tmp_path):
    dialect = Dialect(write_tiny(tmp_path, "llava_onevision"))
    prompt, learnt = dialect.render(record(image=["a.png"], answer="GLAUCOMA"))
    assert prompt.endswith("<|im_start|>assistant\n") and learnt == "GLAUCOMA<|im_end|>"


def test_what_an_image_processor_makes_is_taken_or_known_or_refused(kin, monkeypatch):
    image_processor = type(kin.dialect.processor.image_processor)
    made = image_processor.__call__

    def more(self, *args, **options):
        return BatchFeature({**made(self, *args, **options), "depth_values": torch.zeros(1)})

    def fewer(self, *args, **options):
        return BatchFeature({k: v for k, v in made(self, *args, **options).items() if k != "pixel_values"})

    picture = Image.new("RGB", (60, 60))
    processor, family = kin.dialect.processor, kin.dialect.family
    options = getattr(processor, "images_kwargs", None) or {}
    assert {*made(processor.image_processor, [picture], **options)} == {*family.tensors, *family.left_out}
    assert {*kin.dialect.images([picture]).items[0]} == {*family.tensors}
    monkeypatch.setattr(image_processor, "__call__", more)
    with pytest.raises(BadArgument, match=rf"(?s){kin.model_type}='.*depth_values.*; not depth_values.*Next: use"):
        kin.dialect.images([picture])
    monkeypatch.setattr(image_processor, "__call__", fewer)
    with pytest.raises(BadArgument, match=rf"(?s){kin.model_type}=.*expected pixel_values"):
        kin.dialect.images([picture])
