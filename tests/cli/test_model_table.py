"""The table of models, as Markdown, as CSV, and in the documentation."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from datetime import date

import pytest

from lmod_train.cli import main
from lmod_train.cli.listing import COLUMNS, comma_separated, markdown
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


def test_the_documentation_has_the_table_of_the_papers_models_and_names_the_others():
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- table -->\n")[2].partition("<!-- end of table -->")[0]
    models = list(known_models())
    printed = markdown(m for m in models if m.published).partition("\n\n- ")[0] + "\n"
    assert shown == printed, (
        "docs/models.md should have the lines that `list models --table` prints of the papers' models"
    )
    newer = [m.name for m in models if not m.published]
    named = re.findall(r"`(\w+)`", page.partition("<!-- newer -->\n")[2].partition("<!-- end of newer -->")[0])
    assert named == newer, f"docs/models.md should name, in this order: {', '.join(f'`{name}`' for name in newer)}"


def test_a_table_of_anything_else_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "tasks", "--table"]) == 2
    assert "list models --table" in capsys.readouterr().err


def test_the_announced_end_and_the_day_of_the_look_up_are_shown():
    ending = replace(MODEL, ends=date(2026, 12, 11), looked_up=date(2026, 11, 27), page="c, of May", replaced="b")
    _, _, row, _, note, *_ = markdown([ending]).splitlines()
    assert "| a/tiny (end: 2026-12-11) |" in row
    assert note.endswith("End of the service: 2026-12-11; b. Compared with public pages on 2026-11-27: c, of May.")
    (line, _) = csv.DictReader(io.StringIO(comma_separated([ending])))
    assert (line["ends"], line["looked_up"], line["page"]) == ("2026-12-11", "2026-11-27", "c, of May")
    assert line["tried"] == "all"


def test_the_list_of_models_says_which_services_end(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "models"]) == 0
    shown = {p.partition(" ")[0]: p for p in capsys.readouterr().out.split("\n\n")}
    ending = {model.name for model in known_models() if model.ends}
    assert {"gpt_5", "gpt_5_nano", "gpt_4o", "gemini_2_5_pro", "gemini_2_0_flash"} <= ending
    for name, paragraph in shown.items():
        assert ("end on 2" in paragraph or "ends on 2" in paragraph) == (name in ending)
