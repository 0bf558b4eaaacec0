"""The whole way without a model: phantoms, records, replies by hand, scores, report, by the command line alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.tables import markdown
from lmod_train.core.types import Reply
from lmod_train.report.results import read_results
from lmod_train.report.warned import warned
from lmod_train.tasks.headline import headline_rows, headline_table


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("path")
    assert cli.main(["phantom", "--out", str(folder / "raw"), "--n", "12"]) == 0
    assert cli.main(["curate", "--raw", str(folder / "raw"), "--out", str(folder / "curated")]) == 0
    return folder / "curated"


@pytest.fixture
def brief(tmp_path: Path) -> list[str]:
    """The option of a report of the scores alone, without the figures of thirty sections."""
    (tmp_path / "brief.yaml").write_text("sections: [lmod_train.report.sections.scores.Scores]\n")
    return ["--config", str(tmp_path / "brief.yaml")]


def run_of(curated: Path, run: Path, wrong: int) -> Path:
    """A run that gave the reference reply to every record but the first `wrong` of each task, where it said nothing."""
    records = read_records(curated / "records")
    write_run_records(run / "records.parquet", records, {r.id: f"asked {r.id}" for r in records})
    silent = {r.id for task in {r.task for r in records} for r in [x for x in records if x.task == task][:wrong]}
    file = ReplyFile(run / "replies" / "rank-0.jsonl")
    file.append(
        Reply(r.id, "" if r.id in silent else r.answer, model="by hand", asked=f"asked {r.id}") for r in records
    )
    file.close()
    assert cli.main(["rescore", str(run)]) == 0
    return run


def test_reference_replies_score_one_and_silence_is_counted(
    curated: Path, tmp_path: Path, brief: list[str], capsys: pytest.CaptureFixture[str]
):
    runs = [run_of(curated, tmp_path / "perfect", 0), run_of(curated, tmp_path / "silent", 2)]
    n = {f.stem: len(found) for f in (curated / "records").iterdir() if (found := read_records(f))}
    scores = [
        {(s.task, s.metric): s for _, _, s in read_scores(run / "scores.csv") if s.subset == "all"} for run in runs
    ]
    for task in ("four_way", "glaucoma"):
        assert (scores[0][task, "accuracy_strict"].value, scores[0][task, "accuracy_strict"].n) == (1.0, n[task])
        assert scores[1][task, "accuracy_strict"].value == pytest.approx(1 - 2 / n[task], abs=1e-6)
        assert scores[1][task, "accuracy_answered"].value == 1.0
    assert scores[0]["anatomy", "f1_lmod_plus"].value == 1.0
    assert scores[1]["anatomy", "f1_lmod_plus"].value == pytest.approx(1 - 2 / n["anatomy"], abs=1e-6)
    capsys.readouterr()
    assert cli.main(["report", *map(str, runs), "--out", str(tmp_path / "report"), *brief]) == 0
    said = capsys.readouterr().out
    phantoms = "phantoms, drawn, not eyes: the scores of anatomy, four_way, glaucoma say nothing about eyes"
    results = read_results(runs)
    shown = markdown(headline_table(headline_rows(results.runs, warned(results))))
    without = "there is no config.yaml: its weights, settings and curated folder are not known"
    lines = [phantoms, *(f"by hand ({run}): {without}" for run in ("perfect", "silent"))]
    lines += ["names of private records are pseudonyms: perfect/private/pseudonyms.csv leads back"]
    found, said = said.split("\n| ", 1)
    assert found.startswith("Four-way diagnosis: by hand (perfect) answers 100.0 % of 11 questions correctly")
    assert said == "\n".join([shown, *lines, f"wrote {tmp_path / 'report' / 'index.html'}\n"]).removeprefix("| ")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines()[2:-5]]
    assert sorted(row[0:3] for row in table) == sorted(
        [task, "by hand", run] for task in n for run in ("perfect", "silent")
    )
    assert {row[0]: int(row[4]) for row in table} == n
    assert (tmp_path / "report" / "index.html").stat().st_size > 1000
    joined = read_scores(tmp_path / "report" / "scores.csv")
    assert {(run, model) for run, model, _ in joined} == {("perfect", "by hand"), ("silent", "by hand")}


def test_images_come_from_the_named_folder_and_every_prediction_is_on_a_page(
    curated: Path, tmp_path: Path, brief: list[str]
):
    """The runs by hand have no config.yaml, so that the images are only found where the command says."""
    run = run_of(curated, tmp_path / "perfect", 0)
    pages = {}
    for name, more in (("bare", []), ("images", ["--curated", str(curated)]), ("one", ["--one_file", "true"])):
        assert cli.main(["report", str(run), "--out", str(tmp_path / name), *brief, *more]) == 0
        files = [tmp_path / name / "index.html", *sorted((tmp_path / name).glob("pages/*"))]
        pages[name] = "".join(file.read_text(encoding="utf-8") for file in files)
    assert ['src="../images/' in pages[name] for name in ("bare", "images")] == [False, True]
    assert [">Image not found" in pages[name] for name in ("bare", "images")] == [True, False]
    shown = len(read_records(curated / "records"))
    assert [pages[name].count("<article ") for name in ("bare", "images", "one")] == [shown, shown, shown]


def test_folders_of_no_curated_set_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["report", str(tmp_path), "--out", str(tmp_path / "report"), "--curated", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert "nowhere/manifest.json" in error and "\nNext: " in error
    assert not (tmp_path / "report").exists()


def test_one_file_has_no_folder_of_data(curated: Path, tmp_path: Path, brief: list[str]):
    run = run_of(curated, tmp_path / "run", 1)
    assert cli.main(["report", str(run), "--out", str(tmp_path / "report"), *brief, "--one_file", "true"]) == 0
    assert not (tmp_path / "report" / "data").exists()
    assert "data-replies-0" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_a_run_without_predictions_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "run" / "replies").mkdir(parents=True)
    assert cli.main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "report")]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "run") in error and "rescore" in error


def test_without_runs_the_cure_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["report", "--out", str(tmp_path / "out")]) != 0
    assert "report RUN --out REPORT" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_run_is_named_with_which_the_others_are_compared(curated: Path, tmp_path: Path, capsys):
    runs = [str(run_of(curated, tmp_path / name, wrong)) for name, wrong in (("a", 4), ("b", 0), ("c", 2))]
    (tmp_path / "pairs.yaml").write_text("sections: [lmod_train.report.sections.comparisons.Comparisons]\n")
    only, first = ["--config", str(tmp_path / "pairs.yaml")], {}
    for against in ("c", "best"):
        assert cli.main(["report", *runs, "--out", str(tmp_path / "report"), "--against", against, *only]) == 0
        rows = (tmp_path / "report" / "tables" / "pairs.csv").read_text().splitlines()[1:]
        first[against] = {row.split(",")[1] for row in rows}
        assert len(rows) == 2 * 3
    assert first == {"c": {"by hand (c)"}, "best": {"by hand (b)"}}
    capsys.readouterr()
    assert cli.main(["report", *runs, "--out", str(tmp_path / "other"), "--against", "d", *only]) == 2
    assert "'by hand (a)', 'by hand (b)', 'by hand (c)'" in capsys.readouterr().err
    assert not (tmp_path / "other").exists(), "nothing is written"
    (tmp_path / "own.yaml").write_text("sections: [lmod_train.report.sections.scores.Scores]\n")
    own = ["--config", str(tmp_path / "own.yaml"), "--against", "best"]
    assert cli.main(["report", *runs, "--out", str(tmp_path / "other"), *own]) == 2
    assert "add `class_path: lmod_train.report.sections.comparisons.Comparisons`" in capsys.readouterr().err
