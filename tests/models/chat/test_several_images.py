"""Records with several images, on every family: replies and loss are those of transformers, record by record."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part
from lmod_train.models.chat import answer_loss
from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.answer_loss import batch_loss
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from tests.models.chat.quick import some_kin, two_kin
from tests.models.chat.reference import generated, loss_of_transformers
from tests.tiny import base, record

NEW = 6
QUESTIONS = ["Which of these eyes is ill?", "Name the cup.", "Is it, of cataract, glaucoma and normal, one of these?"]


def apart(id):
    """A record whose words stand between its images, and whose images stand in two turns."""
    turns = (
        Message("user", (Part("text", "First"), Part("image"), Part("text", "then"), Part("image"))),
        Message("assistant", (Part("text", "Two eyes."),)),
        Message("user", (Part("image"), Part("text", "And this?"))),
    )
    return replace(record(id, image=["a.png", "tall.png", "b.png"], answer="NORMAL"), messages=turns)


RECORDS = [
    record("0", QUESTIONS[0], ["a.png", "tall.png"], "The first, as its disc shows."),
    record("1", "What is an optic disc?", [], "Where the nerve leaves the eye."),
    record("2", QUESTIONS[1], ["a.png"], "CUP"),
    record("3", QUESTIONS[2], ["a.png", "tall.png"], "NORMAL"),
    record("4", QUESTIONS[1], ["tall.png", "a.png"], "NON-GLAUCOMA"),
    record("5", QUESTIONS[1], ["a.png", "tall.png"], "GLAUCOMA"),
    record("6", QUESTIONS[1], ["b.png", "b.png"], "Both."),
    apart("7"),
]


def assert_replies_are_those_of_transformers(kin, eyes):
    expected = [generated(kin, eyes, one, NEW) for one in RECORDS]
    batch = kin.dialect(RECORDS, eyes)
    assert batch.prompt_ids == [old for old, _ in expected]
    replies = respond(kin.network, kin.dialect, batch, Decoding(NEW), "tiny")
    words = [kin.dialect.tokenizer.decode(new, skip_special_tokens=True).strip() for _, new in expected]
    assert [r.reply for r in replies] == words
    return words


def test_replies_are_those_of_transformers(kin, eyes):
    words = assert_replies_are_those_of_transformers(kin, eyes)
    assert len(set(words)) >= len(RECORDS) - 2, "replies that depend on nothing prove nothing"


def test_replies_of_the_small_base_are_those_of_transformers(eyes):
    kin = SimpleNamespace(network=load(base()).eval(), dialect=Dialect(base()))
    assert_replies_are_those_of_transformers(kin, eyes)


def test_an_image_is_encoded_once_and_the_prefix_of_the_same_images_computed_once(kin, eyes):
    batch = kin.dialect(RECORDS, eyes)
    distinct = {(path, kin.dialect.family.differs_beside and len(r.image) > 1) for r in RECORDS for path in r.image}
    assert len(batch.images) == len(distinct) == (4 if kin.model_type == "llava_onevision" else 3)
    assert batch.images_of[0] == batch.images_of[3] == batch.images_of[5] == batch.images_of[4][::-1]
    assert batch.images_of[1] == () and len(set(batch.images_of[6])) == 1 and len(batch.images_of[7]) == 3
    token, seen = kin.network.config.image_token_id, []
    hook = kin.network.register_forward_pre_hook(
        lambda _, args, given: seen.append(given["input_ids"]), with_kwargs=True
    )
    respond(kin.network, kin.dialect, kin.dialect([RECORDS[i] for i in (0, 3, 5)], eyes), Decoding(1), "tiny")
    hook.remove()
    assert next(len(ids) for ids in seen if (ids == token).any()) == 1, "three questions about the same two images"


@pytest.fixture(scope="module")
def tuned(kin):
    """The family's network with adapters that are not zero, projector and tower learning."""
    torch.manual_seed(0)
    model = trainable(load(kin.folder), Lora(4, 8, 0.0), tune_tower=True)
    for parameter in model.parameters():
        if parameter.requires_grad and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
    return SimpleNamespace(model=model, network=model.get_base_model(), dialect=kin.dialect)


def gradients(tuned, loss):
    tuned.model.zero_grad()
    loss.backward()
    return {n: p.grad.clone() for n, p in tuned.model.named_parameters() if p.grad is not None}


def test_loss_and_gradients_are_those_of_transformers(tuned, eyes):
    expected = torch.stack([loss_of_transformers(tuned, eyes, one) for one in RECORDS]).mean()
    theirs = gradients(tuned, expected)
    length = torch.stack([g.norm() for g in theirs.values()]).norm()
    for shared in (True, False):
        loss = batch_loss(tuned.network, tuned.dialect(RECORDS, eyes), 0, 2048, shared)
        ours = gradients(tuned, loss)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
        assert ours.keys() == theirs.keys()
        assert torch.stack([(ours[n] - g).norm() for n, g in theirs.items()]).norm() / length < 1e-5


@two_kin
def test_the_comparison_sees_images_in_another_order(tuned, eyes, monkeypatch):
    squares = [record("s", QUESTIONS[0], ["a.png", "b.png"], "The first.")]  # of one size: only their order differs
    right = batch_loss(tuned.network, tuned.dialect(squares, eyes), 0, 2048, True).item()
    pack = answer_loss.pack
    turned = lambda rows, p, a, images, *rest: pack(rows, p, a, [own[::-1] for own in images], *rest)  # noqa: E731
    monkeypatch.setattr(answer_loss, "pack", turned)
    wrong = batch_loss(tuned.network, tuned.dialect(squares, eyes), 0, 2048, True).item()
    assert wrong != pytest.approx(right, rel=1e-4)


@some_kin
def test_plain_prompts_are_the_prompts_that_are_learnt(kin, eyes):
    for one, ids in zip(RECORDS, kin.dialect(RECORDS, eyes).prompt_ids, strict=True):
        assert kin.dialect.plain_prompt(one, eyes) == ids


@two_kin
@pytest.mark.parametrize("places", [1, 3])
def test_as_many_image_parts_as_images(kin, eyes, places):
    parts = (*[Part("image")] * places, Part("text", "Which?"))
    wrong = replace(RECORDS[0], messages=(Message("user", parts),))
    with pytest.raises(BadArgument, match=rf"messages of 0='{places} image part\(s\)': expected 2"):
        kin.dialect([wrong], eyes)


def test_one_image_prepared_as_shown_beside_itself(kin, eyes):
    """A single image that is shown beside others (LLaVA-OneVision) is not taken for one shown alone."""
    batch = kin.dialect([RECORDS[6]], eyes)
    assert len(batch.images) == 1 and batch.images_of == [(0, 0)]
    with torch.no_grad():
        assert encode(kin.network, batch.images).tokens == batch.images.tokens
