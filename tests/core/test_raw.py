import json
import math
import os
import socket
from contextlib import suppress

import pytest

from lmod_train.core import raw
from lmod_train.core.raw import decoded, read_bytes, read_json, read_yaml


def test_a_file_and_a_link_to_one_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"xyz")
    (tmp_path / "b").symlink_to("a")
    assert read_bytes(tmp_path / "a") == read_bytes(tmp_path / "b", most=3) == b"xyz"
    with pytest.raises(ValueError, match="3 bytes, expected at most 2"):
        read_bytes(tmp_path / "a", most=2)


def test_what_is_no_file_is_refused_at_once(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    for name, said in (("pipe", "pipe"), ("zero", "device"), ("folder.jpg", "folder"), ("socket", "socket")):
        with pytest.raises(OSError, match=f"a {said}, expected a file"):
            read_bytes(tmp_path / name)
    for name in ("broken", "circle", "none"):
        with pytest.raises(OSError):
            read_bytes(tmp_path / name)


def test_a_file_whose_size_is_not_told_is_cut_off(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"x" * 100)
    told = os.fstat

    def smaller(descriptor):
        facts = list(told(descriptor))
        facts[6] = 0
        return os.stat_result(facts)

    monkeypatch.setattr(os, "fstat", smaller)
    with pytest.raises(ValueError, match="more bytes than its stated size of 0"):
        read_bytes(tmp_path / "a", most=10)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_json_in_three_encodings(tmp_path, encoding):
    (tmp_path / "a.json").write_bytes(json.dumps({"João": [1, 2.5]}, ensure_ascii=False).encode(encoding))
    assert read_json(tmp_path / "a.json") == {"João": [1, 2.5]}


def test_long_numbers_are_infinite(tmp_path):
    (tmp_path / "a.json").write_text(f"[{'9' * 300}, {'9' * 5000}, -{'9' * 5000}, 1e999]")
    assert read_json(tmp_path / "a.json") == [10**300 - 1, math.inf, -math.inf, math.inf]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[1, 2", "", "\x00", "[" * 3 + "]" * 2])
def test_deep_and_broken_json_is_a_value_error(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError):
        read_json(tmp_path / "a.json")


def test_json_of_too_many_pieces_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "MOST_CONTAINERS", 1000)
    monkeypatch.setattr(raw.json, "loads", lambda *a, **k: pytest.fail("parsed"))
    (tmp_path / "a.json").write_text("[" + "[]," * 1000 + "[]]")
    with pytest.raises(ValueError, match="more than 1,000 lists"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_texts_of_every_encoding_that_circulates(encoding):
    assert decoded("Córnea – “x”".encode(encoding)) == "Córnea – “x”"


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(UnicodeDecodeError):
        decoded(b"\x81\xff")
    assert decoded(b"") == ""


def test_yaml_of_plain_values(tmp_path):
    (tmp_path / "a.yaml").write_text("names: [cup, disc]\nnc: 2\n")
    assert read_yaml(tmp_path / "a.yaml") == {"names": ["cup", "disc"], "nc": 2}


PAIRS = zip("abcdefgh", "bcdefghi", strict=True)
BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in PAIRS)
ODD = {
    "many": "[" * 5000,
    "lists": "[" * 499,
    "dashes": "- " * 5000,
    "maps": "{a: " * 400,
    "aliases": BOMB,
    "python": "a: !!python/object/apply:os.getcwd []",
    "key": "{[a]: 1}",
    "open": "a: [",
    "large": "x" * 200_000,
}


def test_yaml_that_is_deep_or_odd_is_a_value_error(tmp_path):
    read = []
    for name, text in ODD.items():
        (tmp_path / "a.yaml").write_text(text)
        with suppress(ValueError):
            read.append((name, read_yaml(tmp_path / "a.yaml")))
    assert read == []


CHINESE = "编号,诊断\n1,糖尿病视网膜病变\n2,正常\n"
PORTUGUESE = "id,nome\n1,alteração\n2,CORAÇÃO\n3,opções\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_texts_in_unicode(encoding):
    for text in (CHINESE, PORTUGUESE, "id,name\n1,x\n"):
        assert decoded(text.encode(encoding)) == text
        assert decoded(("\ufeff" + text).encode(encoding)) in (text, "\ufeff" + text)
        assert raw.start_of(text.encode(encoding)[:-1]).startswith(text[:5])


def test_national_encodings_are_told_apart_or_refused():
    assert decoded(CHINESE.encode("gb18030")) == CHINESE
    assert decoded(PORTUGUESE.encode("cp1252")) == PORTUGUESE
    for unclear in ("id,sex\n1,男\n2,女\n".encode("gb18030"), CHINESE.encode()[:-8] + b"\xe6\n"):
        with pytest.raises(UnicodeError, match="save it as UTF-8"):
            decoded(unclear)


LATIN = {
    "de": "Datei,Diagnose\n1.jpg,Netzhautabl\u00f6sung\n2.jpg,unauff\u00e4llig\n3.jpg,Gr\u00fcner Star\n",
    "de, once": "f,d\n1,M\u00fcller\n",
    "fr": "fichier,diagnostic\n1.jpg,d\u00e9collement de r\u00e9tine\n2.jpg,li\u00e9 \u00e0 l\u2019\u00e2ge\n",
    "fr, once": "f,c\u00f4t\u00e9\n1,gauche\n",
    "pt": "arquivo,diagn\u00f3stico\n1.jpg,degenera\u00e7\u00e3o macular\n2.jpg,n\u00e3o\n",
    "it": "a,b\n1,et\u00e0\n2,pi\u00f9\n",
    "en": "file,note\n1.jpg,patient\u2019s eye \u2013 blurry\u2026\n2.jpg,\u201cgood\u201d\n",
    "capitals": "A,B\nGR\u00d6SSE,\u00c4RZTE\n",
}
UNCLEAR = {"de": "f,d\n1,Netzhautabl\u00f6sung\n", "es": "a,diagn\u00f3stico\n1,degeneraci\u00f3n\n2,ni\u00f1o\n"}


@pytest.mark.parametrize("encoding", ["mac-roman", "cp1252"])
@pytest.mark.parametrize("language", LATIN)
def test_mac_roman_and_cp1252_are_told_apart(language, encoding):
    text = LATIN[language]
    assert raw.text_of(text.encode(encoding)) == (text, encoding)


@pytest.mark.parametrize("language", UNCLEAR)
def test_words_that_make_sense_in_both_are_refused(language):
    with pytest.raises(UnicodeError, match="save it as UTF-8"):
        decoded(UNCLEAR[language].encode("mac-roman"))
    assert decoded(UNCLEAR[language].encode("cp1252")) == UNCLEAR[language]


@pytest.mark.parametrize("names", ["\u5f35\u5049", "\u5f35", "\u9673\u6771", "\U00020087\u5f35"])
def test_rare_chinese_characters_do_not_change_the_encoding(names):
    rows = "".join(f"{n}.jpg,{names},\u7cd6\u5c3f\u75c5\u89c6\u7f51\u819c\u75c5\u53d8\n" for n in range(4))
    text = f"\u6587\u4ef6,\u59d3\u540d,\u8bca\u65ad\n{rows}"
    assert raw.text_of(text.encode("gb18030")) == (text, "gb18030")
    with pytest.raises(UnicodeError):
        decoded(f"patient,name\n1,{names}\u5049\n2,{names}\u5f35\n".encode("gb18030"))
