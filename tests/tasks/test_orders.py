"""Orders of the options: every permutation once, the text otherwise unchanged."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.tasks.age_group import PROMPTS, AgeGroup
from lmod_train.tasks.four_way import PROMPT, FourWay
from lmod_train.tasks.orders import SEPARATORS, count_orders, permutation, reordered
from tests.tiny import record


def text_of(one):
    return one.messages[-1].parts[-1].text


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 7])
def test_every_permutation_has_one_number(count, seed):
    found = [permutation(count, number, seed) for number in range(factorial(count))]
    assert sorted(found) == sorted(permutations(range(count)))
    assert found[0] == tuple(range(count)) and found[1] == found[0][::-1]


def test_many_options_are_drawn_differently_by_number_and_seed():
    drawn = [permutation(14, number, seed) for seed in (0, 1) for number in range(2, 9)]
    assert len(set(drawn)) == 14 and {tuple(sorted(order)) for order in drawn} == {tuple(range(14))}
    assert permutation(14, 5, 1) == permutation(14, 5, 1)


@given(st.permutations(["optic disc", "optic cup", "fovea"]), st.sampled_from(SEPARATORS), st.integers(0, 5))
def test_only_the_list_of_the_options_changes(options, marks, number):
    def listing(a, b, c):
        return f"{a}{marks[0]}{b}{marks[1]}{c}"

    one = record(text=f"Name it. Options can be {listing(*options)}. Or an optic disc.", image=[])
    listed = listing(*(options[i] for i in permutation(3, number, 0)))
    made = reordered(one, options, number, 0)
    assert text_of(made) == f"Name it. Options can be {listed}. Or an optic disc."
    assert (made.choices, made.answer, made.id) == (one.choices, one.answer, one.id)
    assert count_orders(one, options) == 6


def test_the_reverse_of_a_published_prompt():
    one = record(text=PROMPT, image=[], choices=FourWay.choices)
    made = text_of(reordered(one, FourWay.choices, 1, 0))
    assert "among normal, glaucoma, diabetic retinopathy, cataract. Then" in made
    assert len(made) == len(PROMPT)


def test_age_groups_keep_their_numbers():
    one = record(text=PROMPTS["lmod_plus"], image=[], choices=AgeGroup.choices)
    made = text_of(reordered(one, AgeGroup().listed(one), 1, 0))
    assert "are: Group 8: 80+; Group 7: 70–79;" in made and "Group 2: 18–29; Group 1: <18. Follow" in made


def test_a_prompt_without_a_list_has_one_order():
    assert count_orders(record(text="Stage: <AN INTEGER>.", image=[]), ("1", "2", "3")) == 1
    assert count_orders(record(text="Only GLAUCOMA.", image=[]), ("GLAUCOMA",)) == 1


@given(
    st.sampled_from(["ab", "non-", "very", "2"]),
    st.sampled_from(SEPARATORS),
    st.sampled_from([("normal", "cataract"), ("normal", "ab normal"), ("non-A", "A", "A-B")]),
    st.sampled_from(["s", "-free", "2"]),
)
def test_options_are_not_found_within_other_words(before, marks, options, after):
    list_ = marks[0].join(options[:-1]) + marks[1] + options[-1]
    for text in (f"Is it {before}{list_}?", f"Is it {list_}{after}?"):
        assert count_orders(record(text=text, image=[]), options) == 1
    both = record(text=f"Not {before}{list_}. Choose from {list_}.", image=[])
    reverse = marks[0].join(options[:0:-1]) + marks[1] + options[0]
    assert text_of(reordered(both, options, 1, 0)) == f"Not {before}{list_}. Choose from {reverse}."


def test_a_list_between_chinese_words_is_found():
    for options in (("正常", "青光眼"), ("normal", "glaucoma")):
        one = record(text=f"请从{', '.join(options)}中选择", image=[])
        assert text_of(reordered(one, options, 1, 0)) == f"请从{', '.join(options[::-1])}中选择"
