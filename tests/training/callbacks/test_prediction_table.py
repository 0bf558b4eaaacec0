"""The table on wandb, written offline: its rows are the replies of the run, its images are there, its text is inert."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from lightning import Trainer
from lightning.pytorch.loggers import CSVLogger, WandbLogger
from PIL import Image

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import answer_of
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.curated import Curated
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.scripted import Scripted
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks import prediction_table
from lmod_train.training.callbacks.generation import GenerationEval
from lmod_train.training.callbacks.prediction_table import COLUMNS, PredictionTable, shown
from tests.report.make import LURE, curate, records
from tests.report.packs import question

ROWS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight photographs, each asked by every task."""
    made = curate(tmp_path_factory.mktemp("curated"), n=8)
    for task in ("anatomy", "four_way", "glaucoma"):
        write_records(made / "records" / f"{task}.parquet", [r for r in records(8) if r.task == task])
    return made


def evaluate(folder: Path, run: Path, logger: Any, table: PredictionTable) -> None:
    trainer = Trainer(
        default_root_dir=run, accelerator="cpu", devices=1, logger=logger, callbacks=[GenerationEval(), table],
        enable_progress_bar=False, enable_model_summary=False, use_distributed_sampler=False,
    )  # fmt: skip
    data = RecordsDataModule(folder, [Glaucoma(), FourWay()], split="all")
    trainer.test(Frozen(Scripted(text=f"{{answer}}\n{LURE}")), datamodule=data, verbose=False)


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of both tasks with a table of `ROWS`, logged offline; what `wandb sync` will send waits in ``staged``."""
    wandb = pytest.importorskip("wandb")
    run = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_DATA_DIR", str(run / "staged"))
        try:
            evaluate(folder, run, WandbLogger(save_dir=run, offline=True, project="test"), PredictionTable(rows=ROWS))
        finally:
            wandb.finish()
        yield run


def tables(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Return task -> rows of the one table logged of it, images and all, as wandb keeps it for sending."""
    named: dict[str, list[dict[str, Any]]] = {}
    for file in (run / "staged").rglob("*"):
        if file.is_file() and file.read_bytes().startswith(b'{"_type": "table"'):
            table = json.loads(file.read_text(encoding="utf-8"))
            assert table["columns"] == COLUMNS
            rows = [dict(zip(COLUMNS, row, strict=True)) for row in table["data"]]
            assert rows[0]["task"] not in named or named[rows[0]["task"]] == rows, "one table a task"
            named[rows[0]["task"]] = rows
    return named


def test_there_is_one_table_a_task_with_the_first_rows(run: Path):
    found = tables(run)
    assert sorted(found) == ["four_way", "glaucoma"]
    for task, rows in found.items():
        asked = [r for r in records(8) if r.task == task][:ROWS]
        assert [(r["id"], r["task"], r["reference"]) for r in rows] == [(r.id, task, r.answer) for r in asked]
        assert {r["status"] for r in rows} == {"answered"}
        assert [answer_of(r["parsed"]) for r in rows] == [r.answer.removeprefix("DISEASE: ") for r in asked]


def test_the_run_holds_a_file_of_each_table(run: Path):
    files = list(run.glob("wandb/offline-run-*/files/media/table/predictions/*.table.json"))
    held = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert sorted(table["data"][0][1] for table in held) == ["four_way", "glaucoma"]
    assert [(table["columns"], len(table["data"])) for table in held] == [(COLUMNS, ROWS)] * 2


def test_replies_are_escaped_in_the_table_and_as_they_came_in_the_run(run: Path):
    saved = {r.id: r.reply for r in read_replies(run / "replies").values()}
    assert len(saved) == 16 and all(LURE in reply for reply in saved.values())
    for rows in tables(run).values():
        for row in rows:
            assert row["reply"] == saved[row["id"]].replace("<", "&lt;").replace(">", "&gt;")
            assert "&lt;script&gt;" in row["reply"]


def test_what_a_parser_quotes_is_escaped_too(folder: Path):
    class Running:
        datamodule = RecordsDataModule(folder, [Glaucoma()])

    asked = records(1)[0]
    told = Prediction(asked, Reply(asked.id, "", error=LURE), Unparsed("failed", LURE))
    (row,) = PredictionTable()._table(Running(), [told])  # type: ignore[arg-type]
    assert "<script>" not in row[COLUMNS.index("parsed")] and "&lt;script&gt;" in row[COLUMNS.index("parsed")]


def test_images_have_the_pixels_of_the_curated_ones(run: Path, folder: Path):
    images = {r.id: r.image[0] for r in records(8)}
    waiting = {sha256_of(file): file for file in (run / "staged").rglob("*") if file.is_file()}
    for rows in tables(run).values():
        sent = [waiting[row["image"]["sha256"]] for row in rows]
        for file, row in zip(sent, rows, strict=True):
            assert Image.open(file).tobytes() == Image.open(folder / images[row["id"]]).tobytes()
            assert not Image.open(file).info
        assert len(set(sent)) == ROWS


class Counting(PredictionTable):
    """Counts how often it looks for predictions."""

    looked = 0

    def _predictions(self, trainer: Trainer) -> Any:
        self.looked += 1
        return super()._predictions(trainer)


def test_without_a_wandb_logger_nothing_is_read_and_nothing_fails(folder: Path, tmp_path: Path):
    table = Counting()
    evaluate(folder, tmp_path, CSVLogger(tmp_path), table)
    assert table.looked == 0
    assert len(read_replies(tmp_path / "replies")) == 16


def test_several_images_of_a_record_are_shown_side_by_side(tmp_path: Path):
    Image.new("RGB", (4, 2), "red").save(tmp_path / "red.png")
    Image.new("L", (3, 5), 255).save(tmp_path / "white.png")
    images = Curated(tmp_path)
    assert shown(images, ["red.png"]).tobytes() == Image.open(tmp_path / "red.png").tobytes()
    whole = shown(images, ["red.png", "white.png"])
    assert whole.size == (7, 5)
    assert [whole.getpixel(at) for at in ((0, 0), (3, 1), (4, 4), (0, 4))] == [
        (255, 0, 0), (255, 0, 0), (255, 255, 255), (0, 0, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("allowed", "url", "proxy", "offline", "logged"),
    [
        ([], "https://api.wandb.ai", None, False, ["open"]),
        ([], "http://localhost:8080", None, True, ["open"]),
        (["closed"], "https://api.wandb.ai", "http://proxy:3128", False, ["open", "probe", "closed"]),
        (["closed"], "http://localhost:8080", None, False, ["open", "probe", "closed"]),
        (["closed"], "http://wandb.example.org", None, True, ["open", "probe", "closed"]),
        (["closed"], "http://localhost:8080", "http://proxy:3128", False, ["open"]),
        (["closed"], "http://wandb.example.org", None, False, ["open"]),
        (["closed"], "http://10.0.0.7:8080", None, False, ["open"]),
    ],
)
def test_nothing_that_shows_a_closed_source_is_logged(
    allowed, url, proxy, offline, logged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nor one that the user allows, where a proxy or network could read it."""
    settings = SimpleNamespace(base_url=url, http_proxy=proxy)
    loggers = [SimpleNamespace(experiment=SimpleNamespace(settings=settings, offline=offline))]
    stated = {"open": {"redistributable": True}, "closed": {"redistributable": False}}
    write_json(tmp_path / "manifest.json", {"schema_version": SCHEMA_VERSION, "sources": stated})
    plain = replace(question("open", 0), id="open", image=("images/open/a.jpg",))
    probe = replace(plain, id="probe", image=("images/closed/a.jpg",))
    asked = [plain, probe, replace(question("closed", 0), id="closed", image=("images/closed/a.jpg",))]
    evaluation = GenerationEval()
    told = [Prediction(r, Reply(r.id, "yes"), Unparsed("failed", "")) for r in asked]
    monkeypatch.setattr(evaluation, "scored", {"t": SimpleNamespace(predictions=told)}, raising=False)
    monkeypatch.setattr(prediction_table, "data_of", lambda _: SimpleNamespace(images=Curated(tmp_path)))
    table = PredictionTable(send_sources=allowed)
    found = table._predictions(SimpleNamespace(callbacks=[evaluation]), loggers)  # type: ignore[arg-type]
    assert [p.record.id for p in found["t"]] == logged
