"""The metrics in a LightningModule of one's own, without the package's callback, module or datamodule."""

import pytest

from lmod_train import curate, discover
from lmod_train.phantom.folders import refuge
from lmod_train.tasks.glaucoma import Glaucoma
from tests import forks
from tests.docs.pages import BLOCK, DOCS, read
from tests.scoring.metrics.answers import of_regions, of_words
from tests.training.own_module import EYES, WORDS, fit, two


def expected():
    """Return what is logged, by an independent implementation over each record once."""
    words = {f"val/glaucoma/{name}": value for name, value in of_words(*WORDS).items() if name != "kappa_quadratic"}
    regions = of_regions(*EYES)
    shares = ("share_refused", "share_unparsed")  # as texts: an empty reply is unparsed, and none is a refusal
    of_eyes = {f"val/anatomy/{name}": value for name, value in regions.items() if name not in shares}
    return words | of_eyes | {"val/f1": regions["f1_lmod_plus"]}


def test_metrics_are_logged_computed_and_reset_by_lightning(tmp_path):
    logged, calls, _ = fit(tmp_path)
    assert {name: logged[name] for name in expected()} == pytest.approx(expected(), abs=1e-6)
    assert len(logged) > 30
    assert calls[-2:] == [31, 31], "the score function runs once in an epoch"
    assert len(calls) <= 4, "and once for the names, and for the sanity check"


@pytest.mark.slow  # two ranks that share records: see scoring/metrics/test_two_ranks.py
def test_two_processes_log_the_values_of_one(tmp_path):
    """Lightning's sampler gives 54 records to 2 ranks; each record counts once."""
    for logged, calls, gathers in two(tmp_path, forks.free_port()):
        assert {name: logged[name] for name in expected()} == pytest.approx(expected(), abs=1e-6)
        assert calls[-2:] == [31, 31]
        assert gathers == 3 * 3, "two tasks and a metric alone, in the sanity check and in two epochs"


def test_the_module_of_the_documentation_runs_with_a_named_datamodule(tmp_path, monkeypatch, capsys):
    blocks = [block for block in BLOCK.finditer(read(DOCS / "python.md")) if "task.metrics()" in block["text"]]
    refuge.write(tmp_path / "raw", 24, 0)
    curate(discover(tmp_path / "raw").sources, [Glaucoma()], tmp_path / "PY_CURATED", progress=False, workers=1)
    monkeypatch.chdir(tmp_path)
    assert len(blocks) == 1
    exec(blocks[0]["text"], {"__name__": "__main__"})
    assert capsys.readouterr().out.endswith(blocks[0]["shown"])
