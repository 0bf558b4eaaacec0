"""Pseudonyms: keyed, the same for everything of one record, none for what may be passed on."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.pseudonyms import FOLDER, KEY, NAMES, Pseudonyms, key_in, known_key
from lmod_train.core.artifacts.records import chain_id, record_id
from lmod_train.core.csv_files import read_rows
from lmod_train.core.errors import CuratedDamaged, LeavesFolder
from lmod_train.core.types import Prediction, Record, Reply
from tests.scoring.make import record

KEYS = ("Mueller_1957", "1", "12", "a b (2), left", "眼/Zhang 三", "x" * 90, "50%25", 'it\'s "he"')


def patient(key: str, source: str = "clinic", task: str = "glaucoma", **more) -> Record:
    made = record(key, "GLAUCOMA", task=task, source=source)
    image = f"images/{source}/{key}.jpg"
    id = record_id(task, source, key, more.get("language", ""), more.get("variant", ""))
    return replace(made, id=id, key=key, image=(image,), image_plain=(image,), chain=chain_id(source, key), **more)


def folder(path: Path, **redistributable: bool) -> Path:
    sources = {name: {"redistributable": may} for name, may in redistributable.items()}
    write_json(path / "manifest.json", {"schema_version": 4, "sources": sources})
    return path


def names_of(path: Path, *records: Record, named=()) -> Pseudonyms:
    return Pseudonyms([(path, records)], named)


def test_what_is_private_has_a_pseudonym_and_what_is_open_its_name(tmp_path: Path):
    curated = folder(tmp_path, clinic=False, free=True)
    private, free, unknown = patient("p1"), patient("p1", "free"), patient("p1", "elsewhere")
    names = names_of(curated, private, free, unknown)
    assert names.record(free) is free
    for one in (private, unknown):
        shown = names.record(one)
        assert shown.key != one.key and shown.id == f"glaucoma/{one.source}/{shown.key}" and shown.image == one.image
    assert names_of(curated, private, unknown, named=["clinic"]).record(private) is private


def test_an_open_question_about_a_private_image_has_one(tmp_path: Path):
    probe = replace(patient("q", "free"), image=("images/clinic/Mueller.jpg",))
    names = names_of(folder(tmp_path, clinic=False, free=True), probe)
    assert "Mueller" not in names.text("images/clinic/Mueller.jpg") and names.record(probe).id != probe.id


def test_questions_of_one_eye_share_its_pseudonym(tmp_path: Path):
    one, other, third = patient("p1", language="en"), patient("p1", task="four_way", variant="none"), patient("p2")
    shown = list(map(names_of(folder(tmp_path, clinic=False), one, other, third).record, (one, other, third)))
    assert shown[0].key == shown[1].key != shown[2].key
    assert shown[0].id.endswith("/en") and shown[1].id.endswith("/none") and shown[0].chain == shown[1].chain


def test_the_key_is_kept_secret_and_differs_between_folders(tmp_path: Path):
    first, second = (folder(tmp_path / n, clinic=False) for n in ("a", "b"))
    shown = {names_of(path, patient("p1")).record(patient("p1")).id for path in (first, second, first)}
    assert len(shown) == 2
    assert known_key(first) != known_key(second) and len(known_key(first)) == 32
    assert (first / FOLDER / KEY).stat().st_mode & 0o077 == 0
    guessed = {hashlib.sha256(text.encode()).hexdigest()[:16] for text in ("p1", "clinic/p1", "glaucoma/clinic/p1")}
    assert not guessed & {part for id in shown for part in id.split("/")}


def test_no_key_is_made_where_nothing_is_private(tmp_path: Path):
    assert not names_of(folder(tmp_path, free=True), patient("p1", "free")).names
    assert known_key(tmp_path) == b"" and not (tmp_path / FOLDER).exists()


def test_without_a_folder_that_takes_it_a_key_is_used_once(tmp_path: Path, monkeypatch):
    found = [Pseudonyms([(path, [patient("p1")])]) for path in (None, tmp_path / "gone", None)]
    assert len({names.record(patient("p1")).id for names in found}) == 3 and {n.folder for n in found} == {None}
    sealed = folder(tmp_path / "sealed", clinic=False)
    monkeypatch.setattr("lmod_train.core.artifacts.pseudonyms.locked", refuse)
    assert names_of(sealed, patient("p1")).folder is None


def refuse(*_, **__):
    raise OSError(30, "Read-only file system")


def test_the_key_of_a_later_folder_goes_before_a_new_one(tmp_path: Path):
    first, second = (folder(tmp_path / n, clinic=False) for n in ("a", "b"))
    key, _ = key_in([second])
    assert Pseudonyms([(first, [patient("p1")]), (second, [patient("p2")])])._key == key


@pytest.mark.parametrize("size", [0, 31, 33, 10**6])
def test_another_file_in_its_place_is_refused(tmp_path: Path, size: int):
    curated = folder(tmp_path, clinic=False)
    (curated / FOLDER).mkdir()
    (curated / FOLDER / KEY).write_bytes(bytes(size))
    with pytest.raises(CuratedDamaged, match="key"):
        names_of(curated, patient("p1"))


def test_a_key_elsewhere_is_not_read(tmp_path: Path):
    curated = folder(tmp_path / "curated", clinic=False)
    (tmp_path / "mine").write_bytes(bytes(32))
    (curated / FOLDER).mkdir()
    (curated / FOLDER / KEY).symlink_to(tmp_path / "mine")
    with pytest.raises(LeavesFolder):
        names_of(curated, patient("p1"))


def test_the_owner_finds_names_in_a_list_that_grows(tmp_path: Path):
    curated = folder(tmp_path, clinic=False)
    for key in ("p1", "p2", "p2"):
        names = names_of(curated, patient(key))
        names.keep()
    listed = dict(read_rows(curated / FOLDER / NAMES)[1:])
    assert listed[names.record(patient("p2")).id] == "glaucoma/clinic/p2"
    assert sorted(listed.values()) == sorted(
        name for k in ("p1", "p2") for name in (f"glaucoma/clinic/{k}", f"clinic/{k}", f"images/clinic/{k}.jpg")
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Pseudonyms:
    return names_of(folder(tmp_path_factory.mktemp("curated"), clinic=False), *map(patient, KEYS))


@given(
    st.lists(st.tuples(st.text(max_size=6), st.sampled_from(KEYS), st.integers(0, 3)), max_size=4), st.text(max_size=6)
)
def test_names_in_texts_become_pseudonyms_and_the_rest_stays(hostile, pieces, end):
    written, expected = "", ""
    for before, key, kind in pieces:
        one = patient(key)
        name = (one.id, one.image[0], one.chain, "/data/MINE/" + one.image[0])[kind]
        head = "/data/MINE/" if kind == 3 else ""
        between = before.replace("/", "") + " "
        written += between + name + " "
        expected += between + head + hostile.names[name.removeprefix(head)] + " "
    end = end.replace("/", "")
    assert hostile.text(written + end) == expected + end


def test_a_pseudonym_that_ends_like_a_name_stays(tmp_path: Path):
    names = names_of(folder(tmp_path, clinic=False), *(patient(key) for key in "0123456789abcdef"))
    for name, shown in names.names.items():
        assert names.text(f"{name}, {shown}") in (f"{shown}, {shown}", f"{shown}, {names.text(shown)}")
        assert names.text(name) == shown


def test_an_unlisted_name_of_the_source_is_hidden_too(hostile: Pseudonyms):
    text = hostile.text("cannot read '/data/MINE/images/clinic/Schmidt.marked.jpg': truncated; clinic/Schmidt/2 too")
    assert "Schmidt" not in text and text.startswith("cannot read '/data/MINE/images/clinic/") and "truncated" in text


def test_what_was_sent_and_what_failed_have_the_names_too(hostile: Pseudonyms):
    one = patient("Mueller_1957")
    reply = Reply(one.id, "GLAUCOMA", rendered=f"<img {one.image[0]}>", error=f"{one.id}: no reply")
    shown = hostile.prediction(Prediction(one, reply, "GLAUCOMA"))
    assert "Mueller" not in f"{shown.record.id}{shown.reply.rendered}{shown.reply.error}"
    assert shown.reply.reply == "GLAUCOMA"
