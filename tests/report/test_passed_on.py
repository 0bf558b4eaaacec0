"""The folder of a report of private sources can be sent by mail: no name of a file or patient is in it."""

from __future__ import annotations

import io
import pickle
import re
import tarfile
import zlib
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import yaml
from PIL import Image

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.pseudonyms import FOLDER, NAMES
from lmod_train.core.artifacts.records import chain_id, record_id, write_records
from lmod_train.core.csv_files import read_rows
from lmod_train.core.extension import extensions
from lmod_train.core.tables import table
from lmod_train.core.types import Record, Reply
from lmod_train.extensions.looking.results import COLUMNS, draw_strip
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Text
from lmod_train.report.passed_on import pseudonyms_of, shown_contents
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.section import shipped_sections
from lmod_train.report.sections.comparisons import Comparisons
from lmod_train.report.sections.error_types import ErrorTypes
from lmod_train.report.sections.examples import Examples
from lmod_train.report.sections.scores import Scores
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from tests.report.make import CLASSES, written

PATIENT, GROUP = "Zebrowski", "Quixada"
"""In every name of a file, and of a patient."""
N = 12
FEW = [Scores(), Comparisons(), ErrorTypes(), Examples()]
"""Sections whose parts name records, beside the scores."""


def records() -> list[Record]:
    from tests.scoring.make import record

    found = []
    for i in range(N):
        key = (f"{PATIENT}_{i}", f"{PATIENT} Anna/{i} (OD), née", f"眼{PATIENT}'{i}")[i % 3]
        place = {"source": "clinic", "group": f"{GROUP}{i // 2}", "image": f"images/clinic/{key}.jpg"}
        for kind, answer, choices in (
            (FourWay, f"DISEASE: {CLASSES[i % 4]}", CLASSES),
            (Glaucoma, ("GLAUCOMA", "NON-GLAUCOMA")[i % 2], ("GLAUCOMA", "NON-GLAUCOMA")),
        ):
            made = record(key, answer, task=kind.name, choices=choices, **place)
            id = record_id(kind.name, "clinic", key)
            path = f"{kind.__module__}.{kind.__qualname__}"
            more = {"task_class": path, "task_version": kind.version, "chain": chain_id("clinic", key)}
            found.append(replace(made, id=id, **more))
    return found


def curated(folder: Path, redistributable: bool = False) -> Path:
    for place, record in enumerate(records()):
        file = folder / record.image[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        exif[0x010E] = PATIENT
        Image.new("RGB", (64, 48), (200, 40 + place * 8, 30)).save(file, exif=exif)
    write_json(
        folder / "manifest.json",
        {"schema_version": 4, "sources": {"clinic": {"licence": "none", "redistributable": redistributable}}},
    )
    write_records(folder / "records" / "all.parquet", records())
    return folder


def run(folder: Path, source: Path, wrong: int) -> Path:
    """A run with right and wrong replies, one that failed over its file, and one that was sent its path."""
    replies = {}
    for i, one in enumerate(records()):
        said = records()[(i + 2) % (2 * N)].answer if i % wrong == 0 else one.answer
        replies[one.id] = Reply(one.id, said, rendered=f"<image {one.image[0]}> {one.chain}", model="m")
    lost = records()[5]
    error = f"{source / lost.image[0]}: cannot identify image file ({lost.id})"
    replies[lost.id] = Reply(lost.id, "", error=error, finish_reason="error", model="m")
    tasks = [FourWay(), Glaucoma()]
    predictions = [p for task in tasks for p in parse_replies(task, records(), replies)]
    written(folder, folder.name, "m", records(), predictions, scores_of(tasks, predictions))
    (folder / "config.yaml").write_text(yaml.safe_dump({"data": {"curated": str(source)}}))
    return folder


def everything(folder: Path) -> str:
    """Return all that a folder holds as text: names, an archive, bytes as they are, unpacked and decoded."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.add(folder, "report")
    data = held.getvalue()
    for file in folder.rglob("*.png"):
        for chunk in re.findall(rb"(?:zTXt|iTXt)[^\0]+\0+(.+?)IEND", file.read_bytes(), re.S):
            data += zlib.decompressobj().decompress(chunk)
    text = data.decode("utf-8", "replace")
    return "\n".join((text, unquote(text), re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)))


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("home")
    curated(home / "MINE")
    for name, wrong in (("a", 2), ("b", 3)):
        run(home / name, home / "MINE", wrong)
    return home


def every_section() -> list:
    """Those of the default report, and the whole reports of all extensions."""
    named = [path.stem for one in extensions() if one.configs for path in configs_of(one)]
    every = [*shipped_sections(), *(s for name in named for s in shipped_sections(name))]
    return list({pickle.dumps(section): section for section in every}.values())  # most are in several reports


def configs_of(one) -> list[Path]:
    import lmod_train

    folder = Path(lmod_train.__file__).parent / "extensions" / one.name / "configs" / "report"
    return sorted(folder.glob("*.yaml"))


@pytest.fixture(scope="module")
def twice(home: Path, tmp_path_factory) -> tuple[Path, list[str]]:
    """A folder with two reports of the same runs, and the lines of the second."""
    place = tmp_path_factory.mktemp("twice")
    for name in ("one", "two"):
        lines: list[str] = []
        write_report([home / "a", home / "b"], place / name, sections=FEW, log=lines.append)
    return place, lines


@pytest.mark.parametrize("one_file", [False, True])
def test_nothing_in_the_folder_tells_a_name(home: Path, tmp_path: Path, one_file: bool):
    """Of any section in a folder; one file differs from it by its page."""
    sections = FEW if one_file else every_section()
    write_report([home / "a", home / "b"], tmp_path / "REPORT", one_file=one_file, sections=sections)
    held = everything(tmp_path / "REPORT")
    assert PATIENT not in held and GROUP not in held
    assert "examples-glaucoma" in held and "cannot identify image file" in held


def test_the_order_of_the_page_is_not_that_of_the_names(home: Path, tmp_path: Path):
    write_report([home / "a"], tmp_path / "REPORT", sections=FEW[:1])
    index = (tmp_path / "REPORT" / "data" / "index.js").read_text()
    shown = list(dict.fromkeys(re.findall(r"four_way/clinic/[0-9a-f]{16}", index)))
    assert len(shown) == N and shown == sorted(shown)


def test_what_is_open_keeps_its_names(home: Path, tmp_path: Path):
    write_report([home / "a", home / "b"], tmp_path / "kept", sections=FEW, keep_names=["clinic"])
    assert PATIENT in everything(tmp_path / "kept")
    curated(tmp_path / "MINE", redistributable=True)
    write_report([run(tmp_path / "c", tmp_path / "MINE", 2)], tmp_path / "free", sections=FEW)
    assert PATIENT in everything(tmp_path / "free") and not (tmp_path / "MINE" / FOLDER).exists()


def test_a_run_without_its_curated_folder_has_none_either(home: Path, tmp_path: Path):
    lines: list[str] = []
    made = run(tmp_path / "alone", tmp_path / "gone", 2)
    write_report([made], tmp_path / "REPORT", sections=FEW, log=lines.append)
    assert PATIENT not in everything(tmp_path / "REPORT")
    assert f"alone/{FOLDER}/{NAMES}" in lines[-1] and (made / FOLDER / NAMES).is_file()


def test_pseudonyms_are_the_same_everywhere_and_lead_back(home: Path, twice: tuple[Path, list[str]]):
    both, lines = twice
    assert f"MINE/{FOLDER}/{NAMES}" in lines[-1]
    rows = [read_rows(both / name / "figures" / "examples-glaucoma.csv") for name in ("one", "two")]
    assert rows[0] == rows[1]
    names = dict(read_rows(home / "MINE" / FOLDER / NAMES)[1:])
    place = rows[0][0].index("record"), rows[0][0].index("image")
    for row in rows[0][1:]:
        shown = {names[row[column]] for column in place}
        (one,) = (r for r in records() if r.id in shown)
        assert shown == {one.id, one.image[0]}
        assert row[place[0]] in (both / "one" / "data" / "index.js").read_text()
        assert quote(row[place[0]], safe="") in (both / "one" / "index.html").read_text() or len(rows[0]) > 6


def test_every_part_of_any_section_is_shown_under_pseudonyms(home: Path, tmp_path: Path):
    one = records()[4]
    cells = table(f"t {one.id}", ["record", "shown", "image", "model", "answer", "changed"], [])
    strip = replace(
        table("strip", COLUMNS, [[one.id, "as_is", one.image[0], "m", f"as {one.image[0]}", "no"]], one.id), note=one.id
    )
    figure = Figure("strip", one.id, one.id, strip, lambda t, out: draw_strip(t, out, home / "MINE"))
    parts = (Text(f"see {one.id}"), Remark(one.image[0]), replace(strip, name="a"), figure)
    results = read_results([home / "a"])
    (chapter,) = shown_contents(Contents("r", (one.id,), (Chapter("c", "c", parts),)), pseudonyms_of(results)).chapters
    assert PATIENT not in repr(chapter.parts[:3]) and len(cells.rows) == 0
    shown = chapter.parts[3]
    assert PATIENT not in f"{shown.title}{shown.alt}{shown.table}"
    shown.draw(shown.table, tmp_path)
    assert "image not found" not in (tmp_path / "strip.svg").read_text(), "its image is that of the curated folder"
    assert PATIENT not in everything(tmp_path)


def test_the_same_runs_give_the_same_bytes_under_pseudonyms_too(twice: tuple[Path, list[str]]):
    place, _ = twice
    files = sorted(f.relative_to(place / "one") for f in (place / "one").rglob("*") if f.is_file())
    assert len(files) > 20
    for file in files:
        assert (place / "one" / file).read_bytes() == (place / "two" / file).read_bytes(), file
