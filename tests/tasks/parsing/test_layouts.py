"""Tags, tables, boxes and fields: what is one, and what is not."""

from __future__ import annotations

from lmod_train.tasks.parsing.keys import is_known, kind_of
from lmod_train.tasks.parsing.layouts import box_lists, fields, pairs, tables, tags
from lmod_train.tasks.parsing.objects import Word
from tests.tabled import tabled


def rows(text: str) -> list[list[tuple[str, str]]]:
    found = [row for _, group in tables(text, kind_of) for row in group]
    return [[(key, node.text) for key, node in row.members if isinstance(node, Word)] for row in found]


@tabled(
    ("text", "wanted"),
    [
        ("| AMD | No |\n| DR | Yes |", [[("AMD", "No"), ("DR", "Yes")]]),
        ("AMD | No\nDR | Yes", [[("AMD", "No"), ("DR", "Yes")]]),
        ("| Condition | Present |\n|:--|--:|\n| AMD | No |\n| DR | Yes |",
         [[("Condition", "AMD"), ("Present", "No")], [("Condition", "DR"), ("Present", "Yes")]]),
        ("condition;present\nAMD;no", [[("condition", "AMD"), ("present", "no")]]),
        ("glaucoma,scar\nno,yes", [[("glaucoma", "no"), ("scar", "yes")]]),
        ("| Feature | Observed |\n|---|---|\n| Rim | thin |\n| Verdict | GLAUCOMA |",
         [[("Rim", "thin"), ("Verdict", "GLAUCOMA")]]),
        ("| Condition | Present |\n|---|---|", []),
        ("Region ID: 1 | Type: iris\nRegion ID: 2 | Type: pupil", []),
        ("one, two\nand three, four", []),
        ("no table", []),
    ],
)  # fmt: skip
def test_rows(text: str, wanted: list[list[tuple[str, str]]]) -> None:
    assert rows(text) == wanted


@tabled("text", ["<AMD> <TRUE>", "<b>AMD</b>", "<condition>AMD", "AMD</condition>", "a < b > c"])
def test_other_marks_are_no_tags(text: str) -> None:
    assert tags(text, is_known) == []


def test_tags_that_stand_apart_are_groups_of_their_own() -> None:
    text = "<condition>AMD</condition><present>no</present> and then <condition>DR</condition><present>yes</present>"
    assert [len(group.members) for group in tags(text, is_known)] == [2, 2]


@tabled(
    ("text", "wanted"),
    [
        ("☐ A ☑ B", [("A", "off"), ("B", "on")]),
        ("A ☐ B ☑", [("A", "off"), ("B", "on")]),
        ("(x) A\n( ) B", [("A", "on"), ("B", "off")]),
        ("☒ A\n☐ B", [("A", "on"), ("B", "off")]),
        ("A ❌\nB ✅", [("A", "no"), ("B", "on")]),
        ("The cup is 3×4 and flat", []),
    ],
)
def test_boxes(text: str, wanted: list[tuple[str, str]]) -> None:
    assert [(one.label, one.state) for boxes in box_lists(text) for one in boxes.choices] == wanted


@tabled(
    ("text", "wanted"),
    [
        ("a: x; b: y", [("a", "x"), ("b", "y")]),
        ("a: x, y, b: z", [("a", "x, y"), ("b", "z")]),
        ("a: x. b: y", [("a", "x"), ("b", "y")]),
        ("Answer: B. No, too blurred", [("Answer", "B. No, too blurred")]),
        ("**Answer**:\nNo\nrest", [("Answer", "No")]),
        ("## Diagnosis\nglaucoma", [("Diagnosis", "glaucoma")]),
        ("a = x  # comment", [("a", "x")]),
        ("a != x", []),
        ("Is it there? Answer: No", [("Answer", "No")]),
        ("no field", []),
    ],
)
def test_fields(text: str, wanted: list[tuple[str, str]]) -> None:
    assert [(one.key, one.value) for one in fields(text, kind_of)] == wanted


def test_pairs_need_a_name_and_an_answer() -> None:
    for text, wanted in (('"AMD","no"', ["no"]), ("AMD; yes", ["yes"]), ("no AMD, yes", []), ("AMD, flat", [])):
        assert [one.value for one in pairs(text, kind_of)] == wanted
