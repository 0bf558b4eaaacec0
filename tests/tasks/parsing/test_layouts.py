"""Tags, tables, boxes and fields: what is one, and what is not."""

from __future__ import annotations

from lmod_train.tasks.parsing.keys import kind_of
from lmod_train.tasks.parsing.layouts import tables
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
