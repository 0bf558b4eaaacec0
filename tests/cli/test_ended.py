"""The exit status of every command that asks a model: 3 if a record has no reply, whatever else went well."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.ended import INCOMPLETE
from lmod_train.core.artifacts.run import Run
from lmod_train.core.shipped import configs_folder
from lmod_train.scoring.completeness import Account
from lmod_train.tasks.run_scores import read_run_scores
from tests.extensions.drafting.test_captions import captioned, scripted  # noqa: F401 - a fixture
from tests.extensions.drafting.test_captions import here as captions_here  # noqa: F401 - a fixture
from tests.extensions.drafting.test_drafts_cli import QUIET, all_good, model_file
from tests.extensions.drafting.test_drafts_cli import here as drafted  # noqa: F401 - a fixture
from tests.extensions.drafting.test_judge import IDS, VERDICTS, judge_file
from tests.judged import make_run
from tests.tiny import record, write_curated

CONFIGS = configs_folder()
WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
SPLITS = {"validate": "val", "test": "test", "predict": "test"}
RECORDS = [
    record(f"glaucoma/p/{split}{i}", image=[f"{split}{i}.png"], answer=WORDS[i % 2], split=split)
    for split in ("val", "test")
    for i in range(4)
]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a curated folder of four records of each split."""
    monkeypatch.chdir(tmp_path)
    Path("CURATED").mkdir()
    write_curated(tmp_path / "CURATED", RECORDS)
    return tmp_path


def run(command: str, answered: int, *options: str) -> int:
    """Run a command with a model that replies to some records of each split, and fails for the others."""
    texts = {"of no record": ""} | {r.id: r.answer for r in RECORDS if int(r.id[-1]) < answered}
    model = model_file(Path(), texts)
    data = ["--data.curated", "CURATED", "--data.tasks", f"[{CONFIGS / 'task/glaucoma.yaml'}]"]
    return cli.main([command, "--model", model, *data, "--run", "RUN", *QUIET, *options])


def brief_report() -> int:
    """Report the scores alone, without the figures of thirty sections."""
    Path("brief.yaml").write_text("sections: [lmod_train.report.sections.scores.Scores]\n")
    return cli.main(["report", "RUN", "--out", "REPORT", "--config", "brief.yaml"])


@pytest.mark.parametrize("command", SPLITS)
def test_the_status_is_that_of_the_records_that_were_to_be_asked(asked: Path, command: str, capsys):
    assert run(command, 3) == INCOMPLETE
    assert "RUN: 3 of 4 records have a reply, 1 failed" in capsys.readouterr().out
    Path("replies.jsonl").rename("earlier.jsonl")
    assert run(command, 4, "--run", "WHOLE") == 0
    assert "WHOLE: 4 of 4 records have a reply" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["validate", pytest.param("test", marks=pytest.mark.slow), "predict"])
def test_a_run_without_any_reply_ends_with_its_account_and_no_score(asked: Path, command: str, capsys):
    assert run(command, 0) == INCOMPLETE
    assert "RUN: 0 of 4 records have a reply, 4 failed" in capsys.readouterr().out
    if command != "predict":
        (scores,) = read_run_scores([Path("RUN")])
        assert scores.account("glaucoma") == Account(0, 4) and scores.find("glaucoma", "accuracy_strict").value is None
        assert brief_report() == 0 == cli.main(["rescore", "RUN"])
        printed = capsys.readouterr().out
        assert "RUN is incomplete" in printed or "scripted is incomplete" in printed


def test_rescore_and_report_of_an_incomplete_run_end_with_0_and_mark_it(asked: Path, capsys):
    assert run("test", 2) == INCOMPLETE
    assert cli.main(["rescore", "RUN"]) == 0
    assert "incomplete: 2 requests failed" in capsys.readouterr().out
    assert brief_report() == 0
    printed = capsys.readouterr().out
    assert (
        "is incomplete: 2 of 4 records have a reply, 2 failed" in printed
        and "| replied | failed | not asked" in printed
    )
    assert "2 of 4 records have a reply, 2 failed" in Path("REPORT/index.html").read_text()


def test_the_other_shard_is_not_to_be_asked(asked: Path, capsys):
    assert run("test", 4, "--data.shard", "1/2") == 0
    assert "2 of 4 records have a reply, 2 not asked" in capsys.readouterr().out, "the scores are of both shards"
    assert run("test", 4, "--data.shard", "2/2") == 0
    statuses = [run("test", 3, "--data.shard", shard, "--run", "LOST") for shard in ("1/2", "2/2")]
    assert sorted(statuses) == [0, INCOMPLETE], "of the record that failed"


@pytest.mark.parametrize("lost", [0, 1, pytest.param(None, marks=pytest.mark.slow)])
def test_a_series_goes_on_and_ends_with_the_worst_status(asked: Path, lost: int | None, capsys, monkeypatch):
    from lmod_train.models.backends.scripted import Scripted

    honest, runs = Scripted._reply, []

    def reply(self, one):
        if not runs or runs[-1] is not self:
            runs.append(self)
        return honest(self, one) if len(runs) - 1 != lost else honest(self, record("other"))

    monkeypatch.setattr(Scripted, "_reply", lambda self, one: _with_id(reply(self, one), one.id))
    status = run("test", 4, "--seeds", "2", "--run", "S")
    assert status == (0 if lost is None else INCOMPLETE) and len(runs) == 2
    accounts = [read_run_scores([Path("S") / f"seed_{k}"])[0].account("glaucoma") for k in range(2)]
    assert accounts == [Account(0, 4) if k == lost else Account(4) for k in range(2)]


def _with_id(reply, id):
    from dataclasses import replace

    return replace(reply, id=id)


@pytest.mark.parametrize("missing", [0, 1])
def test_drafts(drafted: Path, missing: int):  # noqa: F811
    replies = all_good()
    for id in list(replies)[:missing]:
        del replies[id]
    model = model_file(drafted, replies)
    status = cli.main(["draft", "ask", "CURATED", "--model", model, "--out", "DRAFT", *QUIET])
    assert status == missing * INCOMPLETE and Path("DRAFT/drafts.csv").exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_judgements(tmp_path: Path, monkeypatch, missing: int, capsys):
    monkeypatch.chdir(tmp_path)
    judged = make_run(tmp_path / "run", ["pale"] * len(IDS))
    verdicts = dict.fromkeys(IDS, next(iter(VERDICTS.values())))
    for id in IDS[:missing]:
        del verdicts[id]
    model = judge_file(tmp_path, verdicts)
    assert cli.main(["judge", str(judged.folder), "--model", model, *QUIET]) == missing * INCOMPLETE
    assert ("1 failed" in capsys.readouterr().out) == bool(missing)
    assert Run(judged.folder).scores.exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_captions_and_their_judge(captions_here: Path, missing: int):  # noqa: F811
    lines = Path("model.jsonl").read_text(encoding="utf-8").splitlines()
    Path("model.jsonl").write_text("\n".join(lines[missing:]), encoding="utf-8")
    options = ["--model", "model.yaml", "--out", "DRAFT", *QUIET]
    assert cli.main(["draft", "captions", "mine/CAPTIONS.csv", *options]) == missing * INCOMPLETE
    assert Path("DRAFT/questions.csv").exists()
    scripted("judge.yaml", {"nothing": "TRUE"})
    compared = cli.main(["draft", "judge", "DRAFT", "--model", "judge.yaml", *QUIET])
    assert compared == INCOMPLETE and Path("DRAFT/parity.csv").exists()
