from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.answer_spans import LONGEST, taken
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.regions import parse_regions
from lmod_train.tasks.parsing.stage import parse_stage
from tests.tabled import tabled

PAIR = ("GLAUCOMA", "NON-GLAUCOMA")
FOUR = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
EYE = ("optic disc", "optic cup", "fovea")


def words(text, choices, parser=parse_choice):
    """The answer, and the words that it was read from."""

    def parse(text):
        return read(Reply("a", text), parser, choices)

    answer = parse(text)
    return answer, [text[start:end] for start, end in taken(text, answer, choices, parse)]


@tabled(
    ("text", "choices", "answer", "expected"),
    [
        ("GLAUCOMA", PAIR, "GLAUCOMA", ["GLAUCOMA"]),
        ("**NON-GLAUCOMA**; Explanation: glaucoma has a larger cup", PAIR, "NON-GLAUCOMA", ["NON-GLAUCOMA"]),
        ("<think>cataract? normal?</think>DISEASE: Glaucoma", FOUR, "glaucoma", ["Glaucoma"]),
        ("No signs of glaucoma.", PAIR, "NON-GLAUCOMA", ["No", "glaucoma"]),
        ("It is not a cataract. DISEASE: diabetic-retinopathy", FOUR, "diabetic retinopathy", ["diabetic-retinopathy"]),
        ("青光眼", PAIR, "GLAUCOMA", ["青光眼"]),
    ],
)
def test_the_words_that_state_the_choice_are_found(text, choices, answer, expected):
    assert words(text, choices) == (answer, expected)


def test_a_stage_is_its_number_and_not_another_one():
    assert words("Stage: 2; Explanation: 3 spots of 400 um", ("0", "1", "2", "3", "4"), parse_stage) == ("2", ["2"])


def test_each_region_has_its_words():
    text = "Region ID: 2; Type: Optic cup\nRegion ID: 1; Type: optic disk\nExplanation: the fovea is not marked"
    answer, found = words(text, EYE, parse_regions)
    assert answer == {1: "optic disc", 2: "optic cup"} and found == ["Optic cup", "optic disk"]


def test_what_is_not_known_is_not_marked():
    assert words("I cannot tell.", PAIR)[1] == []
    assert taken("GLAUCOMA", Unparsed("ambiguous"), PAIR, lambda text: "") == []
    assert taken("a pale disc", "a pale disc", (), lambda text: text) == [], "free text"
    long = "It is not normal, and not a cataract, as this is no retinopathy. " * 5 + "DISEASE: glaucoma"
    assert words(long, FOUR) == ("glaucoma", [])
    assert taken("GLAUCOMA " * LONGEST, "GLAUCOMA", PAIR, lambda text: "GLAUCOMA") == []


def test_spans_are_in_order_within_the_text_and_apart():
    for text in ("glaucoma, GLAUCOMA", "Glaucoma: yes. Yes, glaucoma", "ﬁnal: GLAUCOMA ①", "\ud800 GLAUCOMA"):
        spans = taken(text, "GLAUCOMA", PAIR, lambda text: "GLAUCOMA" if "GLAUCOMA" in text else "")
        places = [place for span in spans for place in span]
        assert places == sorted(places) and all(0 <= place <= len(text) for place in places)
