import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.extensions.packs.packing import LEAST, with_quotes, without_quotes

TEXTS = st.text("ab c,.\n青光", max_size=60) | st.text(max_size=30)


@given(TEXTS, TEXTS, TEXTS)
def test_a_reply_comes_back_as_it_was(before, words, after):
    reply = f"{before}{words}{after}"
    assert with_quotes(without_quotes(reply, words), words) == reply


def longest(text, words):
    """Number of words of the longest run that both have, by trying all."""
    own, known = text.split(), words.split()
    runs = (own[i : i + n] for n in range(1, len(own) + 1) for i in range(len(own) - n + 1))
    return max((len(r) for r in runs if any(known[j : j + len(r)] == r for j in range(len(known)))), default=0)


@given(st.lists(st.sampled_from("abc"), max_size=40), st.lists(st.sampled_from("abc"), max_size=40))
def test_no_text_that_is_left_repeats_as_many_words(reply, words):
    left = [p for p in without_quotes(" ".join(reply), " ".join(words)) if isinstance(p, str)]
    assert all(longest(piece, " ".join(words)) < LEAST for piece in left)


def test_chinese_characters_count_as_words():
    asked = "这是一张患者的眼底照片，请问是否有青光眼？"
    pieces = without_quotes(f"您问：{asked}没有。", asked)
    assert [p for p in pieces if isinstance(p, str)] == ["您问：", "？没有。"]


def test_other_spaces_do_not_hide_a_quote():
    pieces = without_quotes("one  two\nthree four five six seven eight", "one two three four five six seven eight")
    assert [p for p in pieces if isinstance(p, str)] == ["  ", "\n"]


def test_a_megabyte_of_repeated_words_is_read_in_linear_time():
    """Compared are counts of words, not times: each word of the reply is looked up at most `LEAST` times."""
    reply, words = "a b " * 100_000, "a b " * 300
    pieces = without_quotes(reply, words)
    assert with_quotes(pieces, words) == reply and len(pieces) < 1000


@pytest.mark.parametrize("place", [(0, 9), (3, 3), (4, 2)])
def test_a_place_outside_the_question_is_refused(place):
    with pytest.raises(ValueError, match="of a question with 5"):
        with_quotes([place], "abcde")
