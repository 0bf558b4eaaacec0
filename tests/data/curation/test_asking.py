"""Asking: probes of questions about several images."""

from dataclasses import replace

from lmod_train.core.artifacts.records import read_records
from lmod_train.data.curation.pipeline import curate
from lmod_train.tasks.probe import Probe
from tests.data.curation.cases import SETTINGS, Changed, Staged


def test_probes_show_as_many_other_images(source, tmp_path):
    def change(sample):
        return replace(sample, asked=tuple(q for q in sample.asked if q.answer in ("all", "none", "scan")))

    curate([Changed(source.root, change)], [Probe(Staged())], tmp_path / "out", **SETTINGS)
    records = {r.id: r for r in read_records(tmp_path / "out" / "records")}
    foreign = records["staged_probe/cases/case%203/foreign"]
    assert len(set(foreign.image)) == 2 and all(name.startswith("images/foreign/") for name in foreign.image)
    assert records["staged_probe/cases/case%203/none"].image == ()
    assert records["staged_probe/cases/case%203/blind-foreign"].image == ()
