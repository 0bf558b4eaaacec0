"""From raw phantoms of every source to records: labels, boxes, stages and demographics equal the truth, all of them."""

from collections import Counter

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.extension import named
from lmod_train.core.types import Dropped, Question, Sample
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import discover
from lmod_train.tasks.base import Task
from tests.data.curation.world import asked
from tests.drawn import drawn_folders, drawn_sources
from tests.tabled import tabled

N = 8


class Tell(Task):
    """Asks one thing of every sample, whatever it is; the answer is all that curation knows of it."""

    name, version, choices = "tell", 1, ("seen",)

    def ask(self, sample):
        told = "; ".join(f"{concept}={word}" for concept, word in sorted(sample.labels.items()))
        yield Question(self.name, asked(told), self.choices, told, marked=bool(sample.regions), regions=sample.regions)

    def parse(self, reply, record):
        return reply.reply

    def score(self, predictions):
        return []


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Phantoms of every source, and what curation makes of them with no box too small."""
    folder = tmp_path_factory.mktemp("every")
    for name in drawn_sources():
        named(drawn_folders()[name]).write(folder / "raw", N, 3, workers=0)
    found = discover(folder / "raw")
    assert sorted(s.name for s in found.sources) == sorted(drawn_sources())
    assert found.skipped == ()
    curate(found.sources, [Tell()], folder / "curated", balance=(), workers=1, box_filter=BoxFilter(threshold=0))
    return folder


def expected(name):
    return {t.key: t for t in named(drawn_folders()[name]).truths(N, 3)}


@tabled("name", list(drawn_sources()))
def test_records_equal_the_truth(drawn, name):
    records = {r.key: r for r in read_records(drawn / "curated" / "records") if r.source == name}
    truths = expected(name)
    assert records and set(records) == set(truths)
    for key, truth in truths.items():
        record = records[key]
        assert record.answer == "; ".join(f"{concept}={word}" for concept, word in sorted(truth.labels.items())), key
        assert Counter((r.structure, r.box) for r in record.regions) == Counter(truth.boxes), key
        assert (record.group, record.patient) == (truth.group, truth.patient), key


def test_sources_draw_what_their_truth_says_and_no_modality_is_missing(drawn):
    manifest = read_manifest(drawn / "curated")
    one_each = {source["modality"] for source in manifest["sources"].values() if "+" not in source["modality"]}
    assert one_each == {"SS", "OCT", "SLO", "LP", "CFP"}
    assert all(source["licence"] and source["reference"] for source in manifest["sources"].values())
    for source in discover(drawn / "raw").sources:
        told = list(source.samples())
        assert sum(isinstance(item, Sample) for item in told) == len(expected(source.name))
        assert all(item.reason and item.file for item in told if isinstance(item, Dropped))
