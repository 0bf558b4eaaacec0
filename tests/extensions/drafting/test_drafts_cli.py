"""The command `draft ask`: a scripted model, through the front door and the path of every evaluation."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from lmod_train import cli
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.extensions.drafting.model_runs import Asking
from tests.drafted import FAULTS, curated, drafting_records, good

FROZEN = "lmod_train.models.modules.frozen.Frozen"
SCRIPTED = "lmod_train.models.backends.scripted.Scripted"
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
RECORDS = drafting_records(3)
HOSTILE = "=HYPERLINK(1)"


def model_file(folder: Path, replies: Mapping[str, str], kind: str = SCRIPTED) -> str:
    """Write the config of a scripted model that gives these replies."""
    rows = [json.dumps({"id": id, "reply": text}) for id, text in replies.items()]
    (folder / "replies.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    backend = {"class_path": kind, "init_args": {"replies": "replies.jsonl"}}
    (folder / "model.yaml").write_text(yaml.safe_dump({"class_path": FROZEN, "init_args": {"backend": backend}}))
    return "model.yaml"


def all_good() -> dict[str, str]:
    return {r.id: good(r).text for r in RECORDS}


def planted() -> tuple[dict[str, str], dict[str, str]]:
    """Return replies of which some have a fault, and id of such a draft -> check that must find it."""
    replies, faults = all_good(), {}
    for check, stage in (("place", "AL"), ("parts", "LC"), ("truth_in_other_words", "DD"), ("readability", "IQA")):
        record = next(r for r in RECORDS if r.chain_step == stage)
        plant = next(p for s, p in FAULTS[check] if s == stage)
        replies[record.id], faults[record.id] = plant(good(record)).text, check
    last = RECORDS[-1].id  # of stage SG
    replies[last], faults[last] = f"{HOSTILE}, I will not", "no_draft"
    return replies, faults


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    curated(Path("CURATED"), 3)
    return tmp_path


def ask(model: str, *more: str) -> int:
    return cli.main(["draft", "ask", "CURATED", "--model", model, "--out", "DRAFT", *more, *QUIET])


def table(name: str) -> list[dict[str, str]]:
    with Path("DRAFT", name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_drafts_are_asked_once_checked_counted_and_listed(here: Path, capsys: pytest.CaptureFixture[str]):
    replies, faults = planted()
    model = model_file(here, replies)
    assert ask(model) == 0
    printed = capsys.readouterr().out
    assert "DRAFT: 18 of 18 records have a reply" in printed and "13 of 18 drafts pass all checks" in printed
    assert {row["id"]: row["check"] for row in table("faults.csv")} == faults
    drafts = {row["id"]: row for row in table("drafts.csv")}
    assert len(drafts) == 17 and {id for id, row in drafts.items() if row["faults"]} == {*faults} - {RECORDS[-1].id}
    listed = {(r["check"], r["stage"]): (int(r["replies"]), int(r["with_fault"])) for r in table("checks.csv")}
    assert listed["no_draft", "SG"] == (3, 1) and listed["place", "AL"] == (3, 1)
    assert sum(n for _, n in listed.values()) == 5
    (status,) = [s.value for *_, s in read_scores(Run(Path("DRAFT")).scores)
                 if (s.subset, s.metric) == ("all", "share_answered")]  # fmt: skip
    assert status == pytest.approx(17 / 18)
    sent = {p.record.id: p.reply.rendered for p in read_predictions(Run(Path("DRAFT")).predictions)}
    assert all("Listing" not in text and "begin facts" in text for text in sent.values())
    before = Run(Path("DRAFT")).replies_of(0).read_bytes()
    assert ask(model) == 0
    assert Run(Path("DRAFT")).replies_of(0).read_bytes() == before, "a second command asks nothing"


def test_model_text_is_no_formula_in_any_table(here: Path):
    replies = all_good()
    bad = RECORDS[0]
    replies[bad.id] = good(bad).text.replace("Question: ", f"Question: {HOSTILE} ")
    assert ask(model_file(here, replies)) == 0
    for name in ("drafts.csv", "faults.csv", "checks.csv"):
        with Path("DRAFT", name).open(encoding="utf-8-sig", newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell.startswith(("=", "+", "@"))]
    assert any(row["question"].startswith(f"'{HOSTILE}") for row in table("drafts.csv"))


def test_another_model_in_the_same_folder_is_refused_and_named(here: Path, capsys: pytest.CaptureFixture[str]):
    model = model_file(here, all_good())
    assert ask(model) == 0
    assert ask(model, "--seed", "3") == 2
    error = capsys.readouterr().err
    assert Asking.__name__ not in error
    assert "out='DRAFT' was begun with another configuration" in error and "--out DIR" in error


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--stages", "DD,XX"], "expected some of IQA,AL,LC,DD,SG,CD"),
        (["--model", "nosuch.yaml"], "expected an existing YAML file"),
        (["--data.curatedd", "x"], "did you mean `--data.curated`"),
    ],
)
def test_errors_name_the_option_and_a_cure(here: Path, capsys, arguments: list[str], found: str):
    model = model_file(here, all_good())
    assert ask(model, *arguments) == 2
    error = capsys.readouterr().err
    assert found in error and "\nNext: " in error
    assert not Path("DRAFT").exists()


def test_a_folder_without_truths_is_refused_with_what_to_curate(here: Path, capsys):
    from tests.tiny import record, write_curated

    write_curated(Path("EMPTY"), [record(task="sex", answer="MALE", choices=("MALE", "FEMALE"))])
    assert cli.main(["draft", "ask", "EMPTY", "--model", model_file(here, {"a": "b"}), "--out", "D", *QUIET]) == 2
    assert "expected a folder with truths of stages" in capsys.readouterr().err


BREAKING = """
from pathlib import Path
from lmod_train.models.backends.scripted import Scripted


class Breaking(Scripted):
    def respond(self, batch):
        if Path("break").exists() and len(Path("asked").read_text().split()) >= 7:
            raise ConnectionError("the line is dead")
        with open("asked", "a") as file:
            file.write(" ".join(record.id for record in batch.records) + "\\n")
        return super().respond(batch)
"""


def test_after_a_break_the_same_command_asks_only_what_is_missing(here: Path):
    (here / "breaking.py").write_text(BREAKING)
    (here / "asked").touch()
    (here / "break").touch()
    model = model_file(here, all_good(), "breaking.Breaking")
    with pytest.raises(ConnectionError):
        ask(model, "--data.eval_batch_size", "1")
    (here / "break").unlink()
    assert ask(model, "--data.eval_batch_size", "1") == 0
    assert sorted((here / "asked").read_text().split()) == sorted(r.id for r in RECORDS)
    assert len(read_replies(Run(Path("DRAFT")).replies)) == 18
