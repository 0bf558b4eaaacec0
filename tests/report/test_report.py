import fcntl
import shutil
import subprocess
import sys

import pytest

from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import ArtifactError, BadArgument, FolderBusy
from lmod_train.report.report import LIST, WRITTEN, write_report
from lmod_train.report.sections.metrics import Metrics
from lmod_train.tasks.headline import headline
from tests.report.bilingual import planted_run
from tests.report.make import run


def test_scores_of_all_runs_stand_in_one_file_cell_for_cell(three):
    runs, out, _ = three
    rows = [(run / "scores.csv").read_text().splitlines() for run in runs]
    assert (out / "scores.csv").read_text().splitlines() == [rows[0][0], *(line for own in rows for line in own[1:])]


def test_a_run_without_settings_has_empty_cells_beside_one_with_them(tmp_path):
    runs = [run(tmp_path / "other", 0.5), planted_run(tmp_path / "open", {("open_question", "zh"): [True] * 4})]
    write_report(runs, tmp_path / "report", sections=[Metrics()])
    found = read_scores(tmp_path / "report" / "scores.csv")
    assert [s for *_, s in found] == [s for one in runs for *_, s in read_scores(one / "scores.csv")]
    assert {bool(s.settings) for _, _, s in found if s.metric.startswith("bleu1")} == {True}


def test_the_same_runs_give_the_same_bytes(three, tmp_path):
    runs, out, _ = three
    assert write_report(runs, tmp_path / "again", keep_names=["phantoms"]) == tmp_path / "again" / "index.html"
    for file in sorted(f for f in out.rglob("*") if f.is_file()):
        assert (tmp_path / "again" / file.relative_to(out)).read_bytes() == file.read_bytes(), file.name


def test_a_run_without_predictions_names_the_cure(three, tmp_path):
    (tmp_path / "replies").mkdir()
    (tmp_path / "scores.csv").write_bytes((three[0][0] / "scores.csv").read_bytes())
    with pytest.raises(ArtifactError, match="rescore"):
        write_report([tmp_path], tmp_path / "out")


def test_a_report_is_not_written_over_a_run(three, tmp_path):
    run = shutil.copytree(three[0][0], tmp_path / "run")
    before = {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()}
    with pytest.raises(BadArgument, match=r"--out='.*/run': expected a folder that is not a run"):
        write_report([three[0][1], run], run)
    assert {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()} == before


def test_a_copied_run_is_called_by_its_own_folder(three, tmp_path):
    copy = shutil.copytree(three[0][1], tmp_path / "copy")
    assert {row.run for row in headline([three[0][1], copy])} == {"tuned", "copy"}
    write_report([three[0][1], copy], tmp_path / "out", sections=[Metrics()])
    assert {run for run, _, _ in read_scores(tmp_path / "out" / "scores.csv")} == {"tuned", "copy"}


def test_importing_it_waits_for_no_heavy_library():
    code = (
        "import sys, lmod_train.report.report; print(sorted({'torch', 'matplotlib', 'lightning'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("holds", "allowed"), [("photo.jpg", False), ("scores.csv", True), ("index.html", True)])
def test_a_folder_of_something_else_is_not_written_into(holds, allowed, three, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / holds).write_text("")
    if allowed:
        assert write_report(three[0], out, sections=[Metrics()]) == out / "index.html"
        return
    with pytest.raises(BadArgument, match=r"--out=.*expected a new or empty folder, or one of an earlier report"):
        write_report(three[0], out)
    assert [f.name for f in out.iterdir()] == [holds]


def test_a_folder_that_another_process_writes_to_is_refused(three, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FolderBusy):
            write_report(three[0], out, sections=[Metrics()])
    write_report(three[0], out, sections=[Metrics()])
    assert (out / "index.html").exists() and not (out / ".lock").exists()


def test_an_interrupted_report_has_no_page_of_another_and_is_written_again(three, tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_report(three[0][:1], out, sections=[Metrics()])
    with monkeypatch.context() as stopped:
        stopped.setattr("lmod_train.report.report._join_scores", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_report(three[0][1:], out, sections=[Metrics()])
    assert not any((out / name).exists() for name in WRITTEN if name != LIST) and (out / LIST).exists()
    write_report(three[0][1:], out, sections=[Metrics()])
    assert (out / "index.html").exists()
