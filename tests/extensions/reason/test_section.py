"""The section: claims of runs with facts, and what is said where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmod_train import cli
from lmod_train.core.tables import Table
from lmod_train.core.types import Record, Reply
from lmod_train.extensions.reason.sections import Reasons
from lmod_train.report.contents import Figure, Part, Remark
from lmod_train.report.results import read_results
from lmod_train.report.section import shipped_sections
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from tests.extensions.reason.explainers import eye
from tests.report.make import curate, records, written

EYES = 24


def asked(with_facts: bool = True) -> list[Record]:
    rng = np.random.default_rng(0)
    own = [replace(r, group=str(i)) for i, r in enumerate(r for r in records(EYES) if r.task == "glaucoma")]
    return [replace(r, facts=tuple(eye(rng, r.answer).values()) if with_facts else ()) for r in own]


def explained(record: Record) -> str:
    facts = {fact.name: fact.value for fact in record.facts}
    return (
        f"{record.answer}. The cup-to-disc ratio is about {facts['vcdr']:.2f}, the {facts['rim.thinnest']} rim is thin."
    )


def textbook(record: Record) -> str:
    return f"{record.answer}. The cup-to-disc ratio is about {0.75 if record.answer == 'GLAUCOMA' else 0.3}."


def bare(record: Record) -> str:
    return record.answer


def run(folder: Path, say, curated: Path, with_facts: bool = True) -> Path:
    own = asked(with_facts)
    predictions = parse_replies(Glaucoma(), own, {r.id: Reply(r.id, say(r), model=folder.name) for r in own})
    written(folder, folder.name, folder.name, own, predictions, scores_of([Glaucoma()], predictions))
    (folder / "config.yaml").write_text(f"data: {{curated: {curated}}}\n")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    curated = curate(tmp_path / "curated", EYES)
    return [run(tmp_path / say.__name__, say, curated) for say in (explained, textbook, bare)]


def parts_of(runs: list[Path]) -> list[Part]:
    return list(Reasons().parts(read_results(runs)))


def test_each_model_and_truth_has_its_verdict_with_its_number(runs: list[Path]) -> None:
    parts = parts_of(runs)
    shown = next(p for p in parts if isinstance(p, Table) and p.name == "reason")
    heads = [column.head for column in shown.columns]
    rows = [dict(zip(heads, row, strict=True)) for row in shown.rows]
    verdicts = {(row["model"], row["true answer"]): row["verdict"] for row in rows}
    assert len(verdicts) == 6
    assert verdicts["explained", "GLAUCOMA"] == "of this eye"
    assert verdicts["textbook", "GLAUCOMA"] != "of this eye"
    assert verdicts["bare", "GLAUCOMA"] == "cannot be told"
    assert all(row["replies"] == EYES // 2 for row in rows)
    assert all(row["checkable"].value == (row["model"] != "bare") for row in rows)
    remarks = [p.text for p in parts if isinstance(p, Remark)]
    assert [r for r in remarks if "bare (24 replies to glaucoma)" in r]
    assert not [r for r in remarks if "explained explains none" in r]


def test_a_strip_marks_claims_in_the_words_of_the_reply_beside_measures(runs: list[Path], tmp_path: Path) -> None:
    figures = [p for p in parts_of(runs) if isinstance(p, Figure)]
    assert [f.name for f in figures] == ["reason-glaucoma-explained", "reason-glaucoma-textbook"]
    rows = figures[0].table.rows
    assert len(rows) == 6
    assert all("]✓" in str(row[-1]) and "measured: vcdr" in str(row[4]) for row in rows)
    figures[0].draw(figures[0].table, tmp_path)
    assert (tmp_path / "reason-glaucoma-explained.png").stat().st_size > 10_000


def wrong(record: Record) -> str:
    other = "NON-GLAUCOMA" if record.answer == "GLAUCOMA" else "GLAUCOMA"
    return f"{other}. The cup-to-disc ratio is about 0.5."


def test_a_strip_says_which_answers_are_wrong(tmp_path: Path) -> None:
    own = run(tmp_path / "wrong", wrong, curate(tmp_path / "curated", EYES))
    (figure,) = [p for p in parts_of([own]) if isinstance(p, Figure)]
    assert [row[6] for row in figure.table.rows] == ["wrong"] * 6


def test_without_facts_the_section_says_how_to_add_them(tmp_path: Path) -> None:
    own = run(tmp_path / "claimed", textbook, curate(tmp_path / "curated", EYES), with_facts=False)
    (remark,) = parts_of([own])
    assert isinstance(remark, Remark) and "rescore RUN --facts CURATED" in remark.text
    silent = run(tmp_path / "silent", bare, tmp_path / "curated", with_facts=False)
    assert parts_of([silent]) == []


def test_it_is_in_the_default_report(runs: list[Path], tmp_path: Path) -> None:
    assert [section for section in shipped_sections() if isinstance(section, Reasons)]
    (tmp_path / "own.yaml").write_text("sections: [lmod_train.extensions.reason.sections.Reasons]\n")
    own = ["--out", str(tmp_path / "report"), "--config", str(tmp_path / "own.yaml")]
    assert cli.main(["report", *map(str, runs), *own]) == 0
    text = (tmp_path / "report" / "tables.md").read_text(encoding="utf-8")
    assert "Is the explanation true?" in text
    assert (tmp_path / "report" / "tables" / "reason.csv").exists()
