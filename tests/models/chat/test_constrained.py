"""Replies constrained to the choices: greedy decoding over their tokens, whatever the network would say."""

import json
import logging
from dataclasses import replace

import pytest
import torch
from transformers import GenerationConfig

from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Box, Region
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, choice_replies, respond
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.asked import asked
from lmod_train.tasks.bilingual import OpenQuestion
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.evaluation import evaluate
from tests.chained import WORDS, Words, chain_of, words_of
from tests.models.chat import written_once
from tests.models.chat.quick import few, two_kin
from tests.models.chat.reference import inputs_of
from tests.other_classes import OTHERS
from tests.tiny import hashed, record, write_curated, write_tiny

ZH, AGES = ("青光眼", "非青光眼", "无法判断"), ("<18", "18–29", "80+")
LETTERS = "Which?\nA. cup\nB. rim\nC. cup and rim"
RECORDS = [
    record("0", image=["a.png"]),
    record("1", "Which stage?", ["a.png"], "Stage: 10", choices=("0", "1", "10", "100")),
    record("2", "有什么？", ["b.png"], "答案: 青光眼", choices=ZH),
    record("3", "How old?", ["a.png"], "Age Group: 80+", choices=AGES),
    record("4", LETTERS, ["a.png", "tall.png"], "Answer: B", choices=("cup", "rim", "cup and rim")),
    record("5", "Is it?", [], "DRUSEN TRUE", choices=("TRUE", "FALSE")),
    record("6", "And here?", ["tall.png"], "thin with a notch", choices=("thin", "thin with a notch", "intact")),
]
FREE = [
    record("open", "What is seen here?", ["a.png"], "A disc.", choices=()),
    record(
        "regions",
        "Name the boxes.",
        ["b.png"],
        "Region ID: 1; Type: cup",
        choices=("cup", "rim"),
        regions=(Region("cup", Box(0, 0, 9, 9), 1),),
    ),
]
CLOSED = Decoding(24, constrain="choices")


def constrained(kin, eyes, records, decoding=CLOSED):
    return respond(kin.network, kin.dialect, kin.dialect(records, eyes), decoding, "tiny")


def of_transformers(kin, eyes, one):
    """The reply of `generate`, with tokens forced by its own means."""
    inputs, batch = inputs_of(kin, eyes, one), kin.dialect([one], eyes)
    begin, allowed = inputs["input_ids"].shape[1], [reply.ids for reply in choice_replies(kin.dialect, batch)]

    def next_ones(_, ids):
        begun = ids[begin:].tolist()
        return [own[len(begun)] for own in allowed if own[: len(begun)] == begun]

    with torch.no_grad():
        made = kin.network.generate(
            **inputs,
            prefix_allowed_tokens_fn=next_ones,
            max_new_tokens=24,
            do_sample=False,
            eos_token_id=sorted({own[-1] for own in allowed}),
        )
    return kin.dialect.tokenizer.decode(made[0, begin:], skip_special_tokens=True).strip()


@two_kin
def test_a_batch_gives_what_transformers_gives_each_record_alone(kin, eyes):
    made = constrained(kin, eyes, [*RECORDS, *FREE])
    assert [r.reply for r in made[: len(RECORDS)]] == [of_transformers(kin, eyes, one) for one in RECORDS]
    assert all(r.reply in replies_of(one).values() for r, one in zip(made, RECORDS, strict=False))
    alone = [constrained(kin, eyes, [one])[0] for one in [*RECORDS, *FREE]]
    assert [(r.reply, r.finish_reason, r.tokens_out) for r in made] == [
        (r.reply, r.finish_reason, r.tokens_out) for r in alone
    ]


@two_kin
def test_questions_without_choices_are_replied_to_as_freely_as_before(kin, eyes):
    free = constrained(kin, eyes, [*RECORDS, *FREE], Decoding(24))
    made = constrained(kin, eyes, [*RECORDS, *FREE])
    assert [r.reply for r in free[-2:]] == [r.reply for r in made[-2:]]
    assert [r.constrained for r in made] == [True] * len(RECORDS) + [False] * 2
    assert [r.settings for r in made[-2:]] == [r.settings for r in free[-2:]]
    assert not any(r.constrained for r in free)
    assert json.loads(made[0].settings) == json.loads(free[0].settings) | {"constrain": "choices"}


@pytest.mark.parametrize("seed", range(5))
def test_random_weights_and_penalties_give_nothing_but_choices(tmp_path, eyes, seed):
    """Penalties that rule out every token of a choice change which one it is, not that it is one."""
    network = load(write_tiny(tmp_path, seed)).eval()
    backend = HuggingFace(str(tmp_path), max_new_tokens=24)
    kin = type("Kin", (), {"network": network, "dialect": backend.collate})
    for more in ({}, {"repetition_penalty": 5.0}, {"suppress_tokens": list(range(5, 400))}, {"min_new_tokens": 20}):
        network.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0, **more)
        made = constrained(kin, eyes, RECORDS)
        assert all(r.reply in replies_of(one).values() for r, one in zip(made, RECORDS, strict=True))
        assert {r.finish_reason for r in made} == {"stop"}


@pytest.mark.parametrize("model_type", few(tuple(OTHERS)[:2], tuple(OTHERS)))
def test_classes_that_are_no_family_reply_with_choices_too(model_type, tmp_path, eyes):
    folder, closed = written_once.write_other(tmp_path, model_type), [r for r in RECORDS if len(r.image) == 1]
    prompt = Prompting(template="words" if model_type == "paligemma" else "")
    backends = [HuggingFace(str(folder), max_new_tokens=24, prompt=prompt) for _ in range(2)]
    records = [*closed, FREE[0]]
    for backend in backends:
        backend.prepare("cpu")
    backends[0].constrain()
    if model_type == "janus":  # in transformers its `generate` drops logits processors
        with pytest.raises(BadArgument, match="leaves out what limits its replies"):
            backends[0].respond(backends[0].collate(records, eyes))
        return
    made, free = (backend.respond(backend.collate(records, eyes)) for backend in backends)
    assert all(r.reply in replies_of(one).values() for r, one in zip(made, closed, strict=False))
    assert made[-1].reply == free[-1].reply and [r.constrained for r in made] == [True] * len(closed) + [False]
    alone = [backends[0].respond(backends[0].collate([one], eyes))[0] for one in records]
    assert [(r.reply, r.tokens_out) for r in made] == [(r.reply, r.tokens_out) for r in alone]


def test_a_constraint_is_part_of_what_is_asked_of_both_kinds_of_modules(tiny):
    def hashes(**options):
        modules = Frozen(HuggingFace(str(tiny)), **options), VisionLanguageModel(str(tiny), **options)
        return [asked(RECORDS[0], "w", who.template, who.settings) for who in (m.identity() for m in modules)]

    assert hashes() == hashes(constrain=None)
    assert not {*hashes()} & {*hashes(constrain="choices")}


def test_what_cannot_be_constrained_is_refused_with_its_cure(tiny, eyes):
    with pytest.raises(BadArgument, match=r"greedy decoding.*\n.*`--model.constrain null`"):
        Frozen(HuggingFace(str(tiny), decoding="model"), constrain="choices")
    short = HuggingFace(str(tiny), max_new_tokens=2)
    Frozen(short, constrain="choices").backend.prepare("cpu")
    with pytest.raises(BadArgument, match=r"max_new_tokens=2.*the length of a reply to 0"):
        short.respond(short.collate(RECORDS[:1], eyes))


def world(folder, records):
    folder.mkdir()
    write_curated(folder, records)
    return [hashed(folder, r) for r in records]


OPEN = {"task": "open_question", "task_class": "lmod_train.tasks.bilingual.OpenQuestion", "choices": (), "split": "val"}


@pytest.mark.parametrize("name", ["random weights", "small_base"])
def test_a_run_is_scored_against_the_known_truth_and_says_what_was_asked_freely(tmp_path, tiny, caplog, name):
    closed = [
        record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=("GLAUCOMA", "NON-GLAUCOMA")[i % 2], split="val")
        for i in range(6)
    ]
    world(tmp_path / "curated", [*closed, *(record(f"o/{i}", "What?", ["1.png"], "disc", **OPEN) for i in range(2))])
    data = RecordsDataModule(tmp_path / "curated", [Glaucoma(), OpenQuestion()])

    def ran(run, **options):
        checkpoint = str(tiny) if name == "random weights" else name
        with caplog.at_level(logging.INFO):
            made = evaluate(Frozen(HuggingFace(checkpoint, max_new_tokens=12), **options), data, tmp_path / run)
        return [p for p in made if p.record.task == "glaucoma"], [p for p in made if p.record.task != "glaucoma"]

    free, open_ones = ran("free")
    assert "asked freely" not in caplog.text and not any(p.reply.constrained for p in free)
    made, others = ran("constrained", constrain="choices")
    assert "open_question: 2 of 2 questions are asked freely" in caplog.text and "glaucoma:" not in caplog.text
    assert [p.answer for p in made] == [p.reply.reply for p in made] and {p.status for p in made} == {"answered"}
    assert [p.reply.reply for p in others] == [p.reply.reply for p in open_ones]
    rows = [s for _, _, s in read_scores(tmp_path / "constrained" / "scores.csv") if s.subset == "all"]
    (score,) = (s.value for s in rows if (s.task, s.metric) == ("glaucoma", "accuracy_strict"))
    assert score == pytest.approx(sum(p.reply.reply == p.record.answer for p in made) / 6, abs=1e-6)
    again, _ = ran("constrained")
    lines = (tmp_path / "constrained" / "replies" / "rank-0.jsonl").read_text().splitlines()
    assert len(lines) == 16 and [p.reply.reply for p in again] == [p.reply.reply for p in free], "nothing is reused"


def test_a_cascade_holds_the_choices_that_were_made(tmp_path, tiny):
    records = [one for n in range(3) for one in chain_of(n, split="val")]
    world(tmp_path / "curated", records)
    data = RecordsDataModule(tmp_path / "curated", [Words()], regime="cas_all")
    made = evaluate(Frozen(HuggingFace(str(tiny), max_new_tokens=12), constrain="choices"), data, tmp_path / "run")
    answers = {p.record.id: p.answer for p in made}
    assert len(made) == len(records) and set(answers.values()) <= set(WORDS)
    for one in made:
        assert all(answers[need] in one.reply.rendered for need in one.record.needs)
        assert replace(one.record, needs=()).choices == WORDS and words_of(one.record)
