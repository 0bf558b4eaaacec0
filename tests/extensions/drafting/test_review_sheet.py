"""Sheets of a review: written with untrusted text, read back as spreadsheets save them, each bad row with its line."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import Prediction, Reply
from lmod_train.data.formats.chosen_records import select
from lmod_train.data.formats.reading_sheet import COLUMNS, rows_of
from lmod_train.extensions.drafting.drafts import Drafted, drafted_of
from lmod_train.extensions.drafting.review import Plan, Reading, planned
from lmod_train.extensions.drafting.reviewing import FILE, as_read, codes_of, read_plan, read_review, write_review
from tests.drafted import curated, drafting_records, good
from tests.tabled import tabled

EVIL = '=HYPERLINK("http://x")<script>alert(1)</script>'


@pytest.fixture(scope="module")
def drafts() -> list[Drafted]:
    return drafted_of([Prediction(r, Reply(r.id, ""), good(r).text) for r in drafting_records(2)])


@pytest.fixture(scope="module")
def plan(drafts: list[Drafted]) -> Plan:
    return planned(drafts, codes_of(drafts), share=1.0)


def sheet(path: Path, plan: Plan, rows: Sequence[tuple[str, ...]]) -> Path:
    """Write a sheet: id of a draft, answer, and optionally question and choices."""
    heads = ["id", "answer", "question", "choices"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerows([heads, *([plan.drafts.get(id, id), *rest] for id, *rest in rows)])
    return path


def test_a_sheet_with_hostile_text_is_escaped_in_table_and_page(tmp_path: Path, drafts: list[Drafted]):
    bad = [replace(d, draft=replace(d.draft, question=EVIL)) for d in drafts]
    plan = planned(bad, codes_of(bad), share=1.0)
    folder = curated(tmp_path / "CURATED", 2)
    page = (
        write_review(tmp_path, folder, select(folder, for_own_use=True).licences, bad, plan, tmp_path / "SHEET.csv")
        / "index.html"
    )
    assert "<script>" not in page.read_text(encoding="utf-8")
    cells = list(csv.reader((tmp_path / "SHEET.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert len(cells) == 13 and not [c for row in cells for c in row if c.startswith("=")]
    assert read_plan(tmp_path) == plan
    with (tmp_path / "SHEET.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["answer"] = "a"
    with (tmp_path / "a.csv").open("w", encoding="utf-16", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    readings, stale = read_review(tmp_path / "a.csv", plan, bad)
    assert stale == 0 and len(readings) == 12
    assert {(r.answer, r.question) for r in readings.values()} == {("A", EVIL)}, "escaped cells are no corrections"


def test_answers_and_corrections_are_read(tmp_path: Path, drafts: list[Drafted], plan: Plan):
    first, second, third, fourth, *_ = drafts
    choices = " | ".join(as_read(second).choices)
    rows = [
        (first.id, " (b). "),
        (second.id, "NONE", "", choices.replace("A. ", "A. the ")),
        (third.id, "several", "Another question?", ""),
        (fourth.id, "", "", ""),
    ]
    found, stale = read_review(sheet(tmp_path / "a.csv", plan, rows), plan, drafts)
    assert stale == 0 and [*found] == [first.id, second.id, third.id]
    assert found[first.id] == Reading("B", first.draft.question, first.draft.options)
    assert found[second.id].options == (f"the {second.draft.options[0]}", *second.draft.options[1:])
    assert (found[third.id].answer, found[third.id].question) == ("several", "Another question?")


def test_rows_of_changed_drafts_are_counted_and_not_read(tmp_path: Path, drafts: list[Drafted], plan: Plan):
    for change in ({"letter": "ABCD"["BCDA".index(drafts[0].draft.letter)]}, {"answer": "x"}, {"question": "y?"}):
        changed = [replace(drafts[0], draft=replace(drafts[0].draft, **change)), *drafts[1:]]
        found, stale = read_review(sheet(tmp_path / "a.csv", plan, [(drafts[0].id, "A")]), plan, changed)
        assert (found, stale) == ({}, 1), change


@tabled(
    ("rows", "message"),
    [
        ([("nosuch", "A")], "an id of the sheet of this review"),
        ([(0, "E")], "one of A, B, C, D, none, several, wrong"),
        ([(0, "A"), (0, "B")], "one answer to a question"),
        ([(0, "A", "", "cup | rim")], "options `A. ... | B. ...`"),
    ],
)
def test_a_bad_row_is_an_error_with_its_line(tmp_path: Path, drafts: list[Drafted], plan: Plan, rows, message: str):
    named = [(drafts[id].id if isinstance(id, int) else id, *rest) for id, *rest in rows]
    path = sheet(tmp_path / "a.csv", plan, named)
    with pytest.raises(BadArgument, match="Next: ") as error:
        read_review(path, plan, drafts)
    assert message in str(error.value) and f"{path}:{len(rows) + 1}" in str(error.value)


@tabled("text", ["{}", "[]", "no json", '{"share": "x", "seed": 0, "drafts": {}, "sample": []}'])
def test_a_damaged_plan_is_an_error(tmp_path: Path, text: str):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ArtifactError, match=FILE):
        read_plan(tmp_path)


WORDS = st.text(st.sampled_from("ab =+-@'\"|;,\t\n\\\\u0d\u202e\u2028é青<") | st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=40, deadline=None)
@given_by(
    st.lists(WORDS.filter(str.strip), min_size=4, max_size=4),
    WORDS,
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.permutations(COLUMNS),
    st.sampled_from(["", "comment", "image", "question", "choices"]),
    st.integers(0, 2**30),
)
def test_whatever_a_model_wrote_a_sheet_that_a_spreadsheet_has_saved_is_read_as_it_was_written(
    tmp_path_factory, drafts, options, question, delimiter, encoding, columns, without, seed
):
    """Columns in another order, rows shuffled, copied or deleted, and a row that was only blanks."""
    rng, folder = random.Random(seed), tmp_path_factory.mktemp("sheet")
    given = [replace(d, draft=replace(d.draft, question=f"Q {question}", options=tuple(options))) for d in drafts[:4]]
    plan = planned(given, codes_of(given), share=1.0)
    written = csv_bytes(
        COLUMNS, rows_of([as_read(one) for one in given], {one.image[0]: "1.jpg" for one in (d.record for d in given)})
    )
    rows = list(csv.DictReader(io.StringIO(written.decode("utf-8-sig"), newline="")))
    for row in rows:
        row["answer"] = rng.choice(["a", "(B)", "C.", "none"])
    kept = rng.sample(rows, rng.randint(0, 4))
    saved = [*rng.sample(kept * 2, len(kept) * 2), dict.fromkeys(COLUMNS, " ")]
    with (folder / "a.csv").open("w", newline="", encoding=encoding) as file:
        heads = [name for name in columns if name != without]
        writer = csv.DictWriter(file, heads, delimiter=delimiter, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(saved)
    found, stale = read_review(folder / "a.csv", plan, given)
    answers = {row["id"]: row["answer"].strip("(). ").upper() for row in kept}
    expected = {
        one.id: Reading(answer if len(answer) == 1 else answer.lower(), one.draft.question, one.draft.options)
        for one in given
        if (answer := answers.get(plan.drafts[one.id]))
    }
    assert (found, stale) == (expected, 0), "neither an answer is lost nor a cell taken for a correction"
