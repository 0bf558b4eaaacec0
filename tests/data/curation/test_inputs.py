"""A source that fails in the middle costs what it had not told yet, and nothing of the others."""

import csv
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, BadSample, SourceNotFound, StrictDrops
from lmod_train.core.types import ImageFile
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.inputs import read_sources
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.world import Discs, Regions


class Failing(Discs):
    """Discs of another name, which fail after `left` of their items; 0 fails when the folder is verified."""

    name = "failing"
    error: type[BaseException] = RuntimeError
    left = 5

    def verify(self):
        if not self.left:
            raise self.error(f"{self.root}/table.csv is odd")

    def samples(self):
        for number, item in enumerate(super().samples()):
            if number == self.left:
                raise self.error(f"{self.root}/table.csv is odd")
            yield item


@pytest.fixture
def sources(tmp_path):
    whole, failing = Discs.write(tmp_path / "raw", 12), Failing(tmp_path / "raw")
    return whole, failing


@pytest.mark.parametrize("error", [RuntimeError, RecursionError, MemoryError, OSError, KeyError, AssertionError])
@pytest.mark.parametrize("left", [0, 5])
def test_what_was_told_before_is_kept(sources, error, left):
    sources[1].error, sources[1].left = error, left
    read = read_sources(sources)
    assert [sum(s.source == name for s in read.samples) for name in ("discs", "failing")] == [12, left]
    (line,) = [d for d in read.dropped if d.source == "failing"]
    assert (line.key, line.step, line.reason, line.extent) == ("all", "read", "source_failed", "gone")
    assert (
        error.__name__ in line.detail and "table.csv is odd" in line.detail and "test_inputs.py, line " in line.detail
    )
    assert str(sources[1].root) not in line.detail


def test_it_is_listed_and_strict_refuses(sources, tmp_path):
    out = tmp_path / "out"
    manifest = curate(sources, [Regions()], out, workers=1, progress=False)
    assert manifest["dropped"]["failing"] == {"read": {"source_failed": 1}}
    with (out / "dropped.csv").open(newline="", encoding="utf-8-sig") as file:
        assert [(r["source"], r["reason"]) for r in csv.DictReader(file)] == [("failing", "source_failed")]
    assert len({(r.source, r.key) for r in read_records(out / "records")}) == 12 + 5
    with pytest.raises(StrictDrops, match="source_failed: 1"):
        curate(sources, [Regions()], out, refusal=Refusal(strict=True), workers=1, progress=False)


def test_our_own_errors_and_the_users_interrupt_still_end_it(sources):
    sources[1].error = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        read_sources(sources)
    sources[1].error = lambda said: SourceNotFound("failing", sources[1].root, said, "")
    with pytest.raises(SourceNotFound):
        read_sources(sources)


def test_where_nothing_is_left_the_refusal_says_why(sources):
    sources[1].left = 0
    with pytest.raises(BadArgument, match=r"RuntimeError: table\.csv is odd"):
        read_sources(sources[1:])


class Named(Discs):
    """Discs whose modality and shared image are of other words."""

    name = "named"
    own, shared = "CFP", ""

    def samples(self):
        for sample in super().samples():
            image = ImageFile(sample.image, sample.key, self.shared)
            yield replace(sample, source=self.name, modality=self.own, shared_images=(image,))


@pytest.mark.parametrize(("own", "shared", "unknown"), [("CFP+fundus", "", "fundus"), ("CFP", "cfp", "cfp")])
def test_a_modality_of_unknown_words_is_an_error_that_names_source_and_words(tmp_path, own, shared, unknown):
    Discs.write(tmp_path / "raw", 2)
    source = Named(tmp_path / "raw")
    source.own, source.shared = own, shared
    with pytest.raises(BadSample, match=rf"'named'.*\['{unknown}'\]"):
        read_sources([source])


def test_combined_modalities_have_one_order(tmp_path):
    Discs.write(tmp_path / "raw", 2)
    source = Named(tmp_path / "raw")
    source.own = "OCT+FFA+CFP"
    assert {s.modality for s in read_sources([source]).samples} == {"CFP+OCT+FFA"}
