"""Any class of AutoModelForImageTextToText: replies are those of transformers' own `generate` on each record alone."""

import json
import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, GenerationConfig

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat import plain_generation
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.reply_text import StopWords
from lmod_train.tasks.parsing.visible import strip_thinking
from tests.models.chat.plain_reference import plain_reply
from tests.models.chat.quick import few
from tests.models.chat.written_once import write_other, write_tiny
from tests.other_classes import OTHERS
from tests.tiny import record

NEW = 6
SYSTEM = replace(
    record("s"),
    image=("a.png",),
    messages=(
        Message("system", (Part("text", "Be brief."),)),
        Message("user", (Part("image"), Part("text", "What is seen?"))),
    ),
)
RECORDS = [
    record("1", "Does this eye have glaucoma?", ["a.png"]),
    record("2", "Which disease is it, of cataract, diabetic retinopathy, glaucoma and normal?", ["tall.png"]),
    record("3", "Which of these eyes is ill?", ["a.png", "tall.png"]),
    record("4", "Name the cup.", ["b.png"]),
    record("5", "And of these?", ["b.png", "a.png"]),
]
WORDS = [record("6", "What is an optic disc?", []), record("7", "Say which eyes are seen most often in a city.", [])]


@pytest.fixture(scope="module", params=OTHERS)
def other(request, tmp_path_factory):
    """One class after the other: its folder, and its network and processor as transformers loads them."""
    folder = write_other(tmp_path_factory.mktemp(request.param), request.param)
    network = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    chats = request.param != "paligemma"
    prompt = Prompting() if chats else Prompting(template="words")
    processor = AutoProcessor.from_pretrained(folder)
    return SimpleNamespace(
        model_type=request.param, folder=folder, network=network, processor=processor, prompt=prompt, chats=chats
    )


def asked(folder, records, eyes, prompt=Prompting(), new=NEW, **options):
    backend = HuggingFace(str(folder), max_new_tokens=new, prompt=prompt, **options)
    backend.prepare("cpu")
    return backend, backend.respond(backend.collate(records, eyes))


def expected(other, eyes, records, **options):
    made = [plain_reply(other.network, other.processor, eyes, one, NEW, **options) for one in records]
    tokenizer = other.processor.tokenizer
    return [(length, tokenizer.decode(new, skip_special_tokens=True).strip()) for length, new in made]


def test_replies_of_a_batch_are_those_of_each_record_alone(other, eyes):
    records = [*RECORDS, *([SYSTEM, *WORDS] if other.chats else [])]
    backend, replies = asked(other.folder, records, eyes, other.prompt)
    assert backend._together, "records with equally many pictures are generated together"
    assert [(r.tokens_in, r.reply) for r in replies] == expected(other, eyes, records)
    assert len({r.reply for r in replies}) >= len(records) - 1, "replies that depend on nothing prove nothing"
    assert [r.id for r in replies] == [r.id for r in records]


def test_a_class_that_crops_says_so_and_replies_as_transformers_alone_or_padded_if_asked(tmp_path, eyes, caplog):
    folder = write_other(tmp_path, "vipllava")
    network, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    other = SimpleNamespace(network=network, processor=processor)
    with caplog.at_level(logging.INFO):
        backend, replies = asked(folder, RECORDS, eyes)
    assert [(r.tokens_in, r.reply) for r in replies] == expected(other, eyes, RECORDS)
    (said,) = [m for m in caplog.messages if "crops the centre" in m]
    assert "`--model.backend.images.fit pad`" in said and f"audit {folder} " in said
    caplog.clear()
    padding, padded = asked(folder, RECORDS, eyes, images=Pictures(fit="pad"))
    assert [(r.tokens_in, r.reply) for r in padded] == expected(other, eyes, RECORDS, pad=True)
    assert all(mine.reply != theirs.reply for mine, theirs in zip(replies, padded, strict=True))
    assert backend.identity() != padding.identity(), "replies to cropped pictures are no replies to padded ones"
    assert not [m for m in caplog.messages if "crops the centre" in m]


@pytest.mark.parametrize("other", few(("gemma4", "mllama"), OTHERS), indirect=True)
def test_rows_that_cannot_be_padded_are_generated_one_at_a_time(other, eyes, monkeypatch, caplog):
    monkeypatch.setattr(plain_generation, "_CLOSE", {torch.float32: -1.0})
    with caplog.at_level(logging.INFO):
        _, replies = asked(other.folder, RECORDS[:2], eyes, other.prompt)
    said = [m for m in caplog.messages if "`generate` of transformers" in m]
    assert len(said) == 1 and said[0].endswith("one record at a time, as padding on the left changes its output")
    assert [(r.tokens_in, r.reply) for r in replies] == expected(other, eyes, RECORDS[:2])


def test_without_words_for_a_picture_a_class_that_needs_one_is_refused_by_name(tmp_path, eyes):
    write_other(tmp_path, "paligemma")
    with pytest.raises(BadArgument, match=r"images of 6='?0'?: expected a number of images that the processor of pali"):
        asked(tmp_path, WORDS[:1], eyes, Prompting(template="words"))


def test_a_processor_that_takes_one_record_at_a_time_is_noticed(tmp_path, eyes, monkeypatch):
    folder = write_other(tmp_path, "deepseek_vl")
    kind = type(AutoProcessor.from_pretrained(folder))
    call = kind.__call__

    def alone(self, images=None, text=None, **options):
        if len(text) > 1:
            raise ValueError("one text only")
        return call(self, images=images, text=text, **options)

    monkeypatch.setattr(kind, "__call__", alone)
    backend, replies = asked(folder, RECORDS[:2], eyes)
    assert not backend._together and len({r.reply for r in replies}) == 2


@pytest.mark.parametrize("other", few(("gemma4",), OTHERS), indirect=True)
def test_nothing_asked_is_nothing_answered(other, eyes):
    assert asked(other.folder, [], eyes, other.prompt)[1] == []


def test_an_end_token_ends_one_reply_and_not_its_neighbours(tmp_path, eyes):
    folder = write_other(tmp_path, "qwen3_vl_moe")
    whole = asked(folder, RECORDS, eyes)[1]
    network = AutoModelForImageTextToText.from_pretrained(folder)
    processor = AutoProcessor.from_pretrained(folder)
    _, tokens = plain_reply(network, processor, eyes, RECORDS[1], NEW)
    settings = json.loads((folder / "generation_config.json").read_text())
    settings["eos_token_id"] += [tokens[2]]
    (folder / "generation_config.json").write_text(json.dumps(settings))
    cut = asked(folder, RECORDS, eyes)[1]
    assert (cut[1].tokens_out, cut[1].finish_reason) == (3, "stop") and whole[1].finish_reason == "length"
    assert cut[0].reply == whole[0].reply and cut[0].tokens_out == NEW


def sampled(folder, records, eyes, **options):
    return [r.reply for r in asked(folder, records, eyes, decoding="model", **options)[1]]


@pytest.mark.parametrize("model_type", few(("deepseek_vl",), ("deepseek_vl", "llava")))
def test_sampling_of_the_model_s_own_is_the_same_again_whatever_stands_beside(model_type, tmp_path, eyes, tiny):
    folder = tmp_path
    if model_type == "llava":  # a known family
        folder.joinpath("copy").mkdir()
        folder = folder / "copy"
        for file in tiny.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
    else:
        write_other(folder, model_type)
    greedy = [r.reply for r in asked(folder, RECORDS, eyes)[1]]
    file = folder / "generation_config.json"
    config = json.loads(file.read_text()) | {"do_sample": True, "temperature": 3.0, "top_k": 0}
    file.write_text(json.dumps(config))
    assert [r.reply for r in asked(folder, RECORDS, eyes)[1]] == greedy, "papers: greedy though the file samples"
    state = torch.random.get_rng_state()
    found = sampled(folder, RECORDS, eyes)
    assert torch.equal(state, torch.random.get_rng_state())
    assert found != greedy and sampled(folder, RECORDS, eyes) == found
    assert sampled(folder, RECORDS[2:], eyes) == found[2:], "a record's reply does not depend on its neighbours"
    assert sampled(folder, RECORDS, eyes, seed=1) != found


@pytest.mark.parametrize("model_type", few(("llava_onevision",), ("llava", "llava_onevision", "qwen2_5_vl", "gemma3")))
def test_a_known_family_replies_the_same_in_both_ways(model_type, tmp_path, eyes):
    """Its generation_config is greedy here, so that `decoding: model` is plain `generate` of the same tokens."""
    folder = write_tiny(tmp_path, model_type)
    records = [*RECORDS, *WORDS]
    shared, plain = (asked(folder, records, eyes, decoding=way, likelihoods="sum")[1] for way in ("papers", "model"))
    assert [(r.reply, r.tokens_in, r.rendered) for r in plain] == [(r.reply, r.tokens_in, r.rendered) for r in shared]
    for mine, theirs in zip(plain, shared, strict=True):
        assert mine.likelihoods == pytest.approx(theirs.likelihoods, abs=2e-4)


def test_a_reasoning_model_of_a_known_family_thinks_in_a_block_of_its_own(tmp_path, eyes):
    """Its template opens the block in the prompt, so that training refuses it; cut off, its reply is no answer."""
    folder = write_tiny(tmp_path, "qwen3_vl")
    file = folder / "chat_template.jinja"
    opening = "<|im_start|>assistant\n{% endif %}"
    assert opening in file.read_text()
    file.write_text(file.read_text().replace(opening, "<|im_start|>assistant\n<think>\n{% endif %}"))
    replies = asked(folder, RECORDS, eyes)[1]
    network, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    theirs = [plain_reply(network, processor, eyes, one, NEW)[1] for one in RECORDS]
    texts = [processor.tokenizer.decode(t, skip_special_tokens=True).strip() for t in theirs]
    assert [r.reply for r in replies] == [f"<think>{text}" for text in texts]
    assert strip_thinking(replies[0].reply) == ("", False)
    constrained = HuggingFace(str(folder), max_new_tokens=24)
    constrained.constrain()
    constrained.prepare("cpu")
    with pytest.raises(BadArgument, match=r"thinking block.*\n.*`--model.constrain null`"):
        constrained.respond(constrained.collate(RECORDS, eyes))


def test_a_penalty_of_the_model_s_file_applies_as_in_generate_one_record_at_a_time(tmp_path, eyes):
    folder = write_other(tmp_path, "deepseek_vl")
    bare = asked(folder, RECORDS, eyes, new=12)[1]
    model = GenerationConfig.from_pretrained(folder)
    model.repetition_penalty = 3.0
    model.save_pretrained(folder)
    network, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    backend, replies = asked(folder, RECORDS, eyes, new=12)
    theirs = [plain_reply(network, processor, eyes, one, 12)[1] for one in RECORDS]
    assert [r.reply for r in replies] == [
        processor.tokenizer.decode(t, skip_special_tokens=True).strip() for t in theirs
    ]
    assert not backend._together and [r.reply for r in replies] != [r.reply for r in bare]


@pytest.mark.parametrize("model_type", ["deepseek_vl", "llava"])
def test_a_stop_word_ends_a_reply_before_it(model_type, tmp_path, eyes):
    folder = write_tiny(tmp_path, "llava") if model_type == "llava" else write_other(tmp_path, model_type)
    whole = [r.reply for r in asked(folder, RECORDS, eyes, new=12)[1]]
    word = next(letter for letter in whole[0][4:] if letter.isascii() and letter.isalpha())
    steps = []
    backend = HuggingFace(str(folder), max_new_tokens=12, prompt=Prompting(stop=(word, "never said")))
    backend.prepare("cpu")
    backend._model.register_forward_hook(lambda *_: steps.append(1))
    cut = backend.respond(backend.collate(RECORDS[:1], eyes))[0]
    assert (cut.reply, cut.finish_reason) == (whole[0].partition(word)[0].strip(), "stop") and cut.tokens_out < 12
    assert len(steps) <= cut.tokens_out + 1, "generation stops there"
    together = asked(folder, RECORDS, eyes, Prompting(stop=(word,)), new=12)[1]
    assert [r.reply for r in together] == [text.partition(word)[0].strip() for text in whole]
    assert [r.finish_reason == "stop" for r in together] == [word in text for text in whole]


class ElsewhereIds:
    """Token ids on another device than the CPU: as `generate` holds them on a GPU."""

    device = torch.device("meta")

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, place):
        return ElsewhereIds([row[place[1]] for row in self.rows])

    def tolist(self):
        return self.rows


def test_the_criterion_of_stop_words_is_on_the_device_of_the_tokens(tiny):
    """transformers combines it with a tensor on that device, which raises an error if it is on another one."""
    tokenizer = AutoProcessor.from_pretrained(tiny).tokenizer
    (criterion,) = plain_generation._stopping(StopWords(tokenizer, ["###"]), 1)
    found = criterion(ElsewhereIds([[1, 2], [3, 4], [5, 6]]), None)
    assert (found.device, found.shape, found.dtype) == (torch.device("meta"), (3,), torch.bool)
    assert plain_generation._stopping(StopWords(tokenizer, []), 1) == [], "nothing is decoded without stop words"


def test_a_seed_without_sampling_is_refused(tiny):
    with pytest.raises(BadArgument, match=r"seed=1: expected 0, as greedy decoding has no seed"):
        HuggingFace(str(tiny), seed=1)
