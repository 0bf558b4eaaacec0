"""A reply's text, ending and length, with end tokens and stop words."""

import pytest
from transformers import AutoTokenizer

from lmod_train.models.chat.reply_text import StopWords, reply_text
from tests.tiny import base


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(base())


def ids(tokenizer, text):
    return tokenizer(text, add_special_tokens=False).input_ids


def read(tokenizer, tokens, ends, *stop):
    return reply_text(tokens, ends, tokenizer, StopWords(tokenizer, stop))


def test_without_stop_words_only_an_end_token_ends_a_reply(tokenizer):
    words = ids(tokenizer, " GLAUCOMA ###")
    assert read(tokenizer, words, {2}) == ("GLAUCOMA ###", "length", len(words))
    assert read(tokenizer, [*words, 2], {2}) == ("GLAUCOMA ###", "stop", len(words) + 1)
    assert read(tokenizer, [], {2}, "###") == ("", "length", 0)


@pytest.mark.parametrize("behind", ["", "Human: and the cup?###Assistant: 0.9", " ;;"])
def test_the_first_stop_word_ends_it_and_is_counted_but_not_part_of_it(tokenizer, behind):
    upto = ids(tokenizer, "GLAUCOMA###")
    text, ending, count = read(tokenizer, ids(tokenizer, "GLAUCOMA###" + behind), {2}, ";;", "###")
    assert (text, ending) == ("GLAUCOMA", "stop") and count <= len(upto)
    assert "###" in tokenizer.decode(ids(tokenizer, "GLAUCOMA###" + behind)[:count])


def test_a_reply_cut_off_before_a_stop_word_is_cut_off(tokenizer):
    assert read(tokenizer, ids(tokenizer, "GLAUCOMA##"), {2}, "###")[:2] == ("GLAUCOMA##", "length")


def test_a_special_token_can_be_a_stop_word(tokenizer):
    words = [*ids(tokenizer, "CUP"), *ids(tokenizer, "</s>"), *ids(tokenizer, "DISC")]
    assert read(tokenizer, words, set(), "</s>")[:2] == ("CUP", "stop")


def test_generation_stops_with_the_token_that_completes_a_word(tokenizer):
    tokens = ids(tokenizer, "The optic disc and its cup, described at length. GLAUCOMA###Human: ")
    stop = StopWords(tokenizer, ["###"])
    ends = [n for n in range(1, len(tokens) + 1) if stop(tokens[:n])]
    assert ends and ends[0] == next(n for n in range(len(tokens)) if "###" in tokenizer.decode(tokens[:n]))
    assert not any(StopWords(tokenizer, [])(tokens[:n]) for n in range(len(tokens)))
