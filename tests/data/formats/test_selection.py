"""What is exported: which records, in which order, under which licences; and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core.artifacts.manifest import read_manifest, write_json
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.data.formats import chosen_records as room
from lmod_train.data.formats.chosen_records import NotRedistributable, select
from tests.data.formats.conftest import record, write_curated


def test_a_selection_holds_the_records_of_the_folder_in_their_order(free: Path):
    chosen = select(free)
    assert list(chosen) == read_records(free / "records") == list(chosen)  # and can be gone through twice
    assert len(chosen) == 8
    assert (chosen.tasks, chosen.splits) == (("anatomy", "conversation", "glaucoma"), ("train", "val", "test"))


def test_tasks_split_and_sources_narrow_it(free: Path, mixed: Path):
    assert [r.id for r in select(free, ["glaucoma"], "test")] == ["glaucoma/open_eyes/part/003"]
    assert {r.source for r in select(mixed, sources=["open_eyes"])} == {"open_eyes"}


def test_records_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_curated(tmp_path, [record("glaucoma", n) for n in range(30)], open_eyes=True)
    read: list[int] = []
    inner = room.record_of
    monkeypatch.setattr("lmod_train.core.batches.ROWS_A_GROUP", 4)
    monkeypatch.setattr(room, "record_of", lambda row: read.append(1) or inner(row))
    passed = iter(select(folder))
    next(passed)
    assert len(read) == 1  # the next ones wait on the disk
    assert sum(1 for _ in passed) == 29


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"tasks": ["glaucoma", "grading"]}, ["--tasks", "grading", "anatomy, conversation, glaucoma"]),
        ({"sources": ["nowhere"]}, ["--sources", "nowhere", "open_eyes"]),
        ({"tasks": ["conversation"], "split": "test"}, ["--split", "test", "train, val, test"]),
    ],
)
def test_what_is_not_there_is_named(free: Path, options: dict, parts: list[str]):
    with pytest.raises(BadArgument) as caught:
        select(free, **options)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_closed_source_is_refused_with_its_licence_and_the_way_round_it(mixed: Path):
    with pytest.raises(NotRedistributable) as caught:
        select(mixed)
    said = str(caught.value)
    assert "closed_eyes (licence of closed_eyes)" in said
    assert "unknown_eyes (licence not stated in the manifest)" in said  # no word of a licence is no permission
    assert "open_eyes (" not in said
    assert "--sources open_eyes" in said and "--for_own_use" in said
    with pytest.raises(NotRedistributable) as caught:
        select(mixed, sources=["closed_eyes"])
    assert "--sources" not in str(caught.value)
    assert len(select(mixed, for_own_use=True)) == 6


@pytest.mark.parametrize("word", ["yes", 1, None])
def test_only_a_true_in_the_manifest_is_a_permission(tmp_path: Path, word: object):
    folder = write_curated(tmp_path, [record("glaucoma", 0)], open_eyes=word)  # type: ignore[arg-type]
    with pytest.raises(NotRedistributable):
        select(folder)


def test_a_folder_that_is_not_curated_or_damaged_is_told(tmp_path: Path, free: Path):
    with pytest.raises(ArtifactError, match="not curated"):
        select(tmp_path)
    folder = write_curated(tmp_path / "a", [record("glaucoma", 0)], open_eyes=True)
    (folder / "records" / "glaucoma.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ArtifactError, match="cannot be read as Parquet"):
        select(folder)
    pq.write_table(pa.table({"id": ["a"]}), folder / "records" / "glaucoma.parquet")
    with pytest.raises(ArtifactError, match="schema version none"):
        select(folder)
    (folder / "records" / "glaucoma.parquet").unlink()
    with pytest.raises(ArtifactError, match="no record file"):
        select(folder)


def test_a_licence_cannot_break_the_table():
    odd = room.Licence("a", "one | two\nthree", False, "")
    assert room.licence_table([odd]).splitlines()[2] == "| a | one \\| two three | no |  |"
    assert replace(odd, redistributable=True).redistributable


def test_an_export_says_which_sources_were_drawn(tmp_path: Path):
    folder = write_curated(tmp_path, [record("glaucoma", 0)], open_eyes=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    for drawn in (False, True):
        manifest["sources"]["open_eyes"]["phantom"] = drawn
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (_, _, line) = room.licence_table(select(folder).licences).splitlines()
        assert ("(phantoms: drawn, not eyes)" in line) == drawn


def test_the_licence_of_the_image_that_a_probe_shows_counts_too(tmp_path: Path):
    """Another source's image, or a photograph that is no eye, is passed on with the record that shows it."""
    borrowed = record("glaucoma", 1, image=("images/closed_eyes/part/009.jpg",))
    strange = record("glaucoma", 2, image=("images/foreign/cat.jpg",), image_plain=("images/foreign/cat.jpg",))
    own = record("four_way", 3)
    folder = write_curated(tmp_path, [borrowed, strange, own], open_eyes=True, closed_eyes=False)
    with pytest.raises(
        NotRedistributable, match=r"closed_eyes \(licence of closed_eyes\); foreign \(licence not stated"
    ):
        select(folder, sources=["open_eyes"])
    assert [one.source for one in select(folder, ["four_way"]).licences] == ["open_eyes"]
    named = select(folder, for_own_use=True).licences
    assert [(one.source, one.redistributable) for one in named] == [
        ("closed_eyes", False),
        ("foreign", False),
        ("open_eyes", True),
    ]
    manifest = read_manifest(folder) | {"foreign": {"licence": "CC BY 2.0 (a name)", "redistributable": True}}
    write_json(folder / "manifest.json", manifest)
    with pytest.raises(NotRedistributable) as caught:
        select(folder)
    assert "foreign" not in str(caught.value)
