"""Sets of questions in the layouts that the field publishes, each from its file to a report in one command a step."""

from __future__ import annotations

import base64
import csv
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Record, Reply
from lmod_train.tasks.building import tasks_asked
from tests.tabled import tabled

N = 12
OPTIONS = ["optic disc", "None", "N/A", "macula"]
"""Of every question: two are words that other programs take for missing values."""

Row = dict[str, Any]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with photographs of noise, i00.png ..."""
    folder = tmp_path_factory.mktemp("drawn")
    for n in range(N):
        noise = np.random.default_rng(n).integers(0, 255, (24, 24, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"i{n:02}.png")
    return folder


def truth(n: int) -> str:
    return OPTIONS[n % len(OPTIONS)]


def written(folder: Path, drawn: Path, name: str, made: Sequence[Row]) -> Path:
    """Write rows as the ending of a name says, with images in base64 or as bytes where they are named so."""
    path = folder / name
    contents = [(drawn / f"i{n:02}.png").read_bytes() for n in range(N)]

    def filled(value: Any) -> Any:
        if isinstance(value, str) and value.startswith(("<base64 ", "<data ")):
            text = base64.b64encode(contents[int(value.split()[1][:-1])]).decode()
            return f"data:image/png;base64,{text}" if value.startswith("<data") else text
        if isinstance(value, str) and value.startswith("<bytes "):
            return {"bytes": contents[int(value.split()[1][:-1])], "path": None}
        if isinstance(value, list):
            return [filled(one) for one in value]
        return {key: filled(one) for key, one in value.items()} if isinstance(value, dict) else value

    made = [filled(row) for row in made]
    if path.suffix in (".tsv", ".csv"):
        header = list(dict.fromkeys(key for row in made for key in row))
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, header, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(made)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(made), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, made)))
    elif path.suffix == ".saved":
        datasets = pytest.importorskip("datasets")
        table = datasets.Dataset.from_list(made)
        datasets.DatasetDict(test=table).save_to_disk(path)
    else:
        path.write_text(json.dumps(made))
    return path


def said(n: int) -> tuple[str, str]:
    return f"<image>\nWhich part is at {n}?\nA. optic disc\nB. None\nC. N/A\nD. macula", "ABCD"[n % 4]


def talk(n: int, *, first: str = "from", second: str = "value", who: tuple[str, str] = ("human", "gpt")) -> list[Row]:
    return [{first: name, second: text} for name, text in zip(who, said(n), strict=True)]


OPENAI: dict[str, Any] = {"first": "role", "second": "content", "who": ("user", "assistant")}


def parts(n: int, url: str) -> list[Row]:
    shown = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": said(n)[0].partition("\n")[2]}]
    return [{"role": "user", "content": shown}, {"role": "assistant", "content": said(n)[1]}]


TALKS: dict[str, tuple[str, list[Row]]] = {
    "LLaVA": ("t.json", [{"id": n, "image": f"i{n:02}.png", "conversations": talk(n)} for n in range(N)]),
    "ShareGPT": (
        "t.jsonl",
        [{"system": "Be brief.", "images": [f"i{n:02}.png"], "conversations": talk(n)} for n in range(N)],
    ),
    "OpenAI": ("t.jsonl", [{"messages": parts(n, f"i{n:02}.png")} for n in range(N)]),
    "OpenAI, base64": ("t.jsonl", [{"messages": parts(n, f"<data {n}>")} for n in range(N)]),
    "ms-swift": ("t.jsonl", [{"messages": talk(n, **OPENAI), "images": [f"i{n:02}.png"]} for n in range(N)]),
    "a saved conversation": (
        "t.saved",
        [{"messages": talk(n, **OPENAI), "images": [f"<bytes {n}>"]} for n in range(N)],
    ),
}


def curated(command: Sequence[str], file: Path, drawn: Path, out: Path, *more: str) -> int:
    images = [] if drawn is None else ["--images", str(drawn)]
    return cli.main([*command, str(file), *images, "--out", str(out), "--workers", "1", *more])


def asked(out: Path) -> list[tuple[Record, str]]:
    """Return every record with options and the text of the one that is right."""
    records = [record for record in read_records(out / "records") if record.choices]
    (task,) = tasks_asked(records)
    return [(record, str(task.parse(Reply(record.id, record.answer), record))) for record in records]


def number_in(record: Record) -> str:
    return record.messages[-1].parts[-1].text.split("at ")[1].split("?")[0]


def check_questions(out: Path, drawn: Path, image_of: Callable[[int], int] = int) -> None:
    found = asked(out)
    assert len(found) == N
    by_question = {
        int(record.messages[-1].parts[-1].text.split("at ")[1].split("?")[0]): one
        for one in found
        for record in [one[0]]
    }
    for n, (record, right) in by_question.items():
        assert record.choices == tuple(OPTIONS) and right == truth(n)
        assert list(options_in(record.messages).values()) == OPTIONS
        (shown,) = record.image_plain
        with Image.open(out / shown) as curated_image, Image.open(drawn / f"i{image_of(n):02}.png") as own:
            apart = np.abs(np.asarray(curated_image.convert("RGB"), int) - np.asarray(own.convert("RGB"), int))
        assert apart.mean() < 40, (n, apart.mean())  # another picture of noise is 85 away
    assert len(by_question) == N


REPORTED = ("OpenAI, base64",)
"""Layouts whose report is written in every run of the tests; the slow ones write all."""


@pytest.mark.parametrize(
    "layout", [pytest.param(name, marks=() if name in REPORTED else pytest.mark.slow) for name in TALKS]
)
def test_a_layout_goes_from_its_file_to_a_report(tmp_path: Path, drawn: Path, layout: str):
    name, made = TALKS[layout]
    assert curated(["import"], written(tmp_path, drawn, name, made), drawn, tmp_path / "OUT") == 0
    reported(tmp_path, tmp_path / "OUT")
    scores = csv.DictReader((tmp_path / "RUN" / "scores.csv").read_text().splitlines())
    right = [row for row in scores if row["metric"] == "accuracy_strict" and row["subset"] == "all"]
    assert [(row["n"], float(row["value"])) for row in right] == [(str(N), 1.0)]


@pytest.mark.parametrize("layout", [*TALKS])
def test_either_command_reads_every_layout(tmp_path: Path, drawn: Path, layout: str, capsys):
    name, made = TALKS[layout]
    file = written(tmp_path, drawn, name, made)
    for number, command in enumerate((["import"], ["curate", "--table"])):
        out = tmp_path / f"OUT{number}"
        assert curated(command, file, drawn, out) == 0, capsys.readouterr().err
        check_questions(out, drawn)
        assert not (out / "table_images.parquet").exists()


def reported(folder: Path, out: Path) -> None:
    """Ask a responder that knows the answers, and write the report."""
    tasks = sorted({record.task for record in read_records(out / "records")})
    data = ["--data.curated", str(out), "--data.tasks", ",".join(tasks), "--data.split", "all"]
    run = ["--run", str(folder / "RUN"), "--trainer.logger", "false"]
    assert cli.main(["validate", "--config", "scripted", *data, *run]) == 0
    assert cli.main(["report", str(folder / "RUN"), "--out", str(folder / "REPORT")]) == 0
    assert (folder / "REPORT" / "index.html").is_file()


def test_options_of_tables_are_refused_for_conversations(tmp_path: Path, drawn: Path, capsys):
    file = written(tmp_path, drawn, *TALKS["LLaVA"])
    assert curated(["import"], file, drawn, tmp_path / "OUT", "--value", "sex:1=male") == 2
    assert "holds conversations" in capsys.readouterr().err
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", "--column", "patient=id") == 0
    assert len({record.group for record in read_records(tmp_path / "OUT" / "records")}) == N


def test_mm_retinal_reason_as_its_page_shows_it(tmp_path: Path, drawn: Path):
    """Images in base64 in a list, no place of an image in the words, one letter as the answer."""
    kept = {"reason": "as the rim is thin", "pmcid": "PMC1", "title": "A case", "caption": "Figure 1"}
    made = [{"image": [f"<base64 {n}>", f"<base64 {(n + 1) % N}>"], "conversations": talk(n), **kept} for n in range(N)]
    for one in made:
        one["conversations"][0]["value"] = one["conversations"][0]["value"].removeprefix("<image>\n")
    file = written(tmp_path, drawn, "complex_reasoning.json", made)
    assert cli.main(["import", str(file), "--out", str(tmp_path / "OUT"), "--workers", "1"]) == 0
    assert [(len(record.image), right) for record, right in asked(tmp_path / "OUT")] == [
        (2, truth(int(number_in(record)))) for record, _ in asked(tmp_path / "OUT")
    ]
    reported(tmp_path, tmp_path / "OUT")


FUNDUS_MMBENCH = ("index", "question", *"ABCDE", "answer", "category", "clinical VQA task", "department",
                  "perceptual granularity", "modality", "original task", "image_path")  # fmt: skip


@pytest.mark.parametrize("image", ["i{:02}.png", "<base64 {}>"])
def test_fundus_mmbench_as_its_page_shows_it(tmp_path: Path, drawn: Path, image: str):
    texts = dict(zip("ABCDE", ["left", "right", "both", "None", ""], strict=True))
    made = [
        dict.fromkeys(FUNDUS_MMBENCH, "a word")
        | texts
        | {"index": n, "question": f"Which eye is at {n}?", "answer": "ABCD"[n % 4], "image_path": image.format(n)}
        for n in range(N)
    ]
    file, out = written(tmp_path, drawn, "Fundus-MMBench.tsv", made), tmp_path / "OUT"
    assert curated(["curate", "--table"], file, drawn, out, "--modality", "CFP") == 0
    assert len(asked(out)) == N
    assert {record.choices[int(n)] == right for record, right in asked(out) for n in [int(record.key[5:]) % 4 - 2]} == {
        True
    }
    reported(tmp_path, out)


def items(bad: int, patient: Callable[[int], Any] = str) -> list[Row]:
    talks = [{"id": f"t{n}", "image": f"i{n:02}.png", "pid": patient(n), "conversations": talk(n)} for n in range(N)]
    return [one | ({"image": "gone.png"} if n < bad else {}) for n, one in enumerate(talks)]


@pytest.mark.parametrize("bad", [1, 2, N])
def test_a_file_of_which_a_tenth_is_not_read_stops_and_is_read_once_that_is_accepted(
    tmp_path: Path, drawn: Path, capsys, bad: int
):
    file, out = written(tmp_path, drawn, "t.json", items(bad)), tmp_path / "OUT"
    assert curated(["import"], file, drawn, out) == (2 if bad > 1 else 0)
    printed = capsys.readouterr().err
    if bad == 1:
        assert len(asked(out)) == N - 1
        return
    assert f"image_missing {bad}" in printed
    if bad < N:
        assert f"{bad} of {N} items are not read (image_missing {bad})" in printed
        again = shlex.split(printed.split("Next: run `")[1].split("`")[0])[3:]
        assert again[-1] == str(out / "losses.csv") and cli.main(again) == 0
        assert len(asked(out)) == N - bad


@tabled(
    "patient",
    [lambda n: "1.23457E+17", lambda n: 1.23457e17, lambda n: "#REF!", lambda n: "7" if n else "8"],
)
def test_numbers_of_patients_that_are_malformed_stop_until_they_are_said_to_be_right(
    tmp_path: Path, drawn: Path, capsys, patient: Callable[[int], Any]
):
    file = written(tmp_path, drawn, "t.json", items(0, patient))
    assert curated(["import"], file, drawn, tmp_path / "OUT", "--patient", "pid") == 2
    assert "`--column patient=pid`" in capsys.readouterr().err
    assert curated(["import"], file, drawn, tmp_path / "OUT", "--column", "patient=pid") == 0
    good = written(tmp_path, drawn, "t.json", items(0))
    assert curated(["import"], good, drawn, tmp_path / "GOOD", "--patient", "pid") == 0
