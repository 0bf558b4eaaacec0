"""Shared-prefix generation of every family against transformers' own processor and generate, record by record."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.core.types import Batch
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from tests.families import TINY
from tests.models.chat.quick import few, two_kin
from tests.models.chat.written_once import write_tiny
from tests.tiny import record

NEW = 6
QUESTIONS = ["Does this eye have glaucoma?", "Name the cup.", "Which disease is it, of cataract, glaucoma and normal?"]
RECORDS = [
    record("0", QUESTIONS[0], ["a.png"]),
    record("1", "What is an optic disc?", []),
    record("2", QUESTIONS[0], ["tall.png"]),
    record("3", QUESTIONS[1], ["a.png"]),
    record("4", QUESTIONS[2], ["tall.png"]),
    record("5", QUESTIONS[2], ["a.png"]),
    record("6", QUESTIONS[1], ["tall.png"]),
]


def squared(image, mean):
    square = np.full((max(image.shape), max(image.shape), 3), [round(255 * m) for m in mean], dtype=np.uint8)
    y, x = ((max(image.shape) - s) // 2 for s in image.shape[:2])
    square[y : y + image.shape[0], x : x + image.shape[1]] = image
    return square


def alone(kin, eyes, one, new=NEW):
    """Return prompt ids and new ids as transformers gives them, whole prompt at once."""
    processor = kin.dialect.processor
    content = [{"type": p.type, "text": p.text} for p in one.messages[0].parts]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    pixels = [np.asarray(Image.open(eyes / name)) for name in one.image]
    if kin.model_type == "llava":
        pixels = [squared(p, processor.image_processor.image_mean) for p in pixels]
    begun = "<s>" in text
    images = [Image.fromarray(p) for p in pixels] or None
    inputs = processor(text=text, images=images, return_tensors="pt", add_special_tokens=not begun)
    ends = sorted({*kin.network.generation_config.eos_token_id, kin.dialect.tokenizer.eos_token_id})
    with torch.no_grad():
        out = kin.network.generate(**inputs, max_new_tokens=new, do_sample=False, num_beams=1, eos_token_id=ends)
    length = inputs["input_ids"].shape[1]
    return out[0, :length].tolist(), out[0, length:].tolist()


def told(kin, ids):
    return kin.dialect.tokenizer.decode(ids, skip_special_tokens=True).strip()


@two_kin
def test_a_mixed_batch_gives_the_tokens_of_one_record_at_a_time(kin, eyes):
    expected = [alone(kin, eyes, one) for one in RECORDS]
    batch = kin.dialect(RECORDS, eyes)
    assert batch.prompt_ids == [old for old, _ in expected]
    replies = respond(kin.network, kin.dialect, batch, Decoding(NEW), "tiny")
    assert [r.reply for r in replies] == [told(kin, new) for _, new in expected]
    assert len({r.reply for r in replies}) >= len(RECORDS) - 1, "replies that depend on nothing prove nothing"
    assert [(r.tokens_in, r.tokens_out) for r in replies] == [(len(old), len(new)) for old, new in expected]
    again = respond(kin.network, kin.dialect, kin.dialect(RECORDS[1:2], eyes), Decoding(NEW), "tiny")
    assert again[0].reply == replies[1].reply, "what the last image left behind must not reach a text"


@two_kin
def test_generation_stops_where_an_answer_ends(kin, eyes, monkeypatch):
    new = alone(kin, eyes, RECORDS[0])[1]
    assert new[1] not in new[:1]
    monkeypatch.setattr(kin.dialect, "end_id", new[1])
    reply = respond(kin.network, kin.dialect, kin.dialect(RECORDS[:1], eyes), Decoding(NEW), "tiny")[0]
    assert (reply.tokens_out, reply.finish_reason) == (2, "stop")


def other(tmp_path, model_type, **text):
    """A family's tiny checkpoint with further values of its language model."""
    write_tiny(tmp_path, model_type, **text)
    return SimpleNamespace(model_type=model_type, network=load(tmp_path).eval(), dialect=Dialect(tmp_path))


@pytest.mark.parametrize("window", [30, pytest.param(50, marks=pytest.mark.slow)])
def test_beyond_a_sliding_window_nothing_is_lost(window, tmp_path, eyes):
    kin = other(tmp_path, "gemma3", sliding_window=window)
    expected = [alone(kin, eyes, one, 12)[1] for one in RECORDS]
    lengths = {len(p) for p in kin.dialect(RECORDS, eyes).prompt_ids}
    assert max(lengths) + 12 > window
    for _ in range(2):
        replies = respond(kin.network, kin.dialect, kin.dialect(RECORDS, eyes), Decoding(12), "tiny")
    assert [r.reply for r in replies] == [told(kin, new) for new in expected]


@pytest.mark.parametrize(
    "model_type", few(("gemma3", "qwen2_5_vl"), [name for name, tiny in TINY.items() if tiny.windowed])
)
def test_a_window_shorter_than_the_image(model_type, tmp_path, eyes):
    kin = other(tmp_path, model_type, **TINY[model_type].windowed)
    assert kin.dialect.family.sliding_window == 12
    expected = [told(kin, alone(kin, eyes, one)[1]) for one in RECORDS]
    for rows in (RECORDS, RECORDS[:1]):
        replies = respond(kin.network, kin.dialect, kin.dialect(rows, eyes), Decoding(NEW), "tiny")
        assert [r.reply for r in replies] == expected[: len(rows)]


def test_two_grids_of_as_many_tokens_keep_their_own_positions(eyes, tmp_path):
    write_tiny(tmp_path, "qwen3_vl")
    kin = type("Kin", (), {"model_type": "qwen3_vl", "network": load(tmp_path).eval(), "dialect": Dialect(tmp_path)})
    noise = np.random.default_rng(1)
    for name, shape in {"wide": (64, 128, 3), "high": (128, 64, 3), "square": (96, 80, 3)}.items():
        Image.fromarray(noise.integers(0, 255, shape, dtype=np.uint8)).save(tmp_path / f"{name}.png")
    asked = [record(f"{n}{i}", q, [f"{n}.png"]) for n in ("wide", "high") for i, q in enumerate(QUESTIONS)]
    batch: Batch = kin.dialect(asked, tmp_path)
    assert len(batch.images) == 2 and len({len(p) for p in batch.prompt_ids}) == 3
    replies = respond(kin.network, kin.dialect, batch, Decoding(NEW), "tiny")
    assert [r.reply for r in replies] == [told(kin, alone(kin, tmp_path, one)[1]) for one in asked]


@pytest.mark.parametrize(
    ("model_type", "order"),
    [
        ("qwen2_5_vl", (1, 0, 0, 1)),
        ("qwen3_vl", (0, 1, 1, 0, 0)),
        *(pytest.param("qwen2_5_vl", order, marks=pytest.mark.slow) for order in ((0, 1, 0, 1), (0, 1, 1, 0, 0))),
        *(pytest.param("qwen3_vl", order, marks=pytest.mark.slow) for order in ((0, 1, 0, 1), (1, 0, 0, 1))),
    ],
)
def test_each_question_continues_from_where_its_own_image_ends(eyes, tmp_path, model_type, order):
    """Grids of 2 x 8 and 4 x 4 hold as many tokens and end at other positions; questions come in any order."""
    write_tiny(tmp_path, model_type)
    kin = type("Kin", (), {"model_type": model_type, "network": load(tmp_path).eval(), "dialect": Dialect(tmp_path)})
    noise = np.random.default_rng(1)
    for name, shape in {"wide": (32, 128, 3), "square": (64, 64, 3)}.items():
        Image.fromarray(noise.integers(0, 255, shape, dtype=np.uint8)).save(tmp_path / f"{name}.png")
    asked = [
        record(str(i), QUESTIONS[i % len(QUESTIONS)], [("wide.png", "square.png")[which]])
        for i, which in enumerate(order)
    ]
    batch: Batch = kin.dialect(asked, tmp_path)
    places = [p.count(kin.network.config.image_token_id) for p in batch.prompt_ids]
    assert set(places) == {16}, "one prefix serves both images"
    expected = [alone(kin, tmp_path, one)[1] for one in asked]
    replies = respond(kin.network, kin.dialect, batch, Decoding(NEW), "tiny")
    assert [r.reply for r in replies] == [told(kin, new) for new in expected]
