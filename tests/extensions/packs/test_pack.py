import json
import pickle
import zipfile
from dataclasses import replace

import pytest

from lmod_train.core.errors import PackDamaged
from lmod_train.core.types import Score
from lmod_train.extensions.packs.pack import (
    HEADER,
    LINES,
    Pack,
    Packed,
    PackedSource,
    PackedTask,
    read_pack,
    write_pack,
)
from tests.tabled import stored, tabled

ROW = Packed(
    "glaucoma/a/1", "glaucoma", "0" * 64, ("1" * 64,), {}, ("I see ", (3, 9), " =1+1"), "stop", 0, {"0": -0.5}, "{}"
)
PACK = Pack(
    run="run",
    model="base",
    package="0.1",
    protocol="own",
    manifest={"sources": "2" * 64},
    records=3,
    settings=("{}",),
    provenance={"git": "x"},
    tasks=(PackedTask("glaucoma", "a.B", 3, (3,)),),
    sources=(PackedSource("a", "CC0", True),),
    left_out=1,
    scores=(Score("glaucoma", "all", "accuracy_strict", 2, 0.5, None, 1.0), Score("glaucoma", "all", "hr", 0, None)),
    predictions=(ROW, replace(ROW, id="glaucoma/a/2", way={"wording": "1"}, likelihoods={})),
)


@pytest.fixture
def file(tmp_path):
    write_pack(tmp_path / "a.lmodpack", PACK)
    return tmp_path / "a.lmodpack"


def entries(file):
    with zipfile.ZipFile(file) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def rewrite(file, packing=zipfile.ZIP_DEFLATED, **contents):
    with zipfile.ZipFile(file, "w", packing) as opened:
        for name, content in contents.items():
            opened.writestr(name.replace("__", "."), content)


def with_header(file, **changed):
    known = entries(file)
    header = json.loads(known[HEADER]) | changed
    rewrite(file, pack__json=json.dumps(header), predictions__jsonl=known[LINES])


def test_a_pack_comes_back_as_it_was_with_equal_bytes(file, tmp_path):
    assert read_pack(file) == PACK
    write_pack(tmp_path / "b.lmodpack", PACK)
    assert (tmp_path / "b.lmodpack").read_bytes() == file.read_bytes()


def test_scores_come_back_with_their_settings(tmp_path):
    text = Score("open_question", "all", "bleu1_corpus", 2, 0.5, settings="zh: sacrebleu ngram:1")
    pack = replace(PACK, scores=(*PACK.scores, text))
    write_pack(tmp_path / "p.zip", pack)
    assert read_pack(tmp_path / "p.zip") == pack


@tabled(
    ("content", "problem"),
    [
        (b"", "no pack that can be read"),
        (b"PK\x05\x06" + bytes(18), "holds other files than a pack"),
        (pickle.dumps([1]), "no pack that can be read"),
        (b"\x00" * 100, "no pack that can be read"),
    ],
)
def test_other_files_are_refused(content, problem, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(PackDamaged, match=problem):
        read_pack(tmp_path / "x")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(PackDamaged, match="no pack that can be read"):
            read_pack(path)


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "data.pkl", "pack.json/x", "\x1b[2J"])
def test_entries_of_other_names_are_refused_and_nothing_is_extracted(name, file):
    rewrite(file, **{"pack__json": b"{}", "predictions__jsonl": b"", name: b"x"})
    before = sorted(file.parent.rglob("*"))
    with pytest.raises(PackDamaged, match="holds other files than a pack"):
        read_pack(file)
    assert sorted(file.parent.rglob("*")) == before


def test_two_entries_of_one_name_are_refused(file):
    known = entries(file)
    with zipfile.ZipFile(file, "w") as opened, pytest.warns(UserWarning, match="Duplicate"):
        for name in (HEADER, LINES, LINES):
            opened.writestr(name, known[name])
    with pytest.raises(PackDamaged, match="3 entries"):
        read_pack(file)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(file, monkeypatch):
    monkeypatch.setattr("lmod_train.extensions.packs.pack.MOST_HEADER", 1 << 20)
    rewrite(file, pack__json=b" " * (2 << 20), predictions__jsonl=b"")
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    with pytest.raises(PackDamaged, match="is larger than 1048576 bytes"):
        read_pack(file)


def test_a_line_without_an_end_is_refused(file, monkeypatch):
    monkeypatch.setattr("lmod_train.extensions.packs.pack.MOST_LINE", 1 << 16)
    rewrite(file, pack__json=entries(file)[HEADER], predictions__jsonl=b"1" * (1 << 20))
    with pytest.raises(PackDamaged, match="prediction 1 has more than 65536 bytes"):
        read_pack(file)


def test_a_reply_too_large_to_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.extensions.packs.pack.MOST_LINE", 100)
    with pytest.raises(PackDamaged, match="more than 100 bytes"):
        write_pack(tmp_path / "x", PACK)
    assert not list(tmp_path.iterdir())


def test_other_packings_are_refused(file):
    known = entries(file)
    rewrite(file, zipfile.ZIP_LZMA, pack__json=known[HEADER], predictions__jsonl=known[LINES])
    with pytest.raises(PackDamaged, match="of another packing"):
        read_pack(file)


@pytest.mark.parametrize(
    ("changed", "problem"),
    stored(__file__, "pack.another_schema_is_refused"),
)
def test_another_schema_is_refused(changed, problem, file):
    with_header(file, **changed)
    with pytest.raises(PackDamaged, match=problem):
        read_pack(file)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[]", "1", '{"a": NaN}', '{"run": "a", "run": "b"}', '"\\ud800"', "{}", "\xe4", '{"count": 1e999}'],
)
def test_headers_that_are_no_object_of_a_pack_are_refused(text, file):
    rewrite(file, pack__json=text, predictions__jsonl=b"")
    with pytest.raises(PackDamaged):
        read_pack(file)


def test_a_pack_that_was_cut_off_is_refused(file):
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(PackDamaged, match="no pack that can be read"):
        read_pack(file)


def test_lines_are_read_up_to_their_number_and_length(monkeypatch):
    import io
    import zipfile

    from lmod_train.extensions.packs import pack

    monkeypatch.setattr(pack, "MOST_LINE", 4)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr(pack.LINES, "abc\nabc\n")
    with zipfile.ZipFile(held) as opened:
        assert list(pack._lines(opened, 2, lambda _: None)) == [b"abc\n"] * 2
        for most, longest in ((1, 4), (2, 3)):
            monkeypatch.setattr(pack, "MOST_LINE", longest)
            with pytest.raises(ValueError, match="has more than"):
                list(pack._lines(opened, most, lambda _: None))
