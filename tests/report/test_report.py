import subprocess
import sys

import pytest

from lmod_train.errors import ArtifactError
from lmod_train.report.report import report


def test_scores_of_all_runs_stand_in_one_file_cell_for_cell(three):
    runs, out, _ = three
    rows = [(run / "scores.csv").read_text().splitlines() for run in runs]
    assert (out / "scores.csv").read_text().splitlines() == [rows[0][0], *(line for own in rows for line in own[1:])]


def test_the_same_runs_give_the_same_bytes(three, tmp_path):
    runs, out, _ = three
    assert report(runs, tmp_path / "again") == tmp_path / "again" / "index.html"
    for file in sorted(out.iterdir()):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_run_without_predictions_names_the_cure(three, tmp_path):
    (tmp_path / "scores.csv").write_bytes((three[0][0] / "scores.csv").read_bytes())
    with pytest.raises(ArtifactError, match="rescore"):
        report([tmp_path], tmp_path / "out")


def test_importing_it_waits_for_no_heavy_library():
    code = (
        "import sys, lmod_train.report.report; print(sorted({'torch', 'matplotlib', 'lightning'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
