"""Attacks on folders that come from someone else, each put into a copy of a good folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from PIL.PngImagePlugin import PngInfo

SECRET, HIDDEN = b"SECRET-of-the-owner", b"HIDDEN-in-the-image"
CODE = "open({mark!r}, 'a').write('executed')\nclass Evil: pass\n"
ENDLESS = b"[" * 200_000


@dataclass(frozen=True)
class Attack:
    """What is put into a folder; `plant` is given the working folder and a folder outside it, and may be `heavy`."""

    kind: str
    name: str
    plant: Callable[[Path, Path], object]
    heavy: bool = False


def first(here: Path, place: str) -> Path:
    """Return a file below a folder, the first where a place names several."""
    return next(iter(sorted(here.glob(place))), here / place)


def link(place: str, what: str = "", same_kind: bool = True) -> Callable[[Path, Path], None]:
    """Return an attack: a link in a place, to a file outside like the one that stood there, or to `what`."""

    def plant(here: Path, outside: Path) -> None:
        path = here / place
        target = outside / (what or f"copy{path.suffix}")
        if not what and path.exists():
            (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
            files = target.rglob("*") if target.is_dir() else [target]
            for file in (file for file in files if file.is_file()):
                make_secret(file)
        elif not target.exists():
            target.write_bytes(SECRET)
        clear(path)
        path.symlink_to(target)

    return plant


def pipe(place: str) -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        path = first(here, place)
        clear(path)
        os.mkfifo(path)

    return plant


def endless_link(place: str) -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        path = first(here, place)
        clear(path)
        path.symlink_to(path.name)

    return plant


def content(place: str, data: bytes | str) -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        clear(here / place)
        mark = str(here.parent / "mark")
        (here / place).write_bytes(data if isinstance(data, bytes) else data.replace("MARK", mark).encode())

    return plant


def sparse(place: str, size: int = 2**32) -> Callable[[Path, Path], None]:
    """Return an attack: a file of 4 GiB that takes no room in an archive."""

    def plant(here: Path, outside: Path) -> None:
        clear(here / place)
        with (here / place).open("wb") as file:
            file.truncate(size)

    return plant


def edit_manifest(here: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    file = here / "CURATED" / "manifest.json"
    manifest = json.loads(file.read_text())
    edit(manifest)
    file.write_text(json.dumps(manifest))


def manifest(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path, Path], None]:
    return lambda here, outside: edit_manifest(here, edit)


def sources(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path, Path], None]:
    return manifest(lambda stated: edit(stated["sources"]))


def rows(folder: str, **values: Any) -> Callable[[Path, Path], None]:
    """Return an attack: other values in every row of the tables of a folder."""

    def plant(here: Path, outside: Path) -> None:
        for file in (here / folder).rglob("*.parquet"):
            table = pq.read_table(file)
            changed = [row | {name: v for name, v in values.items() if name in row} for row in table.to_pylist()]
            pq.write_table(pa.Table.from_pylist(changed, schema=table.schema), file)

    return plant


def folder_of_tables(place: str) -> Callable[[Path, Path], None]:
    """Return an attack: a folder in the place of a table, with a link to one outside in it."""

    def plant(here: Path, outside: Path) -> None:
        path = first(here, place)
        table = pq.read_table(path)
        texts = [row | {"answer": SECRET.decode()} for row in table.to_pylist()]
        pq.write_table(pa.Table.from_pylist(texts, schema=table.schema), outside / "table.parquet")
        clear(path)
        path.mkdir()
        (path / "part.parquet").symlink_to(outside / "table.parquet")

    return plant


def no_text(place: str) -> Callable[[Path, Path], None]:
    """Return an attack: texts in a table that are no UTF-8."""

    def plant(here: Path, outside: Path) -> None:
        path = first(here, place)
        table = pq.read_table(path)
        at = table.schema.get_field_index("answer")
        ends = pa.array(range(0, 2 * len(table) + 1, 2), pa.int32()).buffers()[1]
        texts = pa.Array.from_buffers(pa.string(), len(table), [None, ends, pa.py_buffer(b"\xff\xfe" * len(table))])
        pq.write_table(table.set_column(at, table.schema.field(at), texts), path)

    return plant


def bomb(place: str) -> Callable[[Path, Path], None]:
    """Return an attack: one text of 3 MB in each of 600 rows of a small table: more than a command may hold."""

    def plant(here: Path, outside: Path) -> None:
        path = first(here, place)
        table = pq.read_table(path)
        at, row = table.schema.get_field_index("answer"), table.slice(0, 1)
        with pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=["answer"],
                              dictionary_pagesize_limit=2**28) as writer:  # fmt: skip
            text = pa.array(["A" * 3_000_000] * 100)
            part = pa.concat_tables([row] * 100).set_column(at, table.schema.field(at), text)
            for _ in range(6):
                writer.write_table(part)

    return plant


def metadata(kind: str) -> Callable[[Path, Path], None]:
    """Return an attack: images with EXIF, XMP, a colour profile, texts and bytes behind their end, hashed anew."""

    def plant(here: Path, outside: Path) -> None:
        stated = {}
        for file in (here / "CURATED" / "images").rglob("*.jpg"):
            write_with_metadata(file, kind)
            stated[file.relative_to(here / "CURATED").as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (here / "CURATED" / "records").glob("*.parquet"):
            table = pq.read_table(file)
            changed = [
                row | {"image_sha256": [stated.get(name, "") for name in row["image"]]} for row in table.to_pylist()
            ]
            pq.write_table(pa.Table.from_pylist(changed, schema=table.schema), file)

    return plant


def write_with_metadata(file: Path, kind: str) -> None:
    image, stream, texts, exif = Image.open(file).convert("RGB"), io.BytesIO(), PngInfo(), Image.Exif()
    texts.add_text("Patient", HIDDEN.decode())
    texts.add_itxt("Name", HIDDEN.decode())
    exif[0x010E] = HIDDEN.decode()
    own = {"comment": HIDDEN, "xmp": HIDDEN} if kind == "JPEG" else {"pnginfo": texts}
    image.save(stream, kind, exif=exif, icc_profile=HIDDEN * 9, **own)
    file.write_bytes(stream.getvalue() + HIDDEN)


def images(make: Callable[[Path], object], place: str = "CURATED/images") -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        for file in sorted((here / place).rglob("*.jpg")):
            file.unlink()
            make(file)

    return plant


def raw_metadata(here: Path, outside: Path) -> None:
    for file in (here / "raw").rglob("*.jpg"):
        write_with_metadata(file, "JPEG")


def raw_links(to: str) -> Callable[[Path, Path], None]:
    """Return an attack: links in the place of all raw images, or of the folders of them."""

    def plant(here: Path, outside: Path) -> None:
        files = sorted((here / "raw").rglob("*.jpg"))
        for path in files if to == "photograph.jpg" else sorted({file.parent for file in files}):
            clear(path)
            path.symlink_to(outside / to)
        (outside / "run" / "1.jpg").write_bytes((outside / "photograph.jpg").read_bytes())

    return plant


def talk(**values: Any) -> Callable[[Path, Path], None]:
    """Return an attack: other values in each conversation; OUTSIDE is the folder of the owner."""

    def plant(here: Path, outside: Path) -> None:
        file = here / "talk.json"
        rows = [row | values for row in json.loads(file.read_text())]
        file.write_text(json.dumps(rows).replace("OUTSIDE", str(outside)))

    return plant


def wide(file: Path) -> None:
    """Write a PNG that states 60,000 x 60,000 pixels."""
    Image.new("L", (8, 8)).save(file, "PNG")
    data = bytearray(file.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    file.write_bytes(bytes(data))


def linked_images(here: Path, outside: Path) -> None:
    for file in (here / "CURATED" / "images").rglob("*.jpg"):
        file.unlink()
        file.symlink_to(outside / "photograph.jpg")


def config(text: str) -> Callable[[Path, Path], None]:
    """Return an attack: another configuration of a run, beside modules that its class paths name."""

    def plant(here: Path, outside: Path) -> None:
        content("RUN/config.yaml", text)(here, outside)
        for folder in (here, here / "RUN", here / "CURATED"):
            if folder.is_dir():
                for name in ("evil", "orjson", "numexpr", "tomllib2"):
                    (folder / f"{name}.py").write_text(CODE.format(mark=str(here.parent / "mark")))

    return plant


def series(here: Path, outside: Path) -> None:
    """Make a run a series whose only member is a run outside."""
    for file in list((here / "RUN").iterdir()):
        if file.name != "replies" and file.is_file():
            file.unlink()
    if (here / "RUN" / "replies").exists():
        (here / "RUN" / "replies").rename(outside / "replies")
    (here / "RUN" / "seed_0").symlink_to(outside)


class Opens:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (CODE.format(mark=str(self.mark)),)


def checkpoint(edit: Callable[[Path, Path], object]) -> Callable[[Path, Path], None]:
    """Return an attack on both checkpoints of the command, which have code beside them."""

    def plant(here: Path, outside: Path) -> None:
        for folder in (here / "delta", here / "base"):
            (folder / "evil.py").write_text(CODE.format(mark=str(here.parent / "mark")))
            edit(folder, outside)

    return plant


def stated(file: str, **values: Any) -> Callable[[Path, Path], None]:
    def edit(folder: Path, outside: Path) -> None:
        known = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
        (folder / file).write_text(json.dumps(known | values))

    return checkpoint(edit)


def pickled(folder: Path, outside: Path) -> None:
    for file in folder.glob("*.safetensors"):
        file.unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Opens(folder.parent.parent / "mark")))


def sheets(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
    def plant(here: Path, outside: Path) -> None:
        for file in (*here.glob("*.csv"), *here.glob("mine/*.csv")):
            file.write_bytes(change(file.read_bytes()))

    return plant


def workbook(**parts: str) -> bytes:
    stream, names = io.BytesIO(), {"book": "xl/workbook.xml", "rels": "xl/_rels/workbook.xml.rels", "sheet": SHEET}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for part, text in parts.items():
            archive.writestr(names[part], text)
    return stream.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
SPACE = "http://schemas.openxmlformats.org"
BOOK = f'<workbook xmlns="{SPACE}/spreadsheetml/2006/main" xmlns:r="{SPACE}/officeDocument/2006/relationships">'
BOOK += '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
RELS = f'<Relationships xmlns="{SPACE}/package/2006/relationships"><Relationship Id="r1" Target="TARGET" '
RELS += f'Type="{SPACE}/officeDocument/2006/relationships/worksheet"/></Relationships>'
ENTITY = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///proc/self/environ">]>'
CELLS = f'{ENTITY}<worksheet xmlns="{SPACE}/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr">'
CELLS += "<is><t>&e;</t></is></c></row></sheetData></worksheet>"
NINES = "\n".join(f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]" for b, c in zip("abcdefgh", "bcdefghi", strict=True))
TORN = "\x1b[2J\x1b]0;x\x07=1+1<script>alert(1)</script>|\u202e"

ATTACKS = [
    Attack("curated", "a link in the place of the manifest", link("CURATED/manifest.json")),
    Attack("curated", "a pipe in the place of the manifest", pipe("CURATED/manifest.json")),
    Attack("curated", "a manifest of 4 GiB", sparse("CURATED/manifest.json")),
    Attack("curated", "a list of sources", manifest(lambda m: m.update(sources=[1]))),
    Attack("curated", "no sources", manifest(lambda m: m.update(sources=None))),
    Attack("curated", "a source that is nothing", sources(lambda m: m.update(dict.fromkeys(m)))),
    Attack("curated", "a licence that is a list", sources(lambda m: [one.update(licence=[1]) for one in m.values()])),
    Attack("curated", "settings that are a text", manifest(lambda m: m.update(settings="x"))),
    Attack("curated", "terminal codes in a licence",
           sources(lambda m: [one.update(licence=TORN, redistributable=True) for one in m.values()])),
    Attack("curated", "a link in the place of records", link("CURATED/records")),
    Attack("curated", "an endless link in the place of records", endless_link("CURATED/records/*.parquet")),
    Attack("curated", "a pipe in the place of records", pipe("CURATED/records/*.parquet")),
    Attack("curated", "a folder of tables", folder_of_tables("CURATED/records/*.parquet")),
    Attack("curated", "texts that are no text", no_text("CURATED/records/*.parquet")),
    Attack("curated", "a bomb of records", bomb("CURATED/records/*.parquet")),
    Attack("curated", "terminal codes in names", rows("CURATED", key=TORN, source=TORN, group=TORN, licence=TORN)),
    Attack("curated", "an endless link of images", endless_link("CURATED/images")),
    Attack("curated", "links in the place of images", linked_images),
    Attack("curated", "pipes in the place of images", images(os.mkfifo)),
    Attack("curated", "images of 60,000 x 60,000 pixels", images(wide)),
    Attack("curated", "metadata in JPEGs", metadata("JPEG")),
    Attack("curated", "metadata in PNGs", metadata("PNG")),
    Attack("curated", "a link in the place of raw files", link("CURATED/files.csv")),
    Attack("curated", "a pipe in the place of raw files", pipe("CURATED/files.csv")),
    Attack("curated", "raw files without columns", content("CURATED/files.csv", "a,b\n1,2\n")),
    Attack("curated", "a pipe in the place of the lock", pipe("CURATED/.lock")),
    Attack("curated", "a link in the place of subsets", link("CURATED/subsets", "run")),
    Attack("curated", "a link in the place of the cache", link("CURATED/cache", "run")),
    Attack("curated", "a link in the place of the audit", link("CURATED/audit.csv", "secret.txt")),
    Attack("run", "a link in the place of replies", link("RUN/replies")),
    Attack("run", "a link in the place of predictions", link("RUN/predictions.parquet", "run/table.parquet")),
    Attack("run", "a folder of predictions", folder_of_tables("RUN/predictions.parquet")),
    Attack("run", "predictions that are no text", no_text("RUN/predictions.parquet")),
    Attack("run", "a bomb of predictions", bomb("RUN/predictions.parquet")),
    Attack("run", "a pipe in the place of a config", pipe("RUN/config.yaml")),
    Attack("run", "a config of aliases", config(f"a: &a [x, x, x]\n{NINES}\ndata: *i\nmodel: *i\nprovenance: *i\n")),
    Attack("run", "a config that holds itself", config("data: &d {init_args: *d, curated: CURATED}\nmodel: *d\n")),
    Attack("run", "a config with a tag", config("data: !!python/object/apply:os.system ['touch MARK']\n")),
    Attack("run", "a config of other types", config("data: [1]\nmodel: 3\nprovenance: x\n")),
    Attack("run", "a config that names the disk", config("data: {curated: /, tasks: 3}\n")),
    Attack("run", "a config with its own classes",
           config("trust: [evil]\ndata: {curated: CURATED, tasks: [{class_path: evil.Evil}]}\n")),
    Attack("run", "a nested line of replies", content("RUN/replies/rank-0.jsonl", ENDLESS + b"\n{}\n")),
    Attack("run", "replies of other types",
           content("RUN/replies/rank-0.jsonl", '{"id": "a", "reply": "b", "error": [1]}\n')),
    Attack("run", "likelihoods of other types",
           content("RUN/replies/rank-0.jsonl", '{"id": "a", "reply": "b", "likelihoods": 3}\n')),
    Attack("run", "a series that lies elsewhere", series),
    Attack("run", "a pipe in the place of the lock", pipe("RUN/.lock")),
    Attack("draft", "a link in the place of a sample", link("DRAFT/review.json")),
    Attack("draft", "a pipe in the place of a sample", pipe("DRAFT/review.json")),
    Attack("draft", "a link in the place of captions", link("DRAFT/captions.json")),
    Attack("draft", "a pipe in the place of captions", pipe("DRAFT/captions.json")),
    Attack("draft", "a link in the place of a run", link("DRAFT/generation")),
    Attack("captions", "a link in the place of a note", link("mine/phantom.json", "secret.txt")),
    Attack("captions", "an endless link in the place of an image", endless_link("mine/0.png")),
    Attack("captions", "a pipe in the place of an image", pipe("mine/0.png")),
    Attack("pack", "a pipe", pipe("a.lmodpack")),
    Attack("pack", "an endless link", endless_link("a.lmodpack")),
    Attack("pack", "4 GiB", sparse("a.lmodpack")),
    Attack("checkpoint", "a link in the place of a card", checkpoint(
        lambda folder, outside: link("README.md", "secret.txt")(folder, outside))),
    Attack("checkpoint", "a link to a folder", checkpoint(
        lambda folder, outside: link("more", "run")(folder, outside))),
    Attack("checkpoint", "a pipe", checkpoint(lambda folder, outside: pipe("tokenizer_notes")(folder, outside))),
    Attack("checkpoint", "code", stated("config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"})),
    Attack("checkpoint", "a pickle", checkpoint(pickled)),
    Attack("checkpoint", "an index that goes up", stated("model.safetensors.index.json", weight_map={"a": "../../b"})),
    Attack("raw", "a pipe in the place of the journal", pipe("OUT/.journal.jsonl")),
    Attack("raw", "a nested journal", content("OUT/.journal.jsonl", ENDLESS + b"\n{}\n")),
    Attack("raw", "a pipe in the place of the lock", pipe("OUT/.lock")),
    Attack("raw", "a link in the place of images to write", link("OUT/images", "run")),
    Attack("photographs", "links in the place of images", raw_links("photograph.jpg")),
    Attack("photographs", "links in the place of folders", raw_links("run")),
    Attack("photographs", "pipes in the place of images", images(os.mkfifo, "raw")),
    Attack("photographs", "images of 60,000 x 60,000 pixels", images(wide, "raw")),
    Attack("photographs", "images of 4 GiB", images(lambda file: os.truncate(_new(file), 2**32), "raw")),
    Attack("photographs", "metadata in images", raw_metadata),
    Attack("talk", "another folder", talk(image="../../outside/photograph.jpg")),
    Attack("talk", "the disk", talk(image="OUTSIDE/photograph.jpg")),
    Attack("talk", "an address of the disk", talk(image="file://OUTSIDE/photograph.jpg")),
    Attack("talk", "an address of a server", talk(image="http://127.0.0.1:9/photograph.jpg")),
    Attack("talk", "a list of images", talk(image=[["../../outside/photograph.jpg"]])),
    Attack("talk", "names of another type", talk(id={"a": 1}, image=3)),
    Attack("talk", "an id of another folder", talk(id="../../../outside/run/x")),
    Attack("talk", "terminal codes", talk(id=TORN, conversations=[{"from": TORN, "value": TORN}])),
    Attack("talk", "turns of another type", talk(conversations=[{"from": "human", "value": {"a": 1}}, 3])),
    Attack("talk", "half a character", talk(conversations=[
        {"from": "human", "value": "<image>\ud800"}, {"from": "gpt", "value": "\udfff"}])),
    Attack("talk", "nested values", content("talk.json", ENDLESS)),
    Attack("talk", "nested lines", content("talk.json", b'{"id": "a"}\n{"id": ' + ENDLESS)),
    Attack("talk", "a pipe", pipe("talk.json")),
    Attack("talk", "4 GiB", sparse("talk.json")),
    Attack("spreadsheet", "an entity", sheets(
        lambda _: workbook(book=BOOK, rels=RELS.replace("TARGET", "worksheets/sheet1.xml"), sheet=CELLS))),
    Attack("spreadsheet", "a sheet elsewhere", sheets(
        lambda _: workbook(book=BOOK, rels=RELS.replace("TARGET", "../../../../etc/passwd")))),
    Attack("spreadsheet", "a long cell", sheets(lambda data: data + b'"' + b"x" * 300_000 + b'",1\n')),
    Attack("spreadsheet", "formulas", sheets(lambda data: data.replace(b"\n", b"\n=cmd|' /C calc'!A0", 3))),
    Attack("spreadsheet", "zeros", sheets(lambda data: data.replace(b",", b"\0,", 9))),
]  # fmt: skip

ASKED: dict[str, Callable[[Path, Path], object]] = {
    "good": lambda here, outside: None,
    "metadata": metadata("JPEG"),
    "links": linked_images,
    "folder of links": link("CURATED/images"),
    "names": rows("CURATED", image=["../outside/photograph.jpg"], image_plain=["../outside/photograph.jpg"]),
    "closed": lambda here, outside: None,
    "stated twice": lambda here, outside: (here / "CURATED" / "manifest.json").write_text(
        (here / "CURATED" / "manifest.json").read_text().replace('"redistributable": true',
                                                                 '"redistributable": false, "redistributable": true')),
}  # fmt: skip
"""What is done to the folder whose images are asked about."""


def make_secret(file: Path) -> None:
    """Let a file hold a secret, and still be of its kind."""
    if file.suffix in (".jpg", ".png"):
        photograph().save(file)
    elif file.suffix != ".parquet":
        data = file.read_bytes() if file.exists() else b""
        word = next((w for w in (b"GLAUCOMA", b"YES", b"refuge", b'"licence": "') if w in data), b"")
        file.write_bytes(data.replace(word, word + SECRET) if word else data + SECRET)


def photograph() -> Image.Image:
    """Return a photograph that is known again after it was made smaller: eight fields of two colours."""
    image = Image.new("RGB", (8, 8), (250, 0, 250))
    for at in range(64):
        if (at // 8 + at) % 2:
            image.putpixel((at % 8, at // 8), (0, 250, 0))
    return image.resize((64, 64), Image.Resampling.NEAREST)


def _new(file: Path) -> Path:
    file.write_bytes(b"\xff\xd8\xff")
    return file


def clear(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
