"""What holds for every format: nothing closed leaves, the folder is new, and memory does not grow with the records."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.formats.chosen_records import NotRedistributable
from lmod_train.data.formats.export import export, formats
from tests.data.formats.conftest import record, write_curated
from tests.tabled import tabled

FORMATS = tuple(formats())


@tabled("to", FORMATS)
def test_nothing_of_a_closed_source_leaves(mixed: Path, tmp_path: Path, to: str):
    with pytest.raises(NotRedistributable):
        export(mixed, to, tmp_path / "out", images="none")  # the questions belong to the source, too
    assert list(tmp_path.iterdir()) == []
    assert export(mixed, to, tmp_path / "open", sources=["open_eyes"]).written == 2
    assert not (tmp_path / "open" / "NOTICE").exists()
    everything = b"".join(p.read_bytes() for p in (tmp_path / "open").rglob("*") if p.is_file())
    assert b"closed_eyes" not in everything
    assert export(mixed, to, tmp_path / "own", for_own_use=True).written == 6
    assert "must not be passed on" in (tmp_path / "own" / "NOTICE").read_text()


@pytest.mark.parametrize("to", ["vlmevalkit", "lmms_eval", "hugging_face"])
def test_images_inside_a_file_cannot_be_links(free: Path, tmp_path: Path, to: str):
    with pytest.raises(BadArgument, match="copy or none"):
        export(free, to, tmp_path / "out", images="link")


def test_an_export_of_nothing_is_an_error(tmp_path: Path):
    curated = write_curated(tmp_path / "c", [record("glaucoma", 0, answer="the <image> word")], open_eyes=True)
    with pytest.raises(BadArgument, match="image_word"):
        export(curated, "llava", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_exports_are_the_same(free: Path, tmp_path: Path):
    for to in FORMATS:
        export(free, to, tmp_path / to / "a")
        export(free, to, tmp_path / to / "b")
        files = [p.relative_to(tmp_path / to / "a") for p in (tmp_path / to / "a").rglob("*") if p.is_file()]
        assert files
        assert all((tmp_path / to / "a" / f).read_bytes() == (tmp_path / to / "b" / f).read_bytes() for f in files)


def peak(curated: Path, to: str, out: Path) -> int:
    tracemalloc.start()
    export(curated, to, out)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("to", ["llava", "sharegpt"])
def test_memory_does_not_grow_with_the_records(tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch, request):
    monkeypatch.setattr("lmod_train.core.batches.ROWS_A_GROUP", 32)
    usual = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's own; the suite collects more rarely
    request.addfinalizer(lambda: gc.set_threshold(*usual))
    long = "word " * 2000  # 10 kB a record
    for n in (64, 512):
        records = [record("glaucoma", i, image=("a.jpg",), image_plain=("a.jpg",), answer=long) for i in range(n)]
        write_curated(tmp_path / str(n), records, open_eyes=True)
    export(tmp_path / "64", to, tmp_path / "first")  # what is loaded once
    few, many = (peak(tmp_path / str(n), to, tmp_path / f"out{n}") for n in (64, 512))
    assert many < few + 1_000_000 < 512 * len(long)
    written = (tmp_path / "out512" / ("train.json" if to == "llava" else "train.jsonl")).read_text()
    assert len(json.loads(written) if to == "llava" else written.splitlines()) == 512
