"""Sets of questions in the layouts that the field publishes, each from its file to a report in one command a step."""

from __future__ import annotations

import base64
import csv
import json
import shlex
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError
from lmod_train.core.option_letters import options_in
from lmod_train.core.types import Record, Reply
from lmod_train.data.cells.image_names import folder_of
from lmod_train.data.cells.options import with_listed
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.sources.grid import read_grid
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.plan import Plan, with_options
from lmod_train.extensions.table.source import question_in
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
        path.write_text(json.dumps({"version": 1, "data": made} if path.stem == "data" else made))
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


# Tables of questions: options and answers in every layout and file.
LETTERED = dict(zip("ABCD", OPTIONS, strict=True))

LAYOUTS: dict[str, Row] = {
    "a list": {"options": OPTIONS},
    "choices": {"choices": OPTIONS},
    "a list with letters": {"options": [f"{letter}. {text}" for letter, text in LETTERED.items()]},
    "a list with brackets": {"Options": [f"({letter}) {text}" for letter, text in LETTERED.items()]},
    "an object": {"options": LETTERED},
    "a list of Python": {"options": str(OPTIONS)},
    "an object of Python": {"options": str(LETTERED)},
    "a list of JSON": {"choices": json.dumps(OPTIONS)},
    "lines": {"options": "\n".join(OPTIONS)},
    "lines with letters": {"options": "\n".join(f"{letter}: {text}" for letter, text in LETTERED.items())},
    "option_A": {f"option_{letter}": text for letter, text in LETTERED.items()},
    "option A": {f"option {letter}": text for letter, text in LETTERED.items()},
    "optionA": {f"option{letter}": text for letter, text in LETTERED.items()},
    "VLMEvalKit": LETTERED,
}

ANSWERS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "letter": ("answer", lambda n: "ABCD"[n]),
    "small letter": ("gt_answer", lambda n: "abcd"[n]),
    "text": ("correct_answer", lambda n: OPTIONS[n]),
    "letter and text": ("ground_truth", lambda n: f"{'ABCD'[n]}. {OPTIONS[n]}"),
    "from 0": ("label", lambda n: n),
    "from 1": ("target", lambda n: n + 1),
    "correct": ("correct", lambda n: f"({'ABCD'[n]})"),
}

IMAGES: dict[str, Row] = {
    "image": {"image": "i{:02}.png"},
    "path": {"image_path": "Images/below/i{:02}.png"},
    "images": {"images": ["i{:02}.png"]},
    "paths": {"image_paths": ["i{:02}.png"]},
    "base64": {"image": "<base64 {}>"},
    "a list of base64": {"images": ["<data {}>"]},
    "struct": {"image": "<bytes {}>"},
    "a list of structs": {"images": ["<bytes {}>"]},
}


def placed(value: Any, n: int) -> Any:
    return [one.format(n) for one in value] if isinstance(value, list) else value.format(n)


def table(layout: str, answer: str = "letter", image: str = "image") -> list[Row]:
    """Return rows whose questions name their numbers, and whose answers are by turns each option."""
    name, of = ANSWERS[answer]
    return [
        {"question": f"Which part is at {n}?", **LAYOUTS[layout], name: of(n % 4)}
        | {key: placed(value, n) for key, value in IMAGES[image].items()}
        for n in range(N)
    ]


FILES = ("t.json", "data.json", "t.jsonl", "t.parquet", "t.csv", "t.saved")


def read(file: Path, images: Path, *column: str) -> dict[int, tuple[tuple[str, ...], str]]:
    """Return number of a question -> its options and the right one, as far as they are understood without asking."""
    plan = with_options(Plan(file, None, "set", "CFP"), column, ())
    grid = with_listed(read_grid(file), plan.answers.columns)
    columns = understand(grid, folder_of(images), plan.answers)
    assert not [c for c in columns if c.doubt], [(c.name, c.doubt) for c in columns if c.doubt]
    rows = [question_in(dict(zip(grid.header, row.cells, strict=True)), columns, "en") for row in grid.rows]
    return {int(q.messages[-1].parts[-1].text.split()[-1][:-1]): (q.choices, q.answer) for q in rows}


RIGHT = {n: (tuple(OPTIONS), truth(n)) for n in range(N)}


@pytest.mark.parametrize("name", FILES)
def test_options_and_answers_are_read_in_every_layout_from_every_file(tmp_path: Path, drawn: Path, name: str):
    wrong = []
    for layout, answer in product(LAYOUTS, ANSWERS):
        if name == "t.csv" and not all(isinstance(value, str) for value in LAYOUTS[layout].values()):
            continue  # such a cell of a CSV is that of Python
        folder = tmp_path / f"{layout}-{answer}"
        folder.mkdir()
        try:
            assert read(written(folder, drawn, name, table(layout, answer)), drawn) == RIGHT
        except (AssertionError, LmodError) as error:
            wrong.append(f"{layout}, {answer}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("name", ["t.json", "t.parquet", "t.csv", "t.saved"])
def test_images_of_questions_are_read_in_every_layout(tmp_path: Path, drawn: Path, name: str, image: str):
    if (name == "t.csv" and "list" in image) or ("struct" in image and name not in ("t.parquet", "t.saved")):
        pytest.skip("such a file has no such cells")
    file = written(tmp_path, drawn, name, table("a list", "text", image))
    command = ["import"] if image in ("base64", "a list of structs") else ["curate", "--table"]
    assert curated(command, file, drawn, tmp_path / "OUT", "--modality", "CFP") == 0
    check_questions(tmp_path / "OUT", drawn)
    assert not (tmp_path / "OUT" / "table_images.parquet").exists()


@pytest.mark.parametrize("name", ["t.json", "t.parquet", "t.saved"])
def test_several_images_of_a_question_are_listed(tmp_path: Path, drawn: Path, name: str):
    made = table("a list", "text", "a list of structs" if name != "t.json" else "a list of base64")
    made[3]["images"] = made[3]["images"] * 2
    file = written(tmp_path, drawn, name, made)
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", "--modality", "CFP") == 0
    assert len(asked(tmp_path / "OUT")) == N - 1
    (lost,) = read_dropped(tmp_path / "OUT" / "dropped.csv")
    assert (lost.key, lost.reason) == ("line 4", "no image") and "2 images" in lost.detail


def asks(file: Path, drawn: Path, out: Path, capsys, *more: str) -> str:
    """Check that a file stops, and that the printed command answers it; return what is asked."""
    assert curated(["curate", "--table"], file, drawn, out, "--modality", "CFP", *more) == 2
    printed = capsys.readouterr().err
    assert cli.main(shlex.split(printed.split("Next: run `")[1].split("`")[0])[3:]) == 0, capsys.readouterr().err
    check_questions(out, drawn)
    return printed


@pytest.mark.parametrize(
    ("changed", "cure"),
    [
        ({"answer": "Lösung"}, "--column answer=Lösung"),
        ({"options": "Auswahl"}, "--column options=Auswahl"),
        ({"options": "可能的答案", "answer": "gt_answer"}, "--column options=可能的答案"),
    ],
)
@pytest.mark.parametrize("answer", ["letter", "text"])
@pytest.mark.parametrize("name", ["t.json", "t.csv"])
def test_what_looks_like_options_or_an_answer_is_asked(
    tmp_path: Path, drawn: Path, capsys, changed: Row, cure: str, answer: str, name: str
):
    made = table("a list of Python", answer)
    renamed = {"correct_answer": "answer"}
    rows = [{changed.get(key := renamed.get(k, k), key): value for k, value in row.items()} for row in made]
    assert cure.partition(" ")[2] in asks(written(tmp_path, drawn, name, rows), drawn, tmp_path / "OUT", capsys)


def test_numbers_that_may_count_from_0_or_1_are_asked(tmp_path: Path, drawn: Path, capsys):
    made = [row | {"label": n % 2 + 1} for n, row in enumerate(table("choices", "from 0"))]
    file = written(tmp_path, drawn, "t.json", made)
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", "--modality", "CFP") == 2
    printed = capsys.readouterr().err
    assert "--value label:1=B --value label:2=C" in printed and "`--value label:1=A`" in printed
    one = ["--modality", "CFP", "--value", "label:1=A", "--value", "label:2=B"]
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", *one) == 0
    assert {int(number_in(record)): right for record, right in asked(tmp_path / "OUT")} == {
        n: OPTIONS[n % 2] for n in range(N)
    }


def test_two_columns_of_answers_that_differ_are_asked(tmp_path: Path, drawn: Path, capsys):
    made = [row | {"ground_truth": "ABCD"[n % 3]} for n, row in enumerate(table("a list"))]
    assert "--column answer=answer" in asks(written(tmp_path, drawn, "t.json", made), drawn, tmp_path / "OUT", capsys)
    same = [row | {"ground_truth": truth(n)} for n, row in enumerate(table("a list"))]
    assert read(written(tmp_path, drawn, "same.json", same), drawn) == RIGHT


@pytest.mark.parametrize("gone", ["answer", "options"])
def test_without_answers_or_options_nothing_is_curated(tmp_path: Path, drawn: Path, capsys, gone: str):
    made = [row | {gone: ""} for row in table("a list of Python")]
    file, out = written(tmp_path, drawn, "t.csv", made), tmp_path / "OUT"
    assert curated(["curate", "--table"], file, drawn, out, "--modality", "CFP") == 2
    printed = capsys.readouterr().err
    assert f"column{'s' if gone == 'options' else ''} " in printed and "`--column" in printed and len(printed) < 900
    other = [row | {"diagnosis": ["glaucoma", "normal"][n % 2]} for n, row in enumerate(made)]
    file = written(tmp_path, drawn, "t.csv", other)
    assert curated(["curate", "--table"], file, drawn, out, "--modality", "CFP", "--column", "ignore=question") == 0


@pytest.mark.parametrize("name", ["t.json", "t.csv"])
def test_a_question_under_another_name_is_named(tmp_path: Path, drawn: Path, capsys, name: str):
    made = [{"Stem" if key == "question" else key: cell for key, cell in row.items()} for row in table("option_A")]
    file = written(tmp_path, drawn, name, made)
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", "--modality", "CFP") == 2
    assert "`--column question=NAME`" in capsys.readouterr().err
    assert read(file, drawn, "question=Stem") == RIGHT


def test_classes_and_a_plan_keep_what_answers_stand_for(tmp_path: Path, drawn: Path):
    datasets = pytest.importorskip("datasets")
    kinds = {"answer": datasets.ClassLabel(names=["D", "C", "B", "A"]), "question": datasets.Value("string")}
    kinds |= {"choices": datasets.Sequence(datasets.Value("string")), "image": datasets.Value("string")}
    made = [row | {"answer": 3 - n % 4} for n, row in enumerate(table("choices"))]
    held = datasets.Dataset.from_list(made, features=datasets.Features(kinds))
    held.save_to_disk(tmp_path / "t.saved")
    held.to_parquet(tmp_path / "t.parquet")
    for name in ("t.saved", "t.parquet"):
        assert read(tmp_path / name, drawn) == RIGHT
    made = [{"Auswahl" if key == "choices" else key: cell for key, cell in row.items()} for row in made]
    file, out = written(tmp_path, drawn, "t.json", made), tmp_path / "OUT"
    letters = [word for n in range(4) for word in ("--value", f"answer:{n}={'DCBA'[n]}")]
    more = ["--modality", "CFP", "--column", "options=Auswahl", *letters, "--plan"]
    assert curated(["curate", "--table"], file, drawn, out, *more) == 0
    command = ["curate", "--table", str(out / "table.yaml"), "--out", str(tmp_path / "NEW"), "--follow_links"]
    assert cli.main([*command, "--workers", "1"]) == 0
    check_questions(tmp_path / "NEW", drawn)


def test_a_text_that_is_too_large_is_to_be_split(tmp_path: Path, drawn: Path, capsys, monkeypatch):
    monkeypatch.setattr("lmod_train.data.sources.grid.MOST_TEXT_BYTES", 100)
    file = written(tmp_path, drawn, "t.csv", table("lines"))
    assert curated(["curate", "--table"], file, drawn, tmp_path / "OUT", "--modality", "CFP") == 2
    printed = capsys.readouterr().err
    assert "at most 100" in printed and "split it by lines" in printed


OMNI: Row = {"dataset": "RIDER", "question_type": "Modality Recognition", "modality_type": "Fundus Photography"}


@pytest.mark.parametrize("modality", ["modality_type", "modality"])
def test_omnimedvqa_as_public_code_reads_it(tmp_path: Path, drawn: Path, modality: str):
    """A list of objects with `option_A` to `option_D`, of which some have two, and the text as the answer."""
    made = []
    for n in range(N):
        own = OPTIONS[: 2 if n % 3 == 0 else 4]
        row = {**OMNI, "question_id": f"RIDER_{n:04}", "question": f"Which part is at {n}?"}
        row |= {"gt_answer": own[n % len(own)], "image_path": f"Images/RIDER/i{n:02}.png"}
        made.append(row | {f"option_{letter}": text for letter, text in zip("ABCD", own, strict=False)})
    made[0][modality] = made[0].pop("modality_type")
    file, out = written(tmp_path, drawn, "RIDER.json", made), tmp_path / "OUT"
    assert curated(["curate", "--table"], file, drawn, out, "--modality", "CFP") == 0
    found = {int(number_in(record)): (record.choices, right) for record, right in asked(out)}
    owns = {n: tuple(OPTIONS[: 2 if n % 3 == 0 else 4]) for n in range(N)}
    assert found == {n: (own, own[n % len(own)]) for n, own in owns.items()}
    assert {record.tags["question_type"] for record, _ in asked(out)} == {"Modality Recognition"}
    reported(tmp_path, out)


def test_gmai_mmbench_as_public_code_reads_it(tmp_path: Path, drawn: Path):
    """VLMEvalKit's layout, with images in base64 and four columns of kinds."""
    kinds = {"category": "optic disc", "l2-category": "x", "original task": "y", "split": "val"}
    kinds |= {
        "clinical vqa task": "Disease Diagnosis",
        "department": "Ophthalmology",
        "perceptual granularity": "Image",
    }
    made = [
        {"index": n, "image": f"<base64 {n}>", "question": f"Which part is at {n}?", **LETTERED, "E": ""}
        | {"answer": "ABCD"[n % 4], **kinds}
        for n in range(N)
    ]
    file, out = written(tmp_path, drawn, "GMAI_mm_bench_VAL.tsv", made), tmp_path / "OUT"
    assert cli.main(["curate", "--table", str(file), "--out", str(out), "--modality", "CFP", "--workers", "1"]) == 0
    check_questions(out, drawn)
    assert {record.tags["department"] for record, _ in asked(out)} == {"Ophthalmology"}
    reported(tmp_path, out)


def test_volmo_as_its_repository_shows_it(tmp_path: Path, drawn: Path):
    """Free answers to a prompt that holds the place of the image."""
    made = [
        {"image_paths": [f"data/i{n:02}.png"], "prompt": f"<image>\nAMD at {n}? TRUE or FALSE.", "GT": "TRUE."}
        for n in range(N)
    ]
    file, out = written(tmp_path, drawn, "brset_amd.json", made), tmp_path / "OUT"
    assert curated(["import"], file, drawn, out, "--modality", "CFP") == 0
    records = read_records(out / "records")
    assert len(records) == N and {record.answer for record in records} == {"TRUE."}
    words = [record.messages[0].parts[-1].text for record in records]
    assert all("AMD at " in one and "<image>" not in one for one in words)
    reported(tmp_path, out)
