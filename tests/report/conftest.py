import pytest

from lmod_train.report.report import write_report
from tests.report.make import curate, run


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """Three runs on the same records, and their curated folder."""
    root = tmp_path_factory.mktemp("runs")
    curated = curate(root / "curated", redistributable=False)
    runs = [
        run(root / "untuned", 0.3, seed=1, curated=curated),
        run(root / "tuned", 0.95, seed=2, curated=curated),
        run(root / "cnn", 0.8, model="cnn", seed=3, curated=curated),
    ]
    return runs, curated


@pytest.fixture(scope="session")
def three(compared, tmp_path_factory):
    """The same, and the folder of their report between them."""
    runs, curated = compared
    out = tmp_path_factory.mktemp("reported") / "out"
    write_report(runs, out, keep_names=["phantoms"])
    return runs, out, curated
