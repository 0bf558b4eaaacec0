"""A task's questions about changed images: which are asked, what stays its own, and what is shown and true."""

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region, Sample
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import source_classes
from lmod_train.extensions.looking.scores import SHOWN, findings
from lmod_train.extensions.looking.task import Grounding
from lmod_train.phantom.folders import refuge
from lmod_train.scoring.items import items_of
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.own import Own
from lmod_train.tasks.perturbed import Perturbed
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.staging import Staging
from lmod_train.tasks.variants import Variants
from tests.contracts import TaskContract

SAMPLE = Sample("refuge", "train/a", "CFP", Path("a.jpg"), "p1", "open", labels={"glaucoma": "yes"})
HEALTHY = replace(SAMPLE, key="train/b", group="p2", labels={"glaucoma": "no"})
TASK = Grounding(Glaucoma(), ["mean"])
N, SIZE = 12, 128

BESIDE = ("", "as_is", "as_is_again", "same_answer", "other_answer", "blank")


class TestContract(TaskContract):
    task = TASK
    asked_of = (SAMPLE, HEALTHY)
    not_asked_of = (replace(SAMPLE, labels={}),)
    perfect = ("accuracy_strict",)

    @staticmethod
    def truth_of(sample, question):
        return sample.labels


class TestContractOfSeveralQuestions(TestContract):
    task = Grounding(Conditions(["drusen", "scar"]))
    asked_of = tuple(replace(SAMPLE, labels={"drusen": said, "scar": said}) for said in ("yes", "no"))

    @staticmethod
    def truth_of(sample, question):
        return sample.labels, question.variant.partition("-")[0]


def variants(task, sample=SAMPLE):
    return [q.variant for q in task.ask(sample)]


def test_every_variant_is_asked_in_the_words_of_the_task():
    (own,) = Glaucoma().ask(SAMPLE)
    asked = {q.variant: q for q in TASK.ask(SAMPLE)}
    removals = ("evidence_removed.mean", "elsewhere_removed.mean")
    assert set(asked) == {*BESIDE[1:], *removals}
    assert {(q.messages, q.answer, q.choices, q.stratum) for q in asked.values()} == {
        (own.messages, own.answer, own.choices, "")
    }
    assert [asked[name].perturbation for name in removals] == [
        "evidence-mean-optic_disc+optic_cup",
        "elsewhere-mean-optic_disc+optic_cup",
    ]
    assert {asked[name].shows for name in ("as_is", "as_is_again", *removals)} == {"own"}


def test_the_evidence_is_that_of_the_task_or_as_named():
    question = Own("sharp", "Is it sharp?", "yes_no")
    sample = replace(SAMPLE, labels={"table/sharp": "yes", "macular_hole_stage": "2", "drusen": "yes"})
    removed = {q.perturbation for q in Grounding(question).ask(sample)} - {""}
    assert removed == {"evidence-biharmonic-annotated", "elsewhere-biharmonic-annotated"}
    holes = {q.perturbation for q in Grounding(Staging()).ask(sample)} - {""}
    assert holes == {"evidence-biharmonic-macular_hole", "elsewhere-biharmonic-macular_hole"}
    for task in (Grounding(Conditions(["drusen"])), Grounding(question, evidence=[])):
        assert {q.perturbation for q in task.ask(sample)} == {""}, "no mask of drusen beside labels; none is wanted"
    named = Grounding(Conditions(["drusen"]), ["blur"], ["macula"])
    assert "evidence-blur-macula" in {q.perturbation for q in named.ask(sample)}


def test_only_phantoms_are_drawn_again_with_the_other_answer():
    assert "counterfactual" not in variants(TASK)
    (again,) = [q for q in TASK.ask(replace(SAMPLE, phantom=True)) if q.variant == "counterfactual"]
    assert (again.answer, again.perturbation) == ("NON-GLAUCOMA", "counterfactual")
    other = replace(SAMPLE, phantom=True, labels={"drusen": "yes", "glaucoma": "yes"})
    assert "drusen-counterfactual" not in variants(Grounding(Conditions(["drusen"])), other)


def test_boxes_probes_and_unknown_fills_are_refused():
    boxed = replace(
        SAMPLE, regions=(Region("optic disc", Box(1, 2, 30, 40), 1), Region("optic cup", Box(5, 6, 9, 9), 2))
    )
    for task in (Anatomy(), Probe(Glaucoma()), Perturbed(Glaucoma(), ["blur"], [1])):
        with pytest.raises(BadArgument, match="of"):
            list(Grounding(task).ask(boxed))
    for evidence in (["disc"], ["optic disc", "annotated"], ["Optic disc"]):
        with pytest.raises(BadArgument, match="evidence"):
            Grounding(Glaucoma(), evidence=evidence)
    assert Grounding(Glaucoma(), evidence=[]).evidence == []
    with pytest.raises(BadArgument, match="fills"):
        Grounding(Glaucoma(), ["paint"])


def test_other_tasks_of_variants_keep_their_needs_and_names():
    assert issubclass(Perturbed, Variants) and issubclass(Grounding, Variants)
    assert [t.name for t in (TASK, Perturbed(Glaucoma()))] == ["glaucoma_grounding", "glaucoma_perturbed"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    out = tmp_path_factory.mktemp("grounding")
    refuge.write(out / "raw", N, 2, size=SIZE, workers=0)
    refuge.write_counterfactuals(out / "raw", N, 2, size=SIZE, workers=0)
    mask = sorted((out / "raw").rglob("g0001.bmp"))[0]
    mask.unlink()
    source = source_classes()["refuge"]().at(out / "raw" / "REFUGE")
    curate([source], [TASK], out / "look", ratios=(0, 0, 1), workers=1, progress=False)
    return out / "look", read_records(out / "look" / "records")


def by_image(records):
    found = defaultdict(dict)
    for record in records:
        found[record.key][record.variant] = record
    return found


def test_curation_makes_a_record_of_each_variant(world):
    _, records = world
    found = by_image(records)
    counted = Counter(frozenset(own) for own in found.values())
    whole = {"evidence_removed.mean", "elsewhere_removed.mean", "counterfactual", *BESIDE[1:]}
    assert set(found) == {key for key, _ in refuge.truth(N, 2)}
    assert max(counted, key=counted.get) == whole
    assert {v.partition(".")[0] for v in whole} == set(SHOWN)
    assert all(set(own) >= set(BESIDE[1:]) for own in found.values())


def test_an_image_without_its_mask_is_listed_and_still_asked_about(world):
    out, records = world
    lines = [line for line in (out / "dropped.csv").read_text().splitlines() if "grounding" in line]
    assert sum("train/g0001" in line and "evidence_not_annotated" in line for line in lines) == 1
    left = {key for key, own in by_image(records).items() if "evidence_removed.mean" not in own}
    assert left == {line.split(",")[1] for line in lines} >= {"train/g0001"}


def test_swapped_images_are_other_patients_and_the_truth_is_theirs(world):
    _, records = world
    truths = {f"images/refuge/{r.key}.jpg": r.answer for r in records if r.variant == "as_is"}
    for record in records:
        if record.variant in ("same_answer", "other_answer"):
            (image,) = record.image
            own = truths[f"images/refuge/{record.key}.jpg"]
            assert image != f"images/refuge/{record.key}.jpg" and record.answer == truths[image]
            assert (record.answer == own) == (record.variant == "same_answer")


def test_only_the_asked_fact_of_a_phantom_is_changed(world):
    """Off the disc the redrawn image is the same but for its coding; in the cup it is not."""
    out, records = world
    eyes, images = dict(refuge.truth(N, 2)), Curated(out)
    for key, own in by_image(records).items():
        again = own["counterfactual"]
        assert again.answer != own["as_is"].answer
        before, after = (np.asarray(images.rgb(own[v].image[0]), dtype=int) for v in ("as_is", "counterfactual"))
        rows, columns = np.indices(before.shape[:2]) / SIZE
        (x, y), wide = eyes[key].disc, max(eyes[key].disc_radii)
        off = np.hypot(columns - x, rows - y) > 1.3 * wide
        difference = np.abs(before - after).max(axis=2)
        assert difference[off].max() < 25 and difference[~off].max() > 25


def test_blank_is_the_mean_of_the_images(world):
    out, records = world
    images = Curated(out)
    (path,) = {image for r in records if r.variant == "blank" for image in r.image}
    mean = np.mean(
        [np.asarray(images.rgb(f"images/refuge/{key}.jpg"), dtype=float) for key in by_image(records)], axis=0
    )
    assert np.abs(np.asarray(images.rgb(path), dtype=float) - mean).mean() < 1.5


def test_the_score_is_over_the_images_as_they_are(world):
    _, records = world
    replies = [r.answer for r in records]
    samples = TestContract.asked_of
    predictions = TaskContract.predictions_of(TASK, samples, [q.answer for s in samples for q in TASK.ask(s)])
    scores = {(s.subset, s.metric): s for s in TASK.score(predictions)}
    assert scores["all", "accuracy_strict"].n == 2 and scores["all", "accuracy_strict"].task == TASK.name
    assert scores["shown=blank;truth=GLAUCOMA", "change"].n == 1 and len(replies) == len(records)
    assert TASK.score([]) == []
    found = findings(TASK.name, items_of(predictions, TASK.truth))
    assert [f.truth for f in found] == ["GLAUCOMA", "NON-GLAUCOMA"]


def test_the_same_again_is_the_same_folder(world, tmp_path):
    out, records = world
    source = source_classes()["refuge"]().at(out.parent / "raw" / "REFUGE")
    curate([source], [TASK], tmp_path / "again", ratios=(0, 0, 1), workers=1, progress=False)
    assert read_records(tmp_path / "again" / "records") == records
    assert read_manifest(out)["counts"][TASK.name]["test"]["records"] == len(records)
