"""The table of models, as Markdown, as CSV, and in the documentation."""

from __future__ import annotations

import csv
import io

import pytest

from lmod_train.cli import main
from lmod_train.cli.model_table import COLUMNS, comma_separated, markdown
from lmod_train.core.artifacts.model_facts import Cache, ModelFacts, PublishedRow, known_models
from tests.docs.pages import DOCS

MODEL = ModelFacts(
    name="tiny",
    about="A tiny one.",
    hub="a/tiny",
    revision="unknown",
    licence="MIT",
    route="N",
    why="a class",
    contamination="none",
    tried="all",
    parameters=30,
    active=3,
    image="336 px",
    tokens=976,
    cache=Cache(10, 10, 125),
    published={
        "xpcr": PublishedRow(("T", "t"), "retired", "gone", {"four_way": 0.25}),
        "lmod_plus": PublishedRow(("T",), "reproducible"),
    },
)


def test_a_row_and_its_notes_are_written():
    head, _, row, _, *notes = markdown([MODEL]).splitlines()
    assert head == f"| {' | '.join(COLUMNS)} |"
    assert row == (
        "| `tiny` | X-PCR, LMOD+ | a/tiny | MIT | 30 (3 active) | 61 | N "
        "| retired (X-PCR); reproducible (LMOD+) | all |"
    )
    assert notes == [
        "- `tiny`: A tiny one. Revision: unknown. Image: 336 px. Route N: a class. Eye images in training: none.",
        "  - X-PCR, printed T, t: retired (gone); four way 0.25",
        "  - LMOD+, printed T: reproducible",
    ]


def test_the_csv_has_a_line_for_each_model_and_paper():
    rows = list(csv.DictReader(io.StringIO(comma_separated())))
    models = list(known_models())
    assert len(rows) == sum(max(1, len(m.published)) for m in models)
    assert {row["model"] for row in rows} == {m.name for m in models}
    (line, _) = csv.DictReader(io.StringIO(comma_separated([MODEL])))
    assert (line["printed"], line["memory"], line["scores"]) == ("T; t", "60.8", "four_way=0.25")


def test_the_documentation_has_the_table_that_is_printed(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "models", "--table"]) == 0
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- table -->\n")[2].partition("<!-- end of table -->")[0]
    expected = capsys.readouterr().out.partition("\n\n- ")[0] + "\n"
    assert shown == expected, "replace the table in docs/models.md by the output of `list models --table`"


def test_a_table_of_anything_else_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "tasks", "--table"]) == 2
    assert "list models --table" in capsys.readouterr().err
