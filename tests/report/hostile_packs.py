"""Packs made to use up memory or time or to mislead, each a change of an honest one."""

import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

Header = dict[str, Any]
Rows = list[dict[str, Any]]
M = 1_000_000


def contents(data: bytes) -> tuple[Header, Rows]:
    """Return header and predictions of a pack."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        head, lines = opened.read("pack.json"), opened.read("predictions.jsonl")
    return json.loads(head), [json.loads(line) for line in lines.splitlines()]


def zipped(head: bytes, lines: bytes, *more: tuple[str, bytes]) -> bytes:
    """Return a zip file of the two entries and others."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in (("pack.json", head), ("predictions.jsonl", lines), *more):
            opened.writestr(name, content)
    return file.getvalue()


def whole(head: Header, lines: bytes, count: int) -> bytes:
    """Return a pack whose count and checksum fit its lines."""
    told = head | {"count": count, "sha256": hashlib.sha256(lines).hexdigest()}
    return zipped(json.dumps(told).encode("ascii"), lines)


def of_rows(head: Header, rows: Rows, raw: str | None = None) -> bytes:
    """Return a pack of predictions; `raw` takes the place of the first reply, as JSON."""
    texts = [json.dumps(row) for row in rows]
    if raw is not None:
        mark = json.dumps(rows[0] | {"reply": "THE REPLY"})
        texts[0] = mark.replace('"THE REPLY"', raw)
    return whole(head, "".join(f"{text}\n" for text in texts).encode("ascii"), len(rows))


def replied(raw: str) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with a reply in JSON."""
    return lambda head, rows: of_rows(head, rows, raw)


def first(**changed: Any) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with other fields in its first prediction."""
    return lambda head, rows: of_rows(head, [rows[0] | changed, *rows[1:]])


def in_lines(old: str, new: str) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with another text in every line."""
    return lambda head, rows: whole(
        head, "".join(json.dumps(row).replace(old, new) + "\n" for row in rows).encode("ascii"), len(rows)
    )


def headed(**changed: Any) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with other fields in its header."""
    return lambda head, rows: of_rows(head | changed, rows)


def header_text(text: str) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack whose header is a text."""
    return lambda head, rows: zipped(text.encode("ascii"), "".join(f"{json.dumps(r)}\n" for r in rows).encode("ascii"))


def everywhere(**changed: Any) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with other fields in every prediction."""
    return lambda head, rows: of_rows(head, [row | changed for row in rows])


def repeated(count: int, field: str = "") -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack of the first prediction many times, each with another value of a field."""

    def made(head: Header, rows: Rows) -> bytes:
        ways = {"way": {"way": {"repeat": "NUMBER"}}, "id": {"id": "glaucoma/open/NUMBER"}}
        text = json.dumps(rows[0] | ways.get(field, {})) + "\n"
        return whole(head, "".join(text.replace("NUMBER", str(i)) for i in range(count)).encode("ascii"), count)

    return made


def scored(count: int) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with many scores."""
    return lambda head, rows: of_rows(
        head | {"scores": [head["scores"][0] | {"metric": f"m{i}"} for i in range(count)]}, rows
    )


def tasked(**changed: Any) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack whose first task is described otherwise."""
    return lambda head, rows: of_rows(head | {"tasks": [head["tasks"][0] | changed, *head["tasks"][1:]]}, rows)


def tasks(count: int) -> Callable[[Header, Rows], bytes]:
    """Return what makes a pack with many tasks."""
    return lambda head, rows: of_rows(
        head | {"tasks": [*head["tasks"], *(head["tasks"][-1] | {"name": f"t{i}"} for i in range(count))]}, rows
    )


def entries(count: int) -> Callable[[Header, Rows], bytes]:
    """Return what makes a zip file of many more entries."""
    return lambda head, rows: zipped(b"{}", b"", *((f"e{i}", b"") for i in range(count)))


def lied(head: Header, rows: Rows) -> bytes:
    """Return a pack that states a tenth of the size of its predictions in the directory of the file."""
    data = bytearray(of_rows(head, [rows[0] | {"reply": ["x" * M]}, *rows[1:]]))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (M // 10).to_bytes(4, "little")
    return bytes(data)


def overlapping(head: Header, rows: Rows) -> bytes:
    """Return a pack whose two entries are the same bytes of the file."""
    data = bytearray(of_rows(head, rows))
    at = data.rindex(b"PK\x01\x02")
    data[at + 42 : at + 46] = bytes(4)
    return bytes(data)


NEST = "[" * 100_000 + "]" * 100_000
HOSTILE: dict[str, Callable[[Header, Rows], bytes]] = {
    "2.3 million quotes in a reply": replied("[" + ",".join(["[0,9]"] * 2_300_000) + "]"),
    "quotes of the whole question in every reply": everywhere(reply=[[0, 90]] * 15_000),
    "quotes of the whole question in a reply": replied("[" + ",".join(["[0,90]"] * 1_500_000) + "]"),
    "4 million empty texts in a reply": replied("[" + ",".join(['""'] * 4_000_000) + "]"),
    "2 million different texts in a reply": replied("[" + ",".join(f'"{i:x}"' for i in range(1_500_000)) + "]"),
    "a reply of 15 million letters": replied('["' + "x" * 15_000_000 + '"]'),
    "a reply of 1.3 million characters outside the BMP": replied('["' + "\\ud83d\\ude00" * 1_300_000 + '"]'),
    "a reply of 2 million brackets": replied('["' + "[{(" * 700_000 + '"]'),
    "a reply of 5 million line breaks": replied('["' + "\\n" * 5_000_000 + '"]'),
    "a reply of a million answers": replied('["' + "GLAUCOMA, " * 1_000_000 + '"]'),
    "a reply of 500,000 letters in every prediction": everywhere(reply=["Yes, glaucoma. " * 33_000]),
    "a reply of regions, 250,000 letters": everywhere(reply=["Region ID: 1; Type: optic disc\n" * 8_000]),
    "answers in every reply, all that a file of this size may hold": everywhere(reply=["GLAUCOMA, not " * 18_000]),
    "objects in every reply, all that a file of this size may hold": everywhere(
        reply=['{"answer": "no"} [1] ' * 12_000]
    ),
    "as many quotes in every reply as there may be": everywhere(reply=[[0, 30]] * 6_600),
    "a reply nested 100,000 deep": replied(NEST),
    "a reply of numbers with 300,000 digits": replied("[[" + "9" * 300_000 + ",1]]"),
    "a quote behind the question": first(reply=[[0, 10**15]]),
    "a quote that ends before it begins": first(reply=[[9, 0]]),
    "300,000 likelihoods": first(likelihoods={str(i): -1.0 for i in range(300_000)}),
    "likelihoods of 10^308": everywhere(likelihoods={"0": 1e308, "1": -1e308}),
    "likelihoods of 10^999": in_lines('"likelihoods": {}', '"likelihoods": {"0": 1e999}'),
    "300,000 factors of a way": first(way={f"w{i}": "1" for i in range(300_000)}),
    "a million image hashes": first(images=["a" * 8] * 1_000_000),
    "an id of 10 million letters": first(id="x" * 10_000_000),
    "an id of direction marks and commands": first(id="\u202e\x1b[2J<script>" * 1000),
    "300,000 times one prediction": repeated(300_000),
    "300,000 ways of one prediction": repeated(300_000, "way"),
    "300,000 unknown ids": repeated(300_000, "id"),
    "200,000 scores": scored(200_000),
    "20,000 tasks": tasks(20_000),
    "arguments of 5 million numbers": tasked(arguments="[" + "0," * 5_000_000 + "0]"),
    "arguments nested 100,000 deep": tasked(arguments='{"a":' * 100_000 + "1" + "}" * 100_000),
    "arguments of probes of probes": tasked(
        arguments='{"of":{"class_path":"lmod_train.tasks.probe.Probe","init_args":' * 200 + "{}" + "}}" * 200
    ),
    "another module's class": tasked(path="evil.Glaucoma"),
    "another class of the package": tasked(path="lmod_train.tasks.four_way.FourWay"),
    "a header of 60 million brackets": header_text("[" * 60_000_000),
    "a header of 10 million empty objects": header_text("[" + "{}," * 10_000_000 + "{}]"),
    "a header of 3 million settings": headed(settings=["{}"] * 3_000_000),
    "a manifest of 600,000 names": headed(manifest={f"n{i}": "x" for i in range(600_000)}),
    "a name of 50 million letters": headed(run="x" * 50_000_000),
    "300 MB of predictions of white space": lambda head, rows: whole(head, b" " * 300_000_000, 1),
    "300 MB of empty lines": lambda head, rows: whole(head, b"\n" * 300_000_000, 1),
    "60,000 entries": entries(60_000),
    "two entries of one name": lambda head, rows: zipped(b"{}", b"", ("pack.json", b"{}")),
    "a stated size that is too small": lied,
    "entries that overlap": overlapping,
}
"""What a pack does -> function of header and predictions of an honest one that makes it."""
