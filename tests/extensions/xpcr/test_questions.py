"""Questions of X-PCR: options read without evaluating them, and every reason why a question is left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.data.sources.spellings import folded
from lmod_train.extensions.xpcr.questions import BadPair, listed_options, read_pair, words
from tests.tabled import stored, tabled

WORDS = words()
GOOD = stored(__file__, "questions.GOOD")


def read(marked="drop", **changes):
    pair = {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}
    return read_pair(pair, WORDS["stages"], WORDS, marked)


def reason(marked="drop", **changes):
    with pytest.raises(BadPair) as caught:
        read(marked, **changes)
    assert caught.value.detail.isascii() and len(caught.value.detail) < 400
    return caught.value.reason


def test_a_good_question():
    pair = read()
    assert (pair.category, pair.text, pair.options) == ("IQA", "How good is it?", ("excellent", "good", "poor"))
    assert (pair.answer, pair.level, pair.impact, pair.problems) == ("good", "", "", ())


@tabled("options", [["a", "b"], ["the eye's lens", 'a "b"'], ["x, y", "[z]"], ["1\n2", "é\\"], ["中", "文"]])
def test_options_as_python_writes_them(options):
    assert listed_options(f" {options}") == options


def test_options_as_json_and_with_letters():
    assert read(question='Q?\nOptions: ["good", "bad"]').options == ("good", "bad")
    lettered = read(question="Q?\nOptions: ['A. bad', 'B. good']", answer="B")
    assert (lettered.options, lettered.answer) == (("bad", "good"), "good")
    assert read(question="Q?\nOptions: ['A. bad', 'B. good']", answer="B. good").answer == "good"
    assert read(question="Q?", options={"A": "bad", "B": "good"}, answer="B").answer == "good"
    assert read(question="Q?", options=["bad", "good"]).options == ("bad", "good")


def test_the_last_list_counts_and_nothing_is_evaluated(tmp_path):
    assert read(question="Options: none.\nOptions: ['a']?\nOptions: ['good', 'b']").text.startswith("Options: none.")
    file = tmp_path / "made"
    assert reason(question=f"Q?\nOptions: [open({str(file)!r}, 'w'), 'good']") == "unreadable options"
    assert not file.exists()


def test_level_and_impact_where_they_are_stated():
    pair = read(level="Attending", impact=4)
    assert (pair.level, pair.impact) == ("A", "4")
    assert read(impact="4.0").impact == "4"
    for stated in (20, -3, "-3", 2.5, float("nan"), 10**299, True, "high", [3], {}):
        pair = read(impact=stated)
        assert pair.impact == "" and pair.problems[0][0] == "unknown impact"
    assert read(level="expert").problems[0][0] == "unknown level"


def test_a_mark_of_the_right_option_is_stripped_only_if_wanted():
    leaky = "Q?\nOptions: ['surgery. (Correct)', 'drops']"
    assert reason(question=leaky, answer="surgery.") == "right option marked"
    for answer in ("surgery.", "surgery. (Correct)"):
        pair = read("strip", question=leaky, answer=answer)
        assert (pair.options, pair.answer) == (("surgery.", "drops"), "surgery.")


@tabled(
    ("why", "changes"),
    [
        ("unknown category", {"category": "treatment plan"}),
        ("unknown category", {"category": None}),
        ("unknown category", {"category": ["IQA"]}),
        ("unknown category", {"category": ...}),
        ("unknown question type", {"question_type": "open"}),
        ("unknown question type", {"question_type": 3}),
        ("no question", {"question": ...}),
        ("no question", {"question": "  "}),
        ("no question", {"question": 7}),
        ("no question", {"question": "\n\nOptions: ['good', 'bad']"}),
        ("no answer", {"answer": None}),
        ("no answer", {"answer": ["good"]}),
        ("no options", {"question": "How good is it?"}),
        ("unreadable options", {"question": "Q?\nOptions: good, bad"}),
        ("unreadable options", {"question": "Q?\nOptions: ['good', bad]"}),
        ("unreadable options", {"question": "Q?\nOptions: ['good', 'bad'"}),
        ("unreadable options", {"question": "Q?\nOptions: ['good', 'bad'] or so"}),
        ("unreadable options", {"question": "Q?\nOptions: [" + "[" * 9_000}),
        ("number of options", {"question": "Q?\nOptions: ['good']"}),
        ("number of options", {"question": f"Q?\nOptions: {['good', *map(str, range(26))]}"}),
        ("empty option", {"question": "Q?\nOptions: ['good', '-']"}),
        ("two equal options", {"question": "Q?\nOptions: ['good', 'bad', ' Good ']"}),
        ("answer not among the options", {"answer": "very good"}),
        ("answer not among the options", {"answer": "A"}),
        ("text too long", {"question": "x" * 5000 + "\nOptions: ['good', 'bad']"}),
        ("text too long", {"question": f"Q?\nOptions: ['good', '{'x' * 2000}']"}),
        ("text too long", {"question": "x" * 10**6}),
        ("unreadable text", {"question": "Q\x00?\nOptions: ['good', 'bad']"}),
        ("unreadable text", {"question": "Q?\nOptions: ['good', '\\x00bad']"}),
        ("unreadable text", {"answer": "good\ud800"}),
        ("placeholder in the words", {"question": "Is {answer 1} good?\nOptions: ['good', 'bad']"}),
    ],
)
def test_each_reason_is_named(why, changes):
    assert reason(**changes) == why


def test_reading_takes_linear_time_in_the_text():
    for text in ("'" * 25_000, "\\" * 25_000, "'a'," * 6_000, "(correct" * 3_000):
        reason(question=f"Q?\nOptions: [{text}")


OPTIONS = st.lists(
    st.text(st.sampled_from("ABCDabcd.:) \u200b\u0301\uff21éß青") | st.characters(codec="utf-8"), max_size=5)
    | st.sampled_from(
        ["A", "B", "C", "A. B", "B) A", "All of the above", "Both A and B", "青光眼", "cafe\u0301", "café"]
    ),
    min_size=2,
    max_size=5,
)


def chosen(options, answer):
    """Return the place of the option that is read as right, None if the question is left out."""
    try:
        pair = read(question="Which is it?", options=options, answer=answer)
    except BadPair:
        return None
    return pair.options.index(pair.answer)


@settings(max_examples=300, deadline=None)
@given(OPTIONS, st.data())
def test_no_way_to_write_an_answer_makes_another_option_right(options, data):
    right = data.draw(st.integers(0, len(options) - 1))
    lettered = [f"{letter}. {option}" for letter, option in zip("ABCDE", options, strict=False)]
    text, letter = " ".join(options[right].split()), "ABCDE"[right]
    for given_options, answer in [(options, text), (lettered, lettered[right]), (lettered, letter)]:
        assert chosen(given_options, answer) in (right, None), (given_options, answer)
    for other in (o for o in range(len(options)) if folded(options[o]) != folded(options[right])):
        mixed = f"{letter}. {options[other]}"
        if folded(mixed) not in {folded(option) for option in options}:
            assert chosen(lettered, mixed) is None, "a letter and the text of another option"


@settings(max_examples=300, deadline=None)
@given(OPTIONS, st.data())
def test_options_of_a_question_that_is_kept_do_not_look_alike(options, data):
    answer = data.draw(st.sampled_from(options))
    try:
        pair = read(question="Which is it?", options=options, answer=answer)
    except BadPair:
        return
    assert pair.options.count(pair.answer) == 1 and len(set(map(folded, pair.options))) == len(pair.options)
