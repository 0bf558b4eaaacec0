"""Generic statements about a disease are no answer; the same words about this eye are."""

from __future__ import annotations

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.findings import FINDINGS, SIGNS
from lmod_train.tasks.parsing.stance import is_generic
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

GENERAL = (
    "In {x}, the tissue changes.", "In early {x} the tissue changes, whereas in eyes without {x} it keeps its shape.",
    "{X} typically presents with loss of sight.", "{X} usually develops slowly.", "Eyes without {x} look alike.",
    "In patients with {x}, the tissue changes.", "To tell {x} from its mimics, one looks at the rim.",
    "An eye with {x} usually shows it at the margin.", "The rim is thinner than in {x}.",
)  # fmt: skip
GENERAL_ZH = (
    "在{x}中，组织会改变。", "{x}患者的组织通常会改变。", "{x}通常发展缓慢。", "{x}的典型表现是组织改变。",
    "{x}常见于老年人。", "没有{x}的人眼通常正常。",
)  # fmt: skip
OF_THIS = ("In this eye, {x} is present.", "In my opinion, there is {x}.", "This is a clear case of {x}.")
NAMES = [f.condition for f in FINDINGS if f.condition not in SIGNS]


@tabled("layout", GENERAL)
def test_generic_statements_are_no_answer(layout: str) -> None:
    for name in NAMES:
        text = layout.format(x=name, X=name.capitalize())
        assert isinstance(parse("conditions " + name, text), Unparsed), text
    assert isinstance(parse("glaucoma", layout.format(x="glaucoma", X="Glaucoma")), Unparsed)


@tabled("layout", GENERAL_ZH)
def test_chinese_generic_statements_are_no_answer(layout: str) -> None:
    for term in CONDITIONS:
        if term.name in NAMES:
            assert isinstance(parse("conditions " + term.name, layout.format(x=term.chinese[0])), Unparsed), term.name
    assert isinstance(parse("glaucoma", layout.format(x="青光眼")), Unparsed)


@tabled("bearer", ["eye", "disc", "patient"])
@tabled("name", ["glaucomatous", "non-glaucomatous", "glaucoma", "non-glaucoma"])
def test_generic_statements_about_patients_are_no_answer(name: str, bearer: str) -> None:
    for layout in (
        "In {0} {1}s the rim is of a certain kind.",
        "{2} {1}s show a certain rim.",
        "A {0} {1} shows a rim.",
    ):
        text = layout.format(name, bearer, name.capitalize())
        assert isinstance(parse("glaucoma", text), Unparsed), text


@tabled("layout", OF_THIS)
def test_the_same_statement_about_this_eye_is_an_answer(layout: str) -> None:
    for name in NAMES:
        assert parse("conditions " + name, layout.format(x=name)) == "TRUE"
    assert parse("glaucoma", layout.format(x="glaucoma")) == "GLAUCOMA"


@tabled(
    "statement", ["In glaucoma, the cup enlarges. ", "A glaucomatous disc shows a thin rim. ", "在青光眼中，视杯扩大。"]
)
@tabled("answer", ["GLAUCOMA", "NON-GLAUCOMA"])
def test_an_answer_behind_a_generic_statement_is_read(statement: str, answer: str) -> None:
    assert parse("glaucoma", f"{statement}Final answer: {answer}") == answer
    assert parse("glaucoma", f"{statement}{answer}.") == answer


def test_the_position_of_the_name_decides() -> None:
    assert is_generic("in ", " the cup enlarges")
    assert not is_generic("The patient's age is 在", "80")
    assert not is_generic("the image shows ", " eyes")


@tabled("asked", ["abnormal macula", "abnormal vessels", "increased cup-to-disc ratio"])
@tabled(
    "layout",
    ["A normal {x} has a certain look.", "The normal {x} is of a certain kind.", "In glaucoma the {x} is normal.",
     "In AMD, the {x} is normal.", "I can neither call the {x} normal nor abnormal.", "Is the {x} normal or abnormal?"],
)  # fmt: skip
def test_generic_statements_about_a_structure_are_no_answer(asked: str, layout: str) -> None:
    name = {"abnormal macula": "macula", "abnormal vessels": "vasculature"}.get(asked, "cup-to-disc ratio")
    assert isinstance(parse("conditions " + asked, layout.format(x=name)), Unparsed)


@tabled("first", ["glaucoma", "non-glaucoma"])
@tabled("layout", ["Neither {0} nor {1} can be chosen.", "I can say neither {0} nor {1}."])
def test_neither_choice_is_no_choice(layout: str, first: str) -> None:
    other = "glaucoma" if first != "glaucoma" else "non-glaucoma"
    assert isinstance(parse("glaucoma", layout.format(first, other)), Unparsed)
    assert isinstance(parse("glaucoma", layout.format(first.upper(), other.upper())), Unparsed)
