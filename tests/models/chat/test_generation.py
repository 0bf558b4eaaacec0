"""Shared-prefix generation against transformers' own processor and generate, one record at a time."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import GenerationConfig

from lmod_train.core.types import Message, Part
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.tasks.ways import is_greedy
from tests.tiny import TOKENS, record

NEW = 6
RECORDS = [
    record("1", "Does this eye have glaucoma?", ["a.png"]),
    record("2", "Does this eye have glaucoma?", ["b.png"]),
    record("3", "Which disease is it, of cataract, diabetic retinopathy, glaucoma and normal?", ["a.png"]),
    record("4", "What is an optic disc?", []),
    record("5", "Name the structure in the box.", ["b.png"]),
    record("6", "Name the cup.", ["a.png"]),
    record("7", "Say which eyes are seen most often by far in a clinic of the city.", []),
]


def alone(network, dialect, eyes, one):
    """Return prompt ids and new ids as transformers gives them."""
    turns = [{"role": m.role, "content": [{"type": p.type, "text": p.text} for p in m.parts]} for m in one.messages]
    text = dialect.processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    images = None
    if one.image:
        pixels = np.asarray(Image.open(eyes / one.image[0]).convert("RGB"))
        mean = [round(255 * m) for m in dialect.processor.image_processor.image_mean]
        square = np.full((120, 120, 3), mean, dtype=np.uint8)
        square[15:105] = pixels
        images = [Image.fromarray(square)]
    inputs = dialect.processor(text=text, images=images, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        out = network.generate(**inputs, max_new_tokens=NEW, do_sample=False, num_beams=1)
    length = inputs["input_ids"].shape[1]
    return out[0, :length].tolist(), out[0, length:].tolist()


@pytest.fixture(scope="module")
def expected(network, dialect, eyes):
    return [alone(network, dialect, eyes, r) for r in RECORDS]


def text(dialect, ids):
    return dialect.tokenizer.decode(ids, skip_special_tokens=True).strip()


def test_a_mixed_batch_gives_the_tokens_of_one_record_at_a_time(network, dialect, eyes, expected):
    replies = respond(network, dialect, dialect(RECORDS, eyes), Decoding(NEW), "tiny", step=7)
    assert [r.id for r in replies] == [r.id for r in RECORDS]
    assert [r.reply for r in replies] == [text(dialect, new) for _, new in expected]
    assert len({r.reply for r in replies}) == len(RECORDS), "replies that do not depend on the question prove nothing"
    assert [(r.tokens_in, r.tokens_out) for r in replies] == [(len(old), len(new)) for old, new in expected]
    assert {(r.model, r.step, r.finish_reason) for r in replies} == {("tiny", 7, "length")}
    assert json.loads(replies[0].settings) == {"do_sample": False, "max_new_tokens": NEW, "num_beams": 1}


def test_an_end_token_ends_one_reply_and_not_its_neighbours(network, dialect, eyes, expected, monkeypatch):
    tokens = [new for _, new in expected]
    end = tokens[2][2]
    monkeypatch.setattr(network, "generation_config", GenerationConfig(eos_token_id=[2, end], pad_token_id=0))
    cut = [new[: new.index(end) + 1] if end in new else new for new in tokens]
    assert {len(c) < NEW for c in cut} == {True, False}
    replies = respond(network, dialect, dialect(RECORDS, eyes), Decoding(NEW), "tiny")
    assert [r.tokens_out for r in replies] == [len(c) for c in cut]
    assert [r.finish_reason for r in replies] == ["stop" if end in c else "length" for c in cut]
    assert [r.reply for r in replies] == [text(dialect, c) for c in cut]


def test_an_image_and_the_common_words_are_computed_once(network, dialect, eyes):
    tower, prefilled = [], []
    hooks = [
        network.model.vision_tower.register_forward_pre_hook(lambda m, a, k: tower.append(len(a[0])), with_kwargs=True),
        network.model.language_model.register_forward_pre_hook(
            lambda m, a, k: prefilled.append(tuple(k["inputs_embeds"].shape[:2])), with_kwargs=True
        ),
    ]
    respond(network, dialect, dialect(RECORDS, eyes), Decoding(NEW), "tiny")
    for hook in hooks:
        hook.remove()
    assert sum(tower) == 2
    assert sum(rows for rows, length in prefilled if length > TOKENS) == 2


def test_the_last_layer_is_computed_for_tokens_whose_logits_are_needed(network, dialect, eyes):
    few, every = [], []
    first, *_, last = network.model.language_model.layers
    hooks = [
        part.mlp.gate_proj.register_forward_hook(lambda m, a, out, rows=rows: rows.append(out.shape[:2].numel()))
        for part, rows in ((last, few), (first, every))
    ]
    replies = respond(network, dialect, dialect(RECORDS, eyes), Decoding(1), "tiny")
    for hook in hooks:
        hook.remove()
    assert len(few) == len(every) and sum(every) > sum(few)
    assert len(replies) <= sum(few) < 2 * len(replies)  # a token of each prompt, and one of each shared prefix


def test_prompts_that_share_no_word_and_prompts_of_one_word(network, dialect):
    ids = [[11, 12, 13], [14]]
    batch = ChatBatch([record("1", image=[]), record("2", image=[])], ids, [[], []], ["", ""])
    found = [r.reply for r in respond(network, dialect, batch, Decoding(NEW), "tiny")]
    out = [network.generate(torch.tensor([i]), max_new_tokens=NEW, do_sample=False)[0, len(i) :] for i in ids]
    assert found == [text(dialect, o) for o in out]


def test_nothing_asked_is_nothing_answered(network, dialect, eyes):
    assert respond(network, dialect, dialect([], eyes), Decoding(NEW), "tiny") == []


def test_earlier_turns_belong_to_the_prompt(network, dialect, eyes):
    turns = (
        Message("user", (Part("image"), Part("text", "What is this?"))),
        Message("assistant", (Part("text", "A fundus photograph."),)),
        Message("user", (Part("text", "Is it ill?"),)),
    )
    one = record("1", image=["a.png"])
    one = type(one)(**{f: getattr(one, f) for f in one.__dataclass_fields__} | {"messages": turns})
    reply = respond(network, dialect, dialect([one], eyes), Decoding(NEW), "tiny")[0]
    old, new = alone(network, dialect, eyes, one)
    assert (reply.tokens_in, reply.reply) == (len(old), text(dialect, new))


def answered(folder, eyes, kind, **options):
    """Return the replies of a backend, or of a module that trains."""
    if kind == "backend":
        made = HuggingFace(str(folder), max_new_tokens=NEW, **options)
        made.prepare("cpu")
    else:
        made = VisionLanguageModel(str(folder), lora=None, max_new_tokens=NEW, **options).eval()
        made.configure_model()
    return made.respond(made.collate(RECORDS, eyes)), made.identity().settings["decoding"]


@pytest.mark.parametrize("kind", ["backend", "module"])
def test_penalties_of_a_checkpoint_stand_with_its_replies_and_plain_decoding_has_none(
    tiny, tmp_path, eyes, kind, caplog
):
    bare, before = answered(tiny, eyes, kind)
    shutil.copytree(tiny, tmp_path / "base")
    config = GenerationConfig.from_pretrained(tiny)
    config.repetition_penalty, config.no_repeat_ngram_size = 3.0, 1
    config.suppress_tokens = [t for r in bare for t in Dialect(tiny).tokenizer(r.reply).input_ids]  # surely a change
    config.save_pretrained(tmp_path / "base")
    with caplog.at_level("INFO"):
        penalised, decoding = answered(tmp_path / "base", eyes, kind)
    assert "repetition_penalty 3.0, no_repeat_ngram_size 1, suppress_tokens " in caplog.text
    assert decoding == before, "replies by the checkpoint's own penalties are found again"
    found = json.loads(penalised[0].settings)
    assert (found["repetition_penalty"], found["no_repeat_ngram_size"], found["do_sample"]) == (3.0, 1, False)
    plain, decoding = answered(tmp_path / "base", eyes, kind, decoding="plain")
    assert json.loads(decoding)["penalties"] == "none" and is_greedy({"decoding": decoding})
    assert [r.reply for r in plain] == [r.reply for r in bare] != [r.reply for r in penalised]
    assert "repetition_penalty" not in plain[0].settings + bare[0].settings
