from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Message, Part, Question
from lmod_train.tasks.prompt import prompt
from lmod_train.tasks.single_choice import reply_for, single_choice, with_truth_at, worded
from tests.tabled import tabled

OPTIONS = ("cup", "cupping", "rim", "disc. A")


def question(truth, stated="letter"):
    messages = single_choice("A. Which?", OPTIONS, confidence=True, stated=stated)
    return Question("chain", messages, OPTIONS, reply_for(OPTIONS, truth, stated))


@tabled("truth", OPTIONS)
@tabled("place", range(4))
def test_the_right_option_moves_and_the_others_keep_their_order(truth, place):
    moved = with_truth_at(question(truth), place)
    listed = list(options_in(moved.messages).values())
    assert (listed[place], moved.answer, moved.choices) == (truth, f"Answer: {'ABCD'[place]}", tuple(listed))
    assert [o for o in listed if o != truth] == [o for o in OPTIONS if o != truth]
    before, after = (q.messages[0].parts[1].text.splitlines() for q in (question(truth), moved))
    assert (before[0], before[5:]) == (after[0], after[5:])


@tabled("truth", OPTIONS)
@tabled("place", range(4))
def test_a_reply_that_states_the_text_stays_when_its_option_moves(truth, place):
    moved = with_truth_at(question(truth, "text"), place)
    assert (moved.answer, moved.choices[place]) == (f"Answer: {truth}", truth)
    assert moved.choices == with_truth_at(question(truth), place).choices
    assert "the text of one option" in moved.messages[0].parts[1].text
    assert moved.messages[0].parts[1].text.endswith("Answer: <TEXT>; Confidence: <0-100>%")


def test_confidence_is_asked_for_or_not():
    asked, plain = (single_choice("Which?", OPTIONS, confidence=c)[0].parts[1].text for c in (True, False))
    assert "Please rate your confidence from 0 to 100%\n" in asked and "onfidence" not in plain
    assert plain.endswith("Reply in this format: Answer: <LETTER>")


def test_a_ready_question_gets_its_options_and_one_with_its_form_stays():
    ready = Question("chain", prompt("A. Which?"), OPTIONS, "rim")
    assert worded(ready, confidence=True) == question("rim")
    assert worded(question("rim"), confidence=False) == question("rim")
    assert worded(ready, confidence=True, stated="text") == question("rim", "text")


def test_images_of_a_ready_question_come_before_its_words():
    turn = Message("user", (Part("text", "First:"), Part("image"), Part("text", "Which?"), Part("image")))
    asked = worded(Question("chain", (turn,), OPTIONS, "rim"), confidence=False).messages[0]
    assert [part.type for part in asked.parts] == ["image", "image", "text"]
    assert asked.parts[2].text.startswith("First:\nWhich?\nA. cup\n")
