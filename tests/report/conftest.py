import pytest

from lmod_train.report.report import write_report
from tests.report.make import curate, run


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """Three runs on the same records, and the folder of their report."""
    root = tmp_path_factory.mktemp("runs")
    curated = curate(root / "curated", redistributable=False)
    runs = [
        run(root / "untuned", 0.3, seed=1, curated=curated),
        run(root / "tuned", 0.95, seed=2, curated=curated),
        run(root / "cnn", 0.8, model="cnn", seed=3, curated=curated),
    ]
    write_report(runs, root / "out", keep_names=["phantoms"])
    return runs, root / "out", curated
