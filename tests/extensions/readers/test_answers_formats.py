"""Answers of people: parsed and scored as those of models, or refused with their lines."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, RunConflict
from lmod_train.core.types import Record
from lmod_train.data.formats.folder import exported_id
from lmod_train.data.formats.reading_sheet import code_of, sheet_of, write_blank
from lmod_train.extensions.readers.answers import read_answers, write_run
from lmod_train.tasks.rescore import rescore
from tests.data.formats.conftest import anatomy, record

G = [record("glaucoma", n, "train" if n < 3 else "test") for n in range(4)]
A = anatomy(0, "train")


@pytest.fixture
def records(free: Path) -> list[Record]:
    return read_records(free / "records")


def table(path: Path, rows: list[str], head: str = "id,region,answer") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def made(run: Run, path: Path, free: Path, reader: str = "ada") -> tuple[int, int]:
    done = write_run(run, read_answers(path, read_records(free / "records")), reader, free, [])
    rescore(run.folder)
    return done


def replies(run: Run) -> dict[str, str]:
    return {p.record.id: p.reply.reply for p in read_predictions(run.predictions)}


def accuracy(run: Run, metric: str = "accuracy_strict") -> tuple[int, float | None]:
    return {s.metric: (s.n, s.value) for _, _, s in read_scores(run.scores) if s.subset == "all"}[metric]


def test_a_filled_in_sheet_is_scored_as_a_model_is(free: Path, tmp_path: Path):
    """Of four questions two are right, one is wrong and one has no answer, which no score contains."""
    write_blank(sheet_of(free, split="all", tasks=["glaucoma", "anatomy"]), tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    words = {
        (code_of(r), ""): text for r, text in zip(G, ("glaucoma ", "Non-Glaucoma", "non-glaucoma", ""), strict=True)
    }
    words |= {(code_of(A), "1"): "Optic Cup", (code_of(A), "2"): ""}
    random.Random(0).shuffle(rows)
    with (tmp_path / "s.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["answer", "id", "region"], delimiter=";", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(row | {"answer": words.get((row["id"], row["region"]), "")} for row in rows)
    run = Run(tmp_path / "run")
    assert made(run, tmp_path / "s.csv", free) == (4, 0)
    assert accuracy(run) == (3, pytest.approx(2 / 3))
    found = {p.record.id: p for p in read_predictions(run.predictions)}
    assert found[A.id].reply.reply == "Region ID: 1; Type: Optic Cup" and found[A.id].answer == {1: "optic cup"}
    assert {p.reply.model for p in found.values()} == {"ada"} and G[3].id not in found
    config = run.read_config()
    assert (config["reader"], config["data"]["curated"]) == ("ada", str(free))
    assert len(read_records_of(run)) == 6, "records without an answer are listed in the run"


def read_records_of(run: Run) -> list[str]:
    from lmod_train.core.artifacts.records import read_run_records

    return [r.id for r in read_run_records(run.records)]


def test_record_ids_are_ids_too_and_a_cell_may_hold_the_whole_reply(free: Path, tmp_path: Path):
    rows = [
        f"{exported_id(G[0].id)},,GLAUCOMA",
        f'{A.id},,"1: optic cup; 2: optic disc"',
        f" '{code_of(G[1]).upper()} ,,x",
    ]
    run = Run(tmp_path / "run")
    made(run, table(tmp_path / "s.csv", rows), free)
    assert accuracy(run) == (2, 0.5)
    assert {p.record.id: p.answer for p in read_predictions(run.predictions)}[A.id] == {1: "optic cup", 2: "optic disc"}


def test_the_same_sheet_adds_nothing_a_changed_one_replaces_and_a_partial_one_keeps(free: Path, tmp_path: Path):
    run, ids = Run(tmp_path / "run"), [code_of(r) for r in G]
    path = table(tmp_path / "s.csv", [f"{id},,GLAUCOMA" for id in ids[:3]])
    assert made(run, path, free) == (3, 0)
    before = run.replies_of(0).read_bytes()
    assert made(run, path, free) == (0, 0)
    assert run.replies_of(0).read_bytes() == before
    later = table(tmp_path / "t.csv", [f"{ids[0]},,", f"{ids[1]},,NON-GLAUCOMA", f"{ids[3]},,NON-GLAUCOMA"])
    assert made(run, later, free) == (2, 2)
    assert replies(run) == dict(zip(
        [r.id for r in G], ["GLAUCOMA", "NON-GLAUCOMA", "GLAUCOMA", "NON-GLAUCOMA"], strict=True
    ))  # fmt: skip
    assert len(run.replies_of(0).read_text().splitlines()) == 5, "no line is lost"
    assert made(run, path, free) == (1, 1)
    assert replies(run)[G[1].id] == "GLAUCOMA", "an answer that is changed back counts again"


def test_a_killed_command_is_completed_by_the_same_one(free: Path, tmp_path: Path):
    run = Run(tmp_path / "run")
    path = table(tmp_path / "s.csv", [f"{code_of(r)},,GLAUCOMA" for r in G])
    made(run, path, free)
    whole = replies(run)
    content = run.replies_of(0).read_bytes()
    for end in (0, 1, len(content) // 2, len(content) - 1):
        run.replies_of(0).write_bytes(content[:end])
        made(run, path, free)
        assert replies(run) == whole
        assert len(read_replies(run.replies)) == 4


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["bcdf-ghjk-lmnp,,GLAUCOMA"], r"1 are not \(.*s.csv, line 2\)"),
        ([f"{code_of(G[0])[:-1]},,GLAUCOMA", "x,,"], r"2 are not .*lines 2, 3"),
        ([f"{code_of(G[0])},,GLAUCOMA", f"{G[0].id},,NON-GLAUCOMA"], r"one answer .*s.csv:2 .*s.csv:3"),
        ([f"{code_of(A)},3,optic disc"], r"expected 1, 2 .*s.csv:2"),
        ([f"{code_of(G[0])},1,GLAUCOMA"], r"an empty cell .*s.csv:2"),
        ([f"{code_of(A)},,optic disc", f"{code_of(A)},,optic cup"], "a row for each region has its number"),
        ([f"{code_of(A)},,1: optic disc", f"{code_of(A)},1,optic cup"], r"lines 2, 3"),
        ([f"{code_of(G[0])},, "], "at least one answer"),
    ],
)
def test_wrong_cells_are_errors_with_their_line_and_nothing_is_written(
    records: list[Record], tmp_path: Path, rows: list[str], problem: str
):
    with pytest.raises(BadArgument, match=problem):
        read_answers(table(tmp_path / "s.csv", rows), records)


def test_equal_answers_count_once_and_an_empty_one_gives_way(records: list[Record], tmp_path: Path):
    rows = [f"{code_of(G[0])},,{text}" for text in ("", "Glaucoma", "GLAUCOMA", "")]
    found = read_answers(table(tmp_path / "s.csv", rows), records)
    assert found.replies() == {G[0].id: "Glaucoma"} and found.blank() == [] and found.lines(G[0].id) == [3]


def test_columns_that_were_sorted_alone_are_found_by_their_images(free: Path, records: list[Record], tmp_path: Path):
    write_blank(sheet_of(free, split="all", tasks=["glaucoma"]), tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    lines = [f"{row['id']},{row['image']},GLAUCOMA" for row in rows]
    assert len(read_answers(table(tmp_path / "t.csv", lines, "id,image,answer"), records).replies()) == 4
    ids = sorted((row["id"] for row in rows), reverse=rows[0]["id"] == min(row["id"] for row in rows))
    lines = [f"{id},{row['image']},GLAUCOMA" for id, row in zip(ids, rows, strict=True)]
    with pytest.raises(BadArgument, match="sorted alone"):
        read_answers(table(tmp_path / "t.csv", lines, "id,image,answer"), records)


def test_a_sheet_of_another_folder_is_refused(free: Path, mixed: Path, tmp_path: Path):
    write_blank(sheet_of(mixed, split="train"), tmp_path / "s.csv")
    with pytest.raises(BadArgument, match="6 are not"):
        read_answers(tmp_path / "s.csv", read_records(free / "records")[:1])


def test_a_folder_of_another_person_or_a_model_is_refused(free: Path, tmp_path: Path):
    path = table(tmp_path / "s.csv", [f"{code_of(G[0])},,GLAUCOMA"])
    made(Run(tmp_path / "run"), path, free)
    with pytest.raises(RunConflict, match="reader: ada -> bo"):
        made(Run(tmp_path / "run"), path, free, "bo")
    Run(tmp_path / "model").write_config({"model": {}})
    with pytest.raises(RunConflict, match="none, a model -> ada"):
        made(Run(tmp_path / "model"), path, free)
    for name in ("", " ", "a\nb", "a" * 101):
        with pytest.raises(BadArgument, match="--reader"):
            made(Run(tmp_path / "new"), path, free, name)
    made(Run(tmp_path / "new"), path, free, "读者 一")


def test_untidy_answers_are_the_parsers_to_read(free: Path, tmp_path: Path):
    """A formula, an injected format, and doubt are not replaced by guesses."""
    texts = ["'=IF(A1;GLAUCOMA)", "cannot tell", "GLAUCOMA or NON-GLAUCOMA", "GLAUCOMA"]
    run = Run(tmp_path / "run")
    made(run, table(tmp_path / "s.csv", [f"{code_of(r)},,{text}" for r, text in zip(G, texts, strict=True)]), free)
    assert replies(run)[G[0].id] == "=IF(A1;GLAUCOMA)"
    statuses = {p.record.id: p.status for p in read_predictions(run.predictions)}
    assert [statuses[r.id] for r in G[1:]] == ["refused", "unparsed", "answered"]
