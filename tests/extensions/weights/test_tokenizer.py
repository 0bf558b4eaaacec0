"""Tokenizers of published checkpoints: the ids that SentencePiece gives, image by image as the original code asks."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmod_train.core.errors import NotConvertible
from lmod_train.extensions.weights.internvl import InternVL
from lmod_train.extensions.weights.tokenizer import read_vocabulary, words_of
from tests import published

TEXTS = (
    "What is in the eye?",
    " the  eye ",
    "\nWhat is the haze?",
    "the",
    "Optic disc: 0.45 (µm) 眼",
    "a\tb\n\nthus",
)


def sentencepiece(pieces: dict[str, tuple[int, float]], text: str, dummy_prefix: bool) -> list[int]:
    """Return ids by SentencePiece's own rule: of all neighbours, join those whose piece has the highest score."""
    symbols = list((" " + text if dummy_prefix else text).replace(" ", "▁"))
    while True:
        joined = [(pieces[a + b][1], -i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in pieces]
        if not joined:
            break
        i = -max(joined)[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    bytes_of = {s: [pieces[f"<0x{b:02X}>"][0] for b in s.encode()] for s in symbols}
    return [i for s in symbols for i in ([pieces[s][0]] if s in pieces else bytes_of[s])]


def layout(folder: Path) -> SimpleNamespace:
    return SimpleNamespace(folder=folder, image_token="<image>", added_tokens={})


@pytest.mark.parametrize("dummy_prefix", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_sentencepieces(text, dummy_prefix, tmp_path):
    published.write_pieces(tmp_path / "tokenizer.model", dummy_prefix=dummy_prefix)
    listed = read_vocabulary(tmp_path / "tokenizer.model").pieces
    pieces = {piece: (i, score) for i, (piece, score) in enumerate(listed)}
    tokenizer = words_of(layout(tmp_path)).tokenizer
    assert tokenizer(text, add_special_tokens=False).input_ids == sentencepiece(pieces, text, dummy_prefix)
    assert tokenizer(text).input_ids[0] == 1 and tokenizer.bos_token_id == 1
    assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


def test_text_behind_an_image_has_the_ids_that_it_has_alone(tmp_path):
    """LLaVA's code tokenises what stands before and behind an image apart."""
    published.write_words(tmp_path)
    words = words_of(layout(tmp_path))
    parts = [words.tokenizer(text, add_special_tokens=False).input_ids for text in ("the eye", "\nWhat is it?")]
    together = words.tokenizer("the eye<image>\nWhat is it?", add_special_tokens=False).input_ids
    assert together == [*parts[0], words.image_token_id, *parts[1]]


def test_the_image_token_follows_the_vocabulary_and_padding_is_the_unknown_token(tmp_path):
    rows = published.write_words(tmp_path)
    words = words_of(layout(tmp_path))
    assert words.image_token_id == rows and words.tokenizer.pad_token == "<unk>" and words.ends == (2,)


def test_tokens_take_the_place_of_unused_pieces_and_ends_of_turns_are_known(tmp_path):
    published.write_internvl(tmp_path / "a")
    values = json.loads((tmp_path / "a" / "config.json").read_text())
    words = words_of(InternVL(tmp_path / "a", values))
    stated = json.loads((tmp_path / "a" / "tokenizer_config.json").read_text())["added_tokens_decoder"]
    ids = {token["content"]: int(i) for i, token in stated.items()}
    text = "<|im_start|>user\n<img><IMG_CONTEXT></img>\nthe eye<|im_end|>"
    made = words.tokenizer(text, add_special_tokens=False).input_ids
    assert [i for i in made if i in ids.values()] == [
        ids[t] for t in ("<|im_start|>", "<img>", "<IMG_CONTEXT>", "</img>", "<|im_end|>")
    ]
    assert words.image_token_id == ids["<IMG_CONTEXT>"] and words.ends == (2, ids["<|im_end|>"])
    assert words.tokenizer.start_image_token == "<img>" and words.tokenizer.video_token == "<video>"


def test_a_vocabulary_of_another_kind_is_refused(tmp_path):
    published.write_pieces(tmp_path / "tokenizer.model")
    data = (tmp_path / "tokenizer.model").read_bytes()
    (tmp_path / "tokenizer.model").write_bytes(data.replace(b"\x18\x02", b"\x18\x01"))  # Unigram in place of BPE
    with pytest.raises(NotConvertible, match=r"not byte-pair encoding\nNext: put the tokenizer\.json"):
        read_vocabulary(tmp_path / "tokenizer.model")
