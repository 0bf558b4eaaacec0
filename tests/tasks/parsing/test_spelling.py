"""Misspelt labels and values of the requested format; a word far from every choice is not corrected."""

from __future__ import annotations

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.forms import correct_labels, correct_spelling
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse


@tabled(
    ("ask", "text", "wanted"),
    [
        ("four_way", "DISAESE: Cataract", "cataract"),
        ("four_way", "DISEASE: Diabetic Retinopahty; Explanation: red dots", "diabetic retinopathy"),
        ("four_way", "Diagnosi: glaucmoa", "glaucoma"),
        ("glaucoma", "GLACUOMA; Explanation: notch", "GLAUCOMA"),
        ("glaucoma", "NON-GLACUOMA; Explanation: intact rim", "NON-GLAUCOMA"),
        ("anatomy CFP", "Regoin ID: 1; Tpye: optic dics", {1: "optic disc"}),
    ],
)
def test_misspelt_answers_are_corrected(ask: str, text: str, wanted: object) -> None:
    assert parse(ask, text) == wanted


@tabled("text", ["Colour: red", "Comment: glaucmoa", "the cup: large", "GLAUCOMA?", "No glacuoma?"])
def test_other_words_are_no_answer(text: str) -> None:
    assert isinstance(parse("glaucoma", text), Unparsed)


def test_other_text_is_unchanged() -> None:
    assert correct_spelling("Lens: hazy", {"cataract": "cataract"}) == "Lens: hazy"
    assert correct_labels("Religion ID: 1; Tape: iris") == "Religion ID: 1; type: iris"


def test_a_misspelt_plural_label_is_corrected() -> None:
    assert parse("four_way", "Dieases: Glaucma; Explanatons: a big cup.") == "glaucoma"
