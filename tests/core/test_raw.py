import json
import math
import os
import random
import socket
from pathlib import Path

import pytest
import yaml

import lmod_train
from lmod_train.core import raw
from lmod_train.core.raw import (
    decoded,
    dump_yaml,
    json_of_line,
    last_line,
    lines_of,
    parse_yaml,
    read_bytes,
    read_json,
    read_yaml,
)
from lmod_train.core.shipped import configs_folder


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
MERGES = BOMB.replace("[x, x]", "{x: 1}").replace("[*", "{<<: [*").replace("]", "]}").replace("{x: 1]}", "{x: 1}")
ODD = {
    "large": ("x" * 270_000, "270,000 .*, expected at most 262,144"),
    "lists": ("[" * 51 + "]" * 51, "more than 50 lists and mappings"),
    "endless": ("[" * 200_000, "more than 50 lists and mappings"),
    "dashes": ("- " * 100_000, "more than 50 lists and mappings"),
    "maps": ("{a: " * 50_000, "more than 50 lists and mappings"),
    "aliases": (BOMB, r"an alias \(\*name\) or merge key \(<<\), expected the values themselves, in line 2"),
    "merges": (MERGES, "an alias .* or merge key"),
    "merged": ("a: 1\n<<: {b: 2}\n", "merge key .*, in line 2"),
    "self": ("a: &a [*a]", "an alias"),
    "python": ("a: 1\nb: !!python/object/apply:os.getcwd []", r"a tag \(.*os.getcwd\), expected .*, in line 2"),
    "binary": ("!!binary aaa", "a tag"),
    "own tag": ("a: !mine b", r"a tag \(!mine\)"),
    "tags": ("".join(f"%TAG !{n:x}! b:\n" for n in range(9000)) + "---\na\n", "no %TAG"),
    "twice": ("a: {b: 1, c: 2}\nd:\n  e: 1\n  f: 2\n  f: 3\n", "the key 'f' in line 4 stands there twice"),
    "one key": ("{1: a, 2: b, 1.0: c}", "the key '1' in line 1"),
    "keys": ("\n".join(f"{n}: 1" for n in [*range(30_000), 7]), "the key '7' in line 8"),
    "key": ("{[a]: 1}", "unhashable"),
    "open": ("a: [", "flow node"),
    "open quote": ("a: '" + " \n" * 100_000, "quoted scalar"),
    "two": ("a\n---\nb\n", "single document"),
    "half": ("a: \ud800", "surrogates"),
    "zero": ("a\0b", "control characters"),
}


@pytest.mark.parametrize("name", ODD)
def test_yaml_that_costs_more_than_its_size_or_has_two_meanings_is_a_value_error(name, tmp_path):
    text, said = ODD[name]
    with pytest.raises(ValueError, match=said):
        parse_yaml(text)
    (tmp_path / "a.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError):
        read_yaml(tmp_path / "a.yaml")


UPPER = {
    "lists": ("[" * 50 + "]" * 50, list),
    "size": ("a" * 2**18, str),
    "lines": ("- a\n" * 2**16, list),
    "keys": ("\n".join(f"{n}: 1" for n in range(25_000)), dict),
    "anchor": ("a: &a {b: &b 1}", dict),
    "quoted": ("'<<': '*a'\n'!b': '%TAG'\n", dict),
}


@pytest.mark.parametrize("name", UPPER)
def test_yaml_at_the_limits_is_read(name):
    text, kind = UPPER[name]
    assert isinstance(parse_yaml(text), kind)


@pytest.mark.parametrize(
    "text",
    [
        "1:30",
        "1" + ":59" * 80_000,
        "-1:30.5",
        "2026-01-31",
        "2026-99-99",
        "0x_",
        "0b_",
        "._",
        "=",
        "١",
        "9" * 301,
        "0x" + "f" * 299,
        "1." + "0" * 299,
        "1e",
        "e1",
        "010",
        "-007",
        "--1",
        "1e5x",
    ],
)
def test_times_dates_and_endless_numbers_are_text(text):
    assert parse_yaml(f"a: {text}\nb: [1]") == {"a": text, "b": [1]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9" * 300, int("9" * 300)),
        ("0x" + "f" * 298, int("f" * 298, 16)),
        ("1_000", 1000),
        ("-0b1_1", -3),
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        ("+1.5e3", 1500.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("0", 0),
        ("0x_1F", 31),
        ("yes", True),
        ("~", None),
        ("", None),
        ("No", False),
        ("-3.", -3.0),
        ("1_0.5_0", 10.5),
    ],
)
def test_numbers_and_words_of_yaml_are_values(text, value):
    found = parse_yaml(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_what_is_written_is_read_back_equal_by_every_reader():
    chance = random.Random(0)
    texts = {"".join(chance.choices("01e-+.:_xb #~\n'", k=chance.randint(0, 6))) for _ in range(4000)}
    shared = ["1e-3", {"a": "<<"}]
    content = {"texts": sorted(texts), "twice": [shared, shared], "yes": [True, None, 1e-7, 3, -0.0], "!a": "*b"}
    for layout in ({}, {"default_flow_style": True, "width": 10_000}):
        written = dump_yaml(content, **layout)
        assert repr(parse_yaml(written)) == repr(yaml.safe_load(written)) == repr(content)


def test_shipped_yaml_is_read_as_pyyaml_reads_it():
    files = [*Path(lmod_train.__file__).parent.rglob("*.yaml"), *configs_folder().rglob("*.yaml")]
    assert len(files) > 300
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert repr(parse_yaml(text)) == repr(yaml.load(text, yaml.CSafeLoader)), file


LINES = [b"", b"a", b"b" * 99, b"c" * 100, b"d" * 101, b"e" * 102, b"f" * 202, b"g" * 1000]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_all_yielded_and_long_ones_only_in_part(tmp_path, monkeypatch, end):
    monkeypatch.setattr(raw, "MOST_LINE", 100)
    chance = random.Random(1)
    for _ in range(200):
        lines = chance.choices(LINES, k=chance.randint(1, 6))
        (tmp_path / "a").write_bytes(b"\n".join(lines) + end)
        found = list(lines_of(tmp_path / "a"))
        wanted = lines if end or lines[-1] else lines[:-1]
        for number, (line, whole) in enumerate(zip(found, wanted, strict=True), 1):
            assert line == whole[:101] + (b"\n" if end or number < len(lines) else b"")
            if len(whole) > 100:
                with pytest.raises(ValueError, match="more than 100 bytes"):
                    json_of_line(line)
        start, last = last_line(tmp_path / "a")
        assert start == (tmp_path / "a").stat().st_size - len(b"" if end else lines[-1])
        assert last == (b"" if end else lines[-1][:101])


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20])
def test_the_last_line_is_found_behind_long_ones(tmp_path, size):
    for text in (b"a" * size, b"\n" + b"a" * size, b"x\n" + b"a" * size + b"\n", b"\n" * size):
        (tmp_path / "a").write_bytes(text)
        assert last_line(tmp_path / "a") == (text.rfind(b"\n") + 1, text[text.rfind(b"\n") + 1 :])


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
