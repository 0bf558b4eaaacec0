"""Attacks on tables that come from someone else, and on the folder of their images."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from openpyxl import Workbook
from PIL import Image

from tests.hostile_folders import (
    BOOK,
    RELS,
    SECRET,
    SPACE,
    TORN,
    Attack,
    content,
    link,
    pipe,
    sparse,
    wide,
    workbook,
    write_with_metadata,
)

TABLE = "T.csv"
NAMES = [f"f{n}.jpg" for n in range(8)]
PLACE = RELS.replace("TARGET", "worksheets/sheet1.xml")
LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
LAUGHS = f'<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">{LAUGHS}]>'


def delimited(*header: str, **columns: Callable[[int], str]) -> bytes:
    """Return a good table with further columns, or others in the place of ``Foto`` and ``Diagnose``."""
    made = {"Foto": NAMES.__getitem__, "Diagnose": lambda n: ("Glaukom", "gesund")[n % 2]} | columns
    made |= {name: lambda n: f"{n}" for name in header}
    rows = [list(made), *([cell(n) for cell in made.values()] for n in range(len(NAMES)))]
    return "\n".join(";".join(row) for row in rows).encode("utf-8", "surrogatepass")


def table(data: Callable[[], bytes]) -> Callable[[Path, Path], None]:
    return lambda here, outside: content(TABLE, data())(here, outside)


def cells(of: Callable[[Path], str]) -> Callable[[Path, Path], None]:
    """Return an attack: each cell that names an image names something outside."""
    return lambda here, outside: content(TABLE, delimited(Foto=lambda n: of(outside)))(here, outside)


def sheet(rows: str, before: str = "") -> bytes:
    space = f"{SPACE}/spreadsheetml/2006/main"
    text = f'{before}<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
    return workbook(book=BOOK, rels=PLACE, sheet=text)


def inline(*cells: str) -> str:
    return "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells) + "</row>"


def shared_text() -> bytes:
    """Return a workbook of one text of a megabyte that stands in 200,000 cells."""
    book, stream = Workbook(write_only=True), io.BytesIO()
    page = book.create_sheet()
    page.append(["Foto", "Diagnose", "Kamera", "Befund"])
    for _ in range(50_000):
        page.append(["x" * 200, "L", "L", "L"])
    book.save(stream)
    out = io.BytesIO()
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            data = old.read(part)
            if part.filename == "xl/sharedStrings.xml":
                data = data.replace(b">L<", b">" + os.urandom(500_000).hex().encode() + b"<")
            new.writestr(part, data)
    return out.getvalue()


def ods(body: str) -> bytes:
    stream, names = io.BytesIO(), ("office", "table", "text")
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in names)
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        listed = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{listed}"><m:file-entry m:full-path="/" '
                                                  f'm:media-type="{kind}"/></m:manifest>')  # fmt: skip
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="a">{body}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    return stream.getvalue()


def repeated(rows: int, columns: int, text: str = "x") -> bytes:
    cell = f'<table:table-cell table:number-columns-repeated="{columns}" office:value-type="string">'
    cell += f"<text:p>{text}</text:p></table:table-cell>"
    return ods(f'<table:table-row table:number-rows-repeated="{rows}">{cell}</table:table-row>')


def xls(*records: tuple[int, bytes]) -> bytes:
    """Return a compound file that holds one stream of records, as of Excel before 2007."""
    stream = b"".join(kind.to_bytes(2, "little") + len(data).to_bytes(2, "little") + data for kind, data in records)
    stream = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")
    sectors = len(stream) // 512
    tables = -(-(sectors + 2) // 127)
    chain = [*range(2 + tables, 1 + tables + sectors), 0xFFFFFFFE]
    fat = [*[0xFFFFFFFD] * tables, 0xFFFFFFFE, *chain]
    fat += [0xFFFFFFFF] * (128 * tables - len(fat))
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16))
    header += b"\x3e\0\x03\0\xfe\xff\x09\0\x06\0" + bytes(10) + tables.to_bytes(4, "little")
    header += tables.to_bytes(4, "little") + bytes(4) + (4096).to_bytes(4, "little")
    header += (0xFFFFFFFE).to_bytes(4, "little") + bytes(4) + (0xFFFFFFFE).to_bytes(4, "little") + bytes(4)
    header += b"".join(n.to_bytes(4, "little") for n in (*range(tables), *[0xFFFFFFFF] * (109 - tables)))
    entries = b""
    for name, kind, child, start, size in (("Root Entry", 5, 1, 0xFFFFFFFE, 0), ("Workbook", 2, -1, 1 + tables,
                                                                                 len(stream))):  # fmt: skip
        text = (name + "\0").encode("utf-16-le")
        entry = text.ljust(64, b"\0") + len(text).to_bytes(2, "little") + bytes([kind, 1])
        entry += b"\xff" * 8 + (child & 0xFFFFFFFF).to_bytes(4, "little") + bytes(36)
        entries += entry + start.to_bytes(4, "little") + size.to_bytes(8, "little")
    fat_bytes = b"".join(n.to_bytes(4, "little") for n in fat)
    return bytes(header) + fat_bytes + entries.ljust(512, b"\0") + stream


def wide_xls(texts: int) -> bytes:
    """Return a workbook of Excel 97 with one text of 8,000 letters that stands in many cells."""
    begin = (0x0809, b"\x00\x06\x05\x00" + bytes(12))
    text = (1).to_bytes(4, "little") * 2 + (8000).to_bytes(2, "little") + b"\0" + b"x" * 8000
    first = 20 + 4 + 4 + 4 + 4 + len(text) + 4
    bound = first.to_bytes(4, "little") + b"\0\0" + b"\x01\0a"
    places = [(n // 200, n % 200) for n in range(texts)]
    records = [begin, (0x0085, bound), (0x00FC, text), (0x000A, b""), (0x0809, b"\x00\x06\x10\x00" + bytes(12))]
    first = sum(4 + len(data) for _, data in records[:4])
    records[1] = (0x0085, first.to_bytes(4, "little") + bound[4:])
    records += [(0x00FD, row.to_bytes(2, "little") + column.to_bytes(2, "little") + bytes(6)) for row, column in places]
    return xls(*records, (0x000A, b""))


def parquet(edit: Callable[[dict[str, Any]], object], **schema: Any) -> Callable[[], bytes]:
    def make() -> bytes:
        columns: dict[str, Any] = {"Foto": NAMES, "Diagnose": ["Glaukom", "gesund"] * 4}
        edit(columns)
        stream = io.BytesIO()
        made = pa.table(list(columns.values()), names=list(columns))
        pq.write_table(made.replace_schema_metadata(schema.get("metadata")), stream)
        return stream.getvalue()

    return make


def parquet_bomb(kind: pa.DataType, cell: Any) -> Callable[[], bytes]:
    """Return a function that makes a small Parquet file in which one long cell stands in 900 rows."""

    def make() -> bytes:
        stream, names = io.BytesIO(), ["Foto", "Diagnose", "image"]
        schema = pa.schema([(names[0], pa.string()), (names[1], pa.string()), (names[2], kind)])
        with pq.ParquetWriter(stream, schema, compression="zstd", dictionary_pagesize_limit=2**28) as writer:
            for part in range(9):
                rows = [(f"{n + 100 * part}.jpg", ("Glaukom", "gesund")[n % 2], cell) for n in range(100)]
                held = [pa.array(column, t) for column, t in zip(zip(*rows, strict=True), schema.types, strict=True)]
                writer.write_table(pa.table(held, schema=schema), row_group_size=900)
        return stream.getvalue()

    return make


def many_rows() -> bytes:
    """Return a Parquet file of a few kilobytes with 30 million rows."""
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, pa.schema([("Foto", pa.string()), ("Diagnose", pa.string())])) as writer:
        part = pa.table({"Foto": pa.repeat("f0.jpg", 3_000_000), "Diagnose": pa.repeat("Glaukom", 3_000_000)})
        for _ in range(10):
            writer.write_table(part)
    return stream.getvalue()


def lines(*objects: Any) -> bytes:
    good = [{"Foto": name, "Diagnose": ("Glaukom", "gesund")[n % 2]} for n, name in enumerate(NAMES)]
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in (*good, *objects)).encode()


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return '{"Foto": "f0.jpg", "Diagnose": ' + opening * depth + closing * depth + "}"


def in_base64(make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    """Return an attack: images inside the table, no files."""

    def plant(here: Path, outside: Path) -> None:
        texts = []
        for n in range(len(NAMES)):
            file = here / f"{n}.made"
            Image.effect_noise((64, 64), n + 20).convert("RGB").save(file, "JPEG")
            make(file)
            texts.append(base64.b64encode(file.read_bytes()).decode())
            file.unlink()
        header = delimited(Foto=texts.__getitem__).replace(b"Foto", b"image", 1)
        content(TABLE, header)(here, outside)

    return plant


def photographs(make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        for file in sorted((here / "PHOTOS").iterdir()):
            make(file)

    return plant


def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def make_anew(file: Path) -> None:
        file.unlink()
        make(file)

    return make_anew


def plan(**values: Any) -> Callable[[Path, Path], None]:
    """Return an attack: other values in the plan of a table; OUTSIDE in a text is the folder of the owner."""

    def plant(here: Path, outside: Path) -> None:
        def placed(value: Any) -> Any:
            return value.replace("OUTSIDE", str(outside)) if isinstance(value, str) else value

        file = here / "SENT" / "table.yaml"
        stated = yaml.safe_load(file.read_text()) | {name: placed(value) for name, value in values.items()}
        file.write_text(yaml.safe_dump(stated))
        (outside / "mine.csv").write_bytes(delimited(Diagnose=lambda n: f"{SECRET.decode()}{n % 2}"))
        (outside / "f0.jpg").write_bytes((outside / "photograph.jpg").read_bytes())

    return plant


def question(**values: Any) -> dict[str, Any]:
    known = {"name": "q", "words": "Which?", "column": "Diagnose", "kind": "choice", "choices": ["Glaukom", "gesund"]}
    return {"questions": [known | values]}


TABLES = [
    Attack("table", "an entity", table(lambda: sheet(inline("Foto", "&e;") + inline("f0.jpg", "x"), (
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///proc/self/environ">]>')))),
    Attack("table", "a billion laughs", table(lambda: sheet(inline("Foto", "&i;") + inline("f0.jpg", "x"), LAUGHS))),
    Attack("table", "a workbook that unpacks to 200 MB", table(lambda: sheet(inline("Foto", "b" * 200_000_000))),
           heavy=True),
    Attack("table", "a workbook of one long text", table(shared_text), heavy=True),
    Attack("table", "a workbook of a million columns", table(lambda: sheet("<row>" + "".join(
        f'<c r="{column}1" t="inlineStr"><is><t>x</t></is></c>' for column in ("A", "XFD", "ZZZZZ")) + "</row>"))),
    Attack("table", "a workbook of a billion rows", table(lambda: sheet(
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="999999999"><c r="A999999999"><v>1</v></c></row>'))),
    Attack("table", "a sheet elsewhere", table(lambda: workbook(
        book=BOOK, rels=RELS.replace("TARGET", "../../../../etc/passwd")))),
    Attack("table", "an ODS of repeated cells", table(lambda: repeated(1_000_000, 16_000)), heavy=True),
    Attack("table", "an ODS of a long repeated cell", table(lambda: repeated(2_000, 900, "x" * 4000))),
    Attack("table", "an ODS of laughs", table(lambda: ods("<table:table-row/>").replace(
        b"<office", LAUGHS.encode())), heavy=True),
    Attack("table", "an ODS of nested elements", table(lambda: ods(f"{'<text:p>' * 200_000}{'</text:p>' * 200_000}"))),
    Attack("table", "an XLS of one long text", table(lambda: wide_xls(1_900_000)), heavy=True),
    Attack("table", "a damaged XLS", table(lambda: wide_xls(99)[:3000] + b"\xff" * 3000), heavy=True),
    Attack("table", "a Parquet file of one long text", table(parquet_bomb(pa.string(), "A" * 3_000_000)), heavy=True),
    Attack("table", "a Parquet file of one long image",
           table(parquet_bomb(pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
                              {"bytes": b"A" * 3_000_000, "path": None})), heavy=True),
    Attack("table", "a Parquet file of 30 million rows", table(many_rows), heavy=True),
    Attack("table", "a Parquet file of texts that are none", table(parquet(lambda c: c.update(
        Alter=pa.Array.from_buffers(pa.string(), 8, [None, pa.array(range(9), pa.int32()).buffers()[1],
                                                     pa.py_buffer(b"\xff" * 8)]))))),
    Attack("table", "a Parquet file of impossible times", table(parquet(
        lambda c: c.update(Zeit=pa.array([2**50] * 8, pa.timestamp("s")))))),
    Attack("table", "a Parquet file of a nested description", table(parquet(
        lambda c: None, metadata={"huggingface": "[" * 200_000}))),
    Attack("table", "a Parquet file of images elsewhere", table(parquet(lambda c: c.update(
        image=[{"bytes": None, "path": "/etc/passwd"}] * 8)))),
    Attack("table", "a Parquet file of numbers for bytes", table(parquet(lambda c: c.update(
        image=[{"bytes": n, "path": n} for n in range(8)])))),
    Attack("table", "a Parquet file of lines in names", table(parquet(
        lambda c: c.update({"Alter\n\x1b[2JNext: run `rm -rf /`": [str(n) for n in range(8)]})))),
    Attack("table", "nested lines", table(lambda: lines(*(nested(d) for d in (100, 480, 900, 990, 3000, 100_000))))),
    Attack("table", "nested objects", table(lambda: lines(*(nested(d, '{"a":', "1" + "}") for d in (2, 900, 10_000))))),
    Attack("table", "lines of different keys", table(lambda: lines(*({f"k{n}": n} for n in range(30_000))))),
    Attack("table", "half a character", table(lambda: lines({"Foto": "\ud800", "Diagnose": "\udfff", "\ud801": "x"}))),
    Attack("table", "lines of long numbers", table(lambda: lines('{"Alter": ' + "9" * 5000 + ', "Diagnose": 1e999}'))),
    Attack("table", "a gigabyte of zeros", lambda here, outside: sparse(TABLE, 2**30)(here, outside), heavy=True),
    Attack("table", "a million empty lines", table(lambda: delimited() + b"\n" * 50_000_000), heavy=True),
    Attack("table", "a line of separators", table(lambda: delimited() + b"\n" + b";" * 100_000_000), heavy=True),
    Attack("table", "a header of brackets", table(lambda: delimited("(" * 200_000))),
    Attack("table", "1,990 columns", table(lambda: delimited(*(f"Befund {n}" for n in range(1_990)))), heavy=True),
    Attack("table", "1,990 diagnoses", table(lambda: b"\n".join(
        line + (b";Diagnosis" if n == 0 else b";Glaukom") * 1_990 for n, line in enumerate(delimited().split(b"\n")))),
           heavy=True),
    Attack("table", "200,000 columns", table(lambda: delimited(*(f"c{n}" for n in range(200_000)))), heavy=True),
    Attack("table", "a cell of slashes", table(lambda: delimited(Foto=lambda n: NAMES[n] if n else "a/" * 400_000))),
    Attack("table", "a cell of commas", table(lambda: delimited(Diagnose=lambda n: "Glaukom?," * 100_000)), heavy=True),
    Attack("table", "a cell of signs", table(lambda: delimited(
        Alter=lambda n: "1," * 200_000, Auge=lambda n: "(" * 200_000)), heavy=True),
    Attack("table", "formulas", table(lambda: delimited(
        Kamera=lambda n: "=cmd|' /C calc'!A0", Diagnose=lambda n: "@SUM"))),
    Attack("table", "terminal codes", table(lambda: delimited(TORN, Diagnose=lambda n: TORN + str(n % 2)))),
    Attack("table", "columns named like options", table(lambda: delimited(
        "--follow_links", "--trust=evil", "--out=/", Sex=lambda n: ("--follow_links", "`id`")[n % 2]))),
    Attack("table", "columns named like meanings", table(lambda: delimited(
        "__class__", "image=Foto", "index", "bytes", "ignore", Split=lambda n: "../../x"))),
    Attack("table", "a camera and words that are paths", table(lambda: delimited(
        Kamera=lambda n: "../../../x", Modality=lambda n: "../x", Split=lambda n: "/etc", Patient=lambda n: "../"))),
    Attack("table", "cells of another folder", cells(lambda outside: "../../outside/photograph.jpg")),
    Attack("table", "cells of the disk", cells(lambda outside: str(outside / "photograph.jpg"))),
    Attack("table", "cells of a file of the disk", cells(lambda outside: f"file://{outside / 'photograph.jpg'}")),
    Attack("table", "a link in the place of an image", link("PHOTOS/f0.jpg", "photograph.jpg")),
    Attack("table", "a link to a folder", link("PHOTOS/more", "run")),
    Attack("table", "an endless link in the place of an image", lambda here, outside: (
        (here / "PHOTOS/f0.jpg").unlink(), (here / "PHOTOS/f0.jpg").symlink_to("f0.jpg"))),
    Attack("table", "a pipe in the place of an image", pipe("PHOTOS/f0.jpg")),
    Attack("table", "a pipe in the place of the table", pipe(TABLE)),
    Attack("table", "images of 60,000 x 60,000 pixels", photographs(wide)),
    Attack("table", "metadata in images", photographs(lambda file: write_with_metadata(file, "JPEG"))),
    Attack("table", "images in base64 with metadata", in_base64(lambda file: write_with_metadata(file, "JPEG"))),
    Attack("table", "images in base64 of 60,000 x 60,000 pixels", in_base64(replaced(wide))),
    Attack("table", "base64 that is none", table(lambda: delimited(image=lambda n: "A" * 999_999)), heavy=True),
    Attack("table", "a link in the place of images to write", link("OUT/images", "run")),
    Attack("table", "a link in the place of a plan to write", link("OUT/table.yaml", "secret.txt")),
    Attack("table", "a link in the place of embedded images", link("OUT/table_images.parquet", "secret.txt")),
    Attack("plan", "a table elsewhere", plan(table="OUTSIDE/mine.csv")),
    Attack("plan", "images elsewhere", plan(images="OUTSIDE", redistributable=True)),
    Attack("plan", "images by a link", lambda here, outside: (
        plan(images="linked")(here, outside), (here / "SENT" / "linked").symlink_to(outside))),
    Attack("plan", "a table by a link", lambda here, outside: (
        plan(table="linked.csv")(here, outside), (here / "SENT" / "linked.csv").symlink_to(outside / "mine.csv"))),
    Attack("plan", "a pipe", pipe("SENT/table.yaml")),
    Attack("plan", "aliases", content("SENT/table.yaml", "a: &a [x]\ntable: *a\n")),
    Attack("plan", "a tag", content("SENT/table.yaml", "table: !!python/object/apply:os.system ['touch MARK']\n")),
    Attack("plan", "a name with a folder", plan(name="../../x")),
    Attack("plan", "a name that is a number", plan(name=3)),
    Attack("plan", "a modality that is a path", plan(modality="../../x")),
    Attack("plan", "a modality that is a list", plan(modality=["CFP"])),
    Attack("plan", "a licence that is a list", plan(licence=[TORN])),
    Attack("plan", "terminal codes in a licence", plan(licence=TORN)),
    Attack("plan", "a sheet that is a list", plan(sheet=["a"])),
    Attack("plan", "columns that are a list", plan(columns=["a"])),
    Attack("plan", "words that are a list", plan(columns={"Diagnose": {"means": "diagnosis", "words": ["a"]}})),
    Attack("plan", "a meaning that is a list", plan(columns={"Diagnose": {"means": ["a"]}})),
    Attack("plan", "questions that are texts", plan(questions=["a"])),
    Attack("plan", "a question named like a path", plan(**question(name="../../x"))),
    Attack("plan", "a question named like a task", plan(**question(name="four_way"))),
    Attack("plan", "a question of another kind", plan(**question(kind=["x"]))),
    Attack("plan", "a question of other words", plan(**question(words=[1], choices=3))),
    Attack("plan", "a question of other choices", plan(**question(choices=[{"a": 1}, None]))),
    Attack("plan", "a question of a language", plan(**question(language="../../x", unit=[1]))),
    Attack("plan", "a question of synonyms", plan(**question(synonyms=[1], paraphrases={"a": 1}))),
    Attack("plan", "a question of a class", plan(**question(class_path="evil.Evil", self=1))),
    Attack("plan", "a question without a name", plan(questions=[{"kind": "open"}])),
    Attack("plan", "a question of a column", plan(**question(column=["x"], label="a"))),
]  # fmt: skip
