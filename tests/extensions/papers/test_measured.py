"""How a run's scores were obtained is read from its records, its config and the manifest."""

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.types import Score
from lmod_train.extensions.papers.ledger import Protocol, conditions, find_score, items_of_part, manifest_of
from lmod_train.scoring.items import Item
from lmod_train.tasks.run_scores import RunScores
from lmod_train.tasks.staging import PROMPTS
from lmod_train.tasks.wordings import digest_of
from tests.extensions.papers.make import curated, results, staged
from tests.report.make import run

HOW = Protocol(
    "macular_hole_stage", "accuracy_strict", "all", "all", ("lmod_v1",), frozenset(), {}, 76, "all", True, "", ""
)


def facts(made, protocol=HOW):
    (outcomes,) = results(made).outcomes.values()
    (folder,) = results(made).images.values()
    return conditions(outcomes, manifest_of(folder), protocol)


def test_facts_of_a_run_on_a_curated_folder(tmp_path):
    found = facts(staged(tmp_path / "run", 19, model="m", curated=curated(tmp_path / "c")))
    assert (found.value, found.n, found.split, found.balanced) == (None, 76, "all", True)
    assert (found.protocol, found.changed) == ("lmod_naacl", "")
    assert found.words == {digest_of(PROMPTS["lmod_naacl"])} and found.sources == {"phantoms": 76}


@pytest.mark.parametrize(
    ("folder", "balanced", "protocol"),
    [
        (lambda p: curated(p, "mine", ()), False, "mine"),
        (lambda p: p / "gone", None, ""),
        (lambda p: (p / "manifest.json").write_text("{") and p, None, ""),
    ],
)
def test_a_folder_without_balance_one_that_is_gone_and_a_damaged_one(tmp_path, folder, balanced, protocol):
    found = facts(staged(tmp_path / "run", 19, model="m", curated=folder(tmp_path)))
    assert (found.balanced, found.protocol) == (balanced, protocol)


def test_the_split_is_that_of_the_records_unless_all_were_asked_for(tmp_path):
    made = curated(tmp_path / "c")
    assert facts(staged(tmp_path / "a", 9, curated=made, split="test")).split == "test"
    assert facts(staged(tmp_path / "b", 9, curated=made, split="all")).split == "all"
    assert facts(staged(tmp_path / "d", 9)).split == "test"  # the records' own split


def test_trained_weights_are_named(tmp_path):
    assert facts(staged(tmp_path / "run", 9, step=1200)).changed == "weights (trained here for 1,200 steps)"


def test_a_part_of_the_items_is_found_by_modality_source_and_condition():
    kinds = ("OCT", "oimhs", ""), ("CFP", "refuge", "drusen"), ("CFP", "idrid", "")
    items = [Item(str(i), "answered", "a", "a", modality=m, source=s, variant=v) for i, (m, s, v) in enumerate(kinds)]
    for part, ids in (("all", "012"), ("modality=CFP", "12"), ("source=refuge", "1"), ("condition=drusen", "1")):
        assert "".join(i.id for i in items_of_part(items, part)) == ids


def test_the_score_of_a_part_is_all_only_if_the_part_is_everything(tmp_path):
    both = results(run(tmp_path / "both", 0.8, modalities=("CFP", "OCT")))
    one = results(run(tmp_path / "one", 0.8, modalities=("CFP",)))
    of = replace(HOW, task="anatomy", metric="f1_lmod_plus", subset="modality=CFP", asked="modality=CFP")
    for read, subset in ((both, "modality=CFP"), (one, "all")):
        (items,) = (o.items["anatomy"] for o in read.outcomes.values())
        n = len(items_of_part(items, of.asked))
        found = find_score(read.runs[0], of, n, len(items))
        assert isinstance(found, Score) and found.subset == subset
        assert find_score(read.runs[0], replace(of, subset="modality=SLO", asked="modality=SLO"), 0, len(items)) is None
        assert find_score(read.runs[0], replace(of, metric="nothing"), n, len(items)) is None
        assert find_score(read.runs[0], replace(of, subset="stage=2", asked="all"), n, len(items)) is None


def test_a_manifest_that_is_no_mapping_is_as_none(tmp_path: Path):
    (tmp_path / "manifest.json").write_text("[]")
    assert facts(staged(tmp_path / "run", 19, curated=tmp_path)).balanced is None


def test_points_are_compared_as_fractions():
    how = replace(HOW, task="chain", metric="uas")
    scores = (Score("chain", "all", "uas", 6, 74.32, -5.0, None), Score("chain", "all", "ccr", 6, 0.5, 0.25, 0.75))
    run_scores = RunScores(Path("run"), "run", "model", scores)
    assert find_score(run_scores, how, 6, 6) == Score("chain", "all", "uas", 6, 0.7432, -0.05, None)
    assert find_score(run_scores, replace(how, metric="ccr"), 6, 6).value == 0.5
