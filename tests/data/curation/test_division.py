"""What belongs together is in one split, whatever is split."""

from collections import defaultdict
from dataclasses import replace

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.cases import SETTINGS, Changed, N, Staged


def test_what_shares_an_image_or_a_chain_is_in_one_split(curated_cases, records):
    homes = defaultdict(set)
    for record in records:
        for name in (*record.image, record.chain or record.id):
            homes[name].add(record.split)
    assert all(len(splits) == 1 for splits in homes.values())
    groups = {r.key: r.group for r in records}
    # cases 0 and 3 show the common scan, though no question asks about it
    assert groups["cfp/0"] == groups["case 0"] == groups["case 3"] == groups["cfp/3"] == "case 0"
    assert groups["cfp/6"] == groups["case 6"] == "case 6" and groups["cfp/7"] == "eye 7"
    assert len({r.split for r in records}) == 3
    assert read_manifest(curated_cases)["sources"]["cases"]["files"] == N + N // 3 + 1
    assert read_manifest(curated_cases)["leakage"]["counts"]["exact"]["pairs"] == 0


@pytest.mark.filterwarnings("ignore:split_by='image'")
def test_the_published_split_keeps_them_together_too(source, tmp_path):
    curate([source], [Staged()], tmp_path / "out", split_by="image", **SETTINGS)
    homes = defaultdict(set)
    for record in read_records(tmp_path / "out" / "records"):
        for name in (*record.image, record.chain or record.id):
            homes[name].add(record.split)
    assert all(len(splits) == 1 for splits in homes.values())


def test_a_chain_of_several_samples_is_in_one_split_and_one_group(source, tmp_path):
    def change(sample):
        return replace(sample, asked=tuple(replace(q, chain=q.chain and "one") for q in sample.asked))

    curate([Changed(source.root, change)], [Staged()], tmp_path / "out", **SETTINGS)
    chained = [r for r in read_records(tmp_path / "out" / "records") if r.chain]
    assert {r.chain for r in chained} == {"cases/one"} and len({r.key for r in chained}) == N
    assert len({r.split for r in chained}) == len({r.group for r in chained}) == 1
