"""Rows of Parquet and JSON tables, good and damaged."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core.cells import image_bytes
from lmod_train.extensions.xpcr.release_tables import is_table, rows_of
from tests.tabled import tabled

ROWS = [{"id": f"a{n}", "qa_pairs": []} for n in range(5)]


def read(file):
    return [(row.number, row.value, bool(row.problem)) for row in rows_of(file)]


def write(file, text):
    file.write_text(text, encoding="utf-8")
    return file


@tabled(
    "text",
    [
        json.dumps(ROWS),
        f" \n{json.dumps(ROWS, indent=2)}\n",
        json.dumps({"data": ROWS}),
        json.dumps({row["id"]: {"qa_pairs": []} for row in ROWS}),
    ],
)
def test_a_json_table_in_each_shape(tmp_path, text):
    file = write(tmp_path / "a.json", text)
    assert is_table(file)
    assert read(file) == [(n, row, False) for n, row in enumerate(ROWS, 1)]


def test_json_lines_lose_only_the_damaged_line(tmp_path):
    lines = [json.dumps(row) for row in ROWS]
    lines[2] = lines[2][:-4]
    file = write(tmp_path / "a.jsonl", "\n".join([*lines, ""]))
    assert [problem for _, _, problem in read(file)] == [False, False, True, False, False]


@pytest.mark.parametrize("cut", [1, 3, 60])
def test_a_json_list_that_ends_early_gives_what_stands_before(tmp_path, cut):
    text = json.dumps(ROWS)
    found = read(write(tmp_path / "a.json", text[:-cut]))
    assert found[-1][2] and found[0] == (1, ROWS[0], False) and len(found) <= 6
    assert all(value == ROWS[n - 1] for n, value, problem in found if not problem)


def test_deep_and_huge_values_are_listed(tmp_path):
    deep = write(tmp_path / "deep.json", "[" + json.dumps(ROWS[0]) + "," + "[" * 100_000)
    assert [problem for _, _, problem in read(deep)] == [False, True]
    large = write(tmp_path / "large.json", '[{"qa_pairs": ' + "9" * 5000 + "}]")
    assert read(large) == [(1, {"qa_pairs": float("inf")}, False)]


@pytest.fixture
def table(tmp_path):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = [{"bytes": data, "path": "a.jpg"} for data in (b"1", b"2", None, b"4", b"5")]
    columns = {"id": [row["id"] for row in ROWS], "image": pa.array(cells, kind), "qa_pairs": ["[]"] * 5}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    return tmp_path / "a.parquet"


def test_parquet_rows_know_where_their_image_is(table):
    rows = list(rows_of(table))
    assert is_table(table)
    assert [(row.number, row.value["id"]) for row in rows] == [(n + 1, f"a{n}") for n in range(5)]
    assert [row.cut and image_bytes(table, row.cut) for row in rows] == [b"1", b"2", None, b"4", b"5"]
    assert rows[0].value["image"] == {"path": "a.jpg"}


def test_broken_utf8_in_a_parquet_row_costs_this_row(tmp_path):
    broken = pa.array([b"a0", b"\xff\xfe", b"a2"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": broken, "qa_pairs": ["[]"] * 3}), tmp_path / "a.parquet")
    assert [bool(row.problem) for row in rows_of(tmp_path / "a.parquet")] == [False, True, False]


def test_other_files_are_no_tables(tmp_path, table):
    table.write_bytes(table.read_bytes()[:-9])
    assert not is_table(table)
    assert not is_table(write(tmp_path / "b.json", '[{"conversations": "qa_pairs"}]'))
    assert not is_table(write(tmp_path / "c.txt", '"qa_pairs": 1'))
    assert not is_table(tmp_path / "none.json")
    assert is_table(write(tmp_path / "d.json", '[{"qas": []}]'), {"qas"})


def lines(rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


SHAPES = {
    "list": lambda rows: json.dumps(rows, ensure_ascii=False),
    "lines": lines,
    "lines of Windows": lambda rows: "\r\n".join(lines([row]) for row in rows) + "\r\n",
    "ids": lambda rows: json.dumps({row["id"]: row for row in rows}, ensure_ascii=False),
    "splits": lambda rows: json.dumps({"train": rows[:2], "validation": rows[2:], "version": {"major": 1}}),
    "splits of ids": lambda rows: json.dumps({"train": {r["id"]: r for r in rows[:3]}, "test": rows[3:]}),
}


@tabled("shape", SHAPES)
@tabled("mark", ["", "\u2028", "\x85", "\u2029", "\x0b", "\x1e", "\ufeff"])
def test_every_shape_of_a_json_table_gives_all_rows(tmp_path, shape, mark):
    rows = [{"id": f"a{n}", "qa_pairs": [{"question": f"x{mark}y"}]} for n in range(5)]
    file = write(tmp_path / "a.json", SHAPES[shape](json.loads(lines([rows]).replace("\\ufeff", mark))))
    assert read(file) == [(n, row, False) for n, row in enumerate(rows, 1)]
    if "\n" in file.read_text():
        assert read(file.rename(tmp_path / "a.jsonl")) == [(n, row, False) for n, row in enumerate(rows, 1)]


@tabled("behind", ["]", " junk", "[{}]", '\n{"id": "b"}'])
def test_text_behind_a_list_is_listed(tmp_path, behind):
    found = read(write(tmp_path / "a.json", json.dumps(ROWS) + behind))
    assert [problem for _, _, problem in found] == [False] * 5 + [True]


@tabled("other", ["categories", "heldout", "train2"])
@tabled("held", [[{"id": 1}], {"x": {"id": 1}}])
def test_rows_of_a_name_that_is_not_known_are_listed(tmp_path, other, held):
    found = read(write(tmp_path / "a.json", json.dumps({other: held, "data": ROWS})))
    assert [problem for _, _, problem in found] == [False] * 5 + [True]


@tabled("name", ["image", "Image", "photo", "image_bytes"])
@tabled("kind", ["bytes", "struct"])
@tabled("others", [[], ["image_embedding"], ["images_mask", "thumbnail"]])
@tabled("last", [False, True])
def test_the_image_is_in_the_column_of_its_name(tmp_path, name, kind, others, last):
    if name == "image_bytes" and others:
        return  # two columns of unknown names
    cells = [b"1", b"2"] if kind == "bytes" else [{"bytes": data, "path": None} for data in (b"1", b"2")]
    columns = {other: pa.array([b"no", b"no"]) for other in others}
    columns = {**columns, name: pa.array(cells)} if last else {name: pa.array(cells), **columns}
    pq.write_table(pa.table({**columns, "id": ["a", "b"], "qa_pairs": ["[]"] * 2}), tmp_path / "a.parquet")
    rows = rows_of(tmp_path / "a.parquet", {"image", "photo"})
    assert [row.cut and image_bytes(tmp_path / "a.parquet", row.cut) for row in rows] == [b"1", b"2"]
