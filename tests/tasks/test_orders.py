"""Orders of the options: every permutation once, the text otherwise unchanged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from math import factorial

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.option_letters import options_in
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Message, Part, Reply
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.age_group import PROMPTS, AgeGroup
from lmod_train.tasks.four_way import PROMPT, FourWay
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.ways import SEPARATORS, Ways, count_orders, in_every_way, names_others, permutation, reordered
from tests.tabled import tabled
from tests.tiny import record

PLACES = ("optic disc", "macula", "upper arcade", "far periphery")
LISTED = (
    "Where is it?\nA. optic disc\nB. macula\nC. upper arcade\nD. far periphery\nAnswer with the letter of one option."
)


def text_of(one):
    return one.messages[-1].parts[-1].text


@tabled("count", [2, 3, 4, 5])
@tabled("seed", [0, 7])
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


def single_choice(answer="Answer: C", text=LISTED):
    return record(text=text, image=[], choices=PLACES, answer=answer)


@tabled("number", range(24))
def test_letters_stay_in_place_while_texts_move(number):
    one = single_choice()
    made = reordered(one, PLACES, number, 3)
    options = options_in(made.messages)
    assert list(options) == list("ABCD") and set(options.values()) == set(PLACES)
    assert tuple(options.values()) == tuple(PLACES[i] for i in permutation(4, number, 3))
    assert options[made.answer.removeprefix("Answer: ")] == "upper arcade"
    assert (made.choices, made.id, made.tags) == (one.choices, one.id, one.tags)
    assert text_of(made).splitlines()[0] == "Where is it?" and len(text_of(made)) == len(LISTED)
    assert count_orders(one, PLACES) == 24


def test_replies_and_likelihoods_follow_the_letters_of_the_prompt():
    made = reordered(single_choice(), PLACES, 1, 0)
    assert replies_of(made) == {
        "optic disc": "Answer: D", "macula": "Answer: C", "upper arcade": "Answer: B", "far periphery": "Answer: A",
    }  # fmt: skip
    read = parse_option("Answer: B", tuple(options_in(made.messages).values()))
    assert read == parse_option("Answer: C", PLACES) == "upper arcade"


def test_a_model_that_always_takes_one_letter_is_not_consistent():
    orders = [reordered(single_choice(), PLACES, number, 0) for number in range(24)]
    answers = [parse_option("B", tuple(options_in(one.messages).values())) for one in orders]
    assert sorted(answers) == sorted(PLACES * 6)


def test_a_chain_is_read_by_the_letters_of_each_order():
    task = Chain()
    made = in_every_way([replace(single_choice(), task=task.name)], {task.name: task}, Ways(orders="all"), [])
    assert len(made) == 24
    assert {task.parse(Reply(one.id, one.answer), one) for one in made} == {"upper arcade"}
    assert Counter(task.parse(Reply(one.id, "Answer: B"), one) for one in made) == dict.fromkeys(PLACES, 6)
    assert {task.parse(Reply(one.id, "It is the macula."), one) for one in made} == {"macula"}


def test_an_answer_that_is_a_text_stays():
    made = reordered(single_choice(answer="Answer: macula"), PLACES, 1, 0)
    assert made.answer == "Answer: macula" and options_in(made.messages)["C"] == "macula"


def test_only_the_last_list_of_the_last_turn_moves():
    earlier = Message("user", (Part("text", LISTED),))
    one = replace(single_choice(text=f"{LISTED}\n{LISTED}"), messages=(earlier, *single_choice().messages))
    made = reordered(one, PLACES, 1, 0)
    assert made.messages[0] == earlier and options_in(made.messages)["A"] == "far periphery"
    twice = reordered(single_choice(text=f"Before:\n{LISTED}\n{LISTED}"), PLACES, 1, 0)
    assert text_of(twice).startswith(f"Before:\n{LISTED}\n") and options_in(twice.messages)["A"] == "far periphery"


@tabled(
    "text", ["A. optic disc\nB. macula", "A. macula\nB. optic disc\nC. upper arcade\nD. far periphery", "A. x\nB. x"]
)
def test_another_list_than_that_of_the_choices_has_one_order(text):
    assert count_orders(single_choice(text=text), PLACES) == 1
    assert count_orders(record(text="A. x\nB. x", image=[]), ("x", "x")) == 1
    assert reordered(single_choice(text=text), PLACES, 1, 0) == single_choice(text=text)


OTHERS = (
    "All of the above", "None of the above.", "none of these options", "Both of the above",
    "neither of the other options", "Both A and B", "A and C", "Neither A nor B", "A, B, and C", "A & B", "A/B",
    "B or D", "Options A and D", "Only A", "A only", "Option C", "Same as option B", "以上都是", "以上皆非", "A和B",
    "上述两项",
)  # fmt: skip
ORDINARY = (
    "abnormal optic disc", "A-scan", "A scan of the eye", "grade B", "vitamins", "Any glaucoma", "both eyes",
    "all quadrants", "above the fovea", "below the disc", "none", "A", "No DR", "中度以上", "Hepatitis E and F",
    "B cell lymphoma",
)  # fmt: skip


@tabled("place", range(4))
@tabled(("words", "there"), [(OTHERS, 1), (ORDINARY, 24)])
def test_an_option_that_means_others_by_place_or_letter_stays_where_it_is(place, words, there):
    for text in words:
        options = [*PLACES[:place], text, *PLACES[place + 1 :]]
        lines = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True))
        one = record(text=f"Where?\n{lines}\nAnswer with one letter.", image=[], choices=options, answer="Answer: C")
        assert (count_orders(one, options), names_others(options)) == (there, there == 1), text
