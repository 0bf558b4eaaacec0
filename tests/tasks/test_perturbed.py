"""A task's questions about perturbed images: what stays its own, what is paired, and what is scored."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import sha256_of
from lmod_train.core.perturbations import KINDS
from lmod_train.core.types import Box, Need, Region, Reply, Sample
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.discovery import source_classes
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.perturbed import Perturbed
from lmod_train.tasks.probe import Probe
from tests.contracts import TaskContract, record_from
from tests.data.curation.world import Discs, Regions, tree
from tests.extensions.xpcr.samples import cupped, scan
from tests.extensions.xpcr.test_chain import ADDED, DEFECTS, STAGES_OF, files, is_right
from tests.tabled import tabled
from tests.tasks.conftest import DRAWN

SAMPLE = Sample("refuge", "train/a", "CFP", Path("a.jpg"), "p1", "open", labels={"glaucoma": "yes"})
HEALTHY = replace(SAMPLE, key="train/b", group="p2", labels={"glaucoma": "no"})
MARKED = replace(SAMPLE, regions=(Region("optic disc", Box(1, 2, 30, 40), 1), Region("optic cup", Box(5, 6, 9, 9), 2)))


class TestContract(TaskContract):
    task = Perturbed(Glaucoma(), ["blur", "jpeg"], [1, 5])
    asked_of = (SAMPLE, HEALTHY)
    not_asked_of = (replace(SAMPLE, labels={}),)
    perfect = ("accuracy_strict",)

    @staticmethod
    def truth_of(sample, question):
        return sample.labels


class TestContractOfSeveralQuestions(TestContract):
    task = Perturbed(Conditions(["drusen", "scar"]), ["crop"], [2])
    asked_of = tuple(replace(SAMPLE, labels={"drusen": said, "scar": said}) for said in ("yes", "no"))

    @staticmethod
    def truth_of(sample, question):
        return sample.labels, question.variant.partition("-")[0]


def test_every_kind_and_grade_is_asked_in_the_words_of_the_task() -> None:
    (asked,) = Glaucoma().ask(SAMPLE)
    questions = list(Perturbed(Glaucoma()).ask(SAMPLE))
    names = ["", *(f"{kind}-{grade}" for kind in KINDS for grade in range(1, 6))]
    assert [q.perturbation for q in questions] == [q.variant for q in questions] == names
    assert {(q.messages, q.answer, q.choices) for q in questions} == {(asked.messages, asked.answer, asked.choices)}
    assert {(q.task, q.stratum) for q in questions} == {("glaucoma_perturbed", "")}
    assert [tuple(q.tags.values()) for q in questions[:2]] == [("none", "0"), ("blur", "1")]


def test_boxes_stay_drawn_and_variants_keep_their_name() -> None:
    clean, blurred = Perturbed(Anatomy(), ["blur"], [3]).ask(MARKED)
    assert clean.marked and blurred.marked and blurred.regions == MARKED.regions
    task = Perturbed(Conditions(), ["blur"], [3])
    questions = list(task.ask(replace(SAMPLE, labels={"drusen": "yes"})))
    assert [q.variant for q in questions] == ["drusen", "drusen-blur-3"]


def test_chains_stay_within_one_perturbation() -> None:
    class Steps(Glaucoma):
        def ask(self, sample):
            for one in super().ask(sample):
                yield replace(one, chain="eye", chain_step="1")
                yield replace(one, chain="eye", chain_step="2", needs=(Need("1"), Need("a", "other", "x")))

    questions = list(Perturbed(Steps(), ["crop"], [1]).ask(SAMPLE))
    assert [(q.chain, q.chain_step) for q in questions] == [
        ("eye", "1"), ("eye-crop-1", "1"), ("eye", "2"), ("eye-crop-1", "2"),
    ]  # fmt: skip
    assert questions[2].needs == (Need("1"), Need("a", "other", "x"))
    assert questions[3].needs == (Need("1", "", "crop-1"), Need("a", "other", "x"))


@tabled("kinds", [[], ["blur", "blur"], ["haze"]])
def test_kinds_that_are_none_are_named(kinds) -> None:
    with pytest.raises(BadArgument, match="kinds="):
        Perturbed(Glaucoma(), kinds)


@tabled("grades", [[], [1, 1], [0], [6]])
def test_grades_that_are_none_are_named(grades) -> None:
    with pytest.raises(BadArgument, match="grades="):
        Perturbed(Glaucoma(), ["blur"], grades)


def test_questions_about_quality_and_about_other_images_are_refused() -> None:
    class Quality(Glaucoma):
        def ask(self, sample):
            yield from (replace(question, perturbation="blur-2") for question in super().ask(sample))

    for task in (Quality(), Probe(Glaucoma(), ["none"]), Perturbed(Chain(), ["blur"], [1])):
        with pytest.raises(BadArgument, match="unchanged image"):
            list(Perturbed(task).ask(replace(cupped(0.6), labels={"glaucoma": "yes"})))


def predictions_of(task, wrong):
    """Of ten eyes; `wrong` maps a perturbation to the number of eyes with a wrong answer."""
    samples = [replace(SAMPLE if i % 2 else HEALTHY, key=f"train/{i}", group=str(i)) for i in range(10)]
    replies = []
    for number, sample in enumerate(samples):
        for question in task.ask(sample):
            other = next(choice for choice in question.choices if choice != question.answer)
            replies.append(other if number < wrong.get(question.perturbation, 0) else question.answer)
    return TaskContract.predictions_of(task, samples, replies)


def test_scores_of_each_grade_and_drops_from_the_unchanged_image() -> None:
    task = Perturbed(Glaucoma(), ["blur", "crop"], [1, 4])
    found = task.score(predictions_of(task, {"": 1, "blur-4": 6, "crop-1": 1, "crop-4": 0}))
    scores = {(s.subset, s.metric): s for s in found}
    assert len(scores) == len(found) and {s.task for s in found} == {"glaucoma_perturbed"}

    def at(kind, grade, metric="accuracy_strict"):
        score = scores[f"perturbation={kind};grade={grade}", metric]
        return score.n, round(score.value, 3)

    assert at("none", 0) == (10, 0.9) and at("blur", 1) == (10, 1.0) and at("blur", 4) == (10, 0.4)
    assert at("blur", 4, "drop") == (10, 0.5) and at("blur", 1, "drop") == (10, -0.1)
    assert at("crop", 1, "drop") == (10, 0.0) and at("crop", 4, "drop") == (10, -0.1)
    assert ("perturbation=none;grade=0", "drop") not in scores
    assert (
        scores["all", "accuracy_strict"].value == pytest.approx(1 - 8 / 50) and scores["all", "accuracy_strict"].n == 50
    )
    assert scores["grade=4", "accuracy_strict"].value == pytest.approx(1 - 6 / 20)
    interval = scores["perturbation=blur;grade=4", "accuracy_strict"]
    assert interval.low < 0.4 < interval.high
    own = {s.metric: s for s in Glaucoma().score([p for p in predictions_of(task, {"": 1}) if not p.record.variant])}
    assert own["accuracy_strict"].low == scores["perturbation=none;grade=0", "accuracy_strict"].low


def test_scores_by_condition_are_those_of_the_task() -> None:
    task = Perturbed(Conditions(["drusen", "scar"]), ["crop"], [2])
    samples = [replace(SAMPLE, key=str(i), group=str(i), labels={"drusen": "yes", "scar": "no"}) for i in range(3)]
    predictions = TaskContract.predictions_of(task, samples, ["DRUSEN TRUE"] * 12)
    subsets = {s.subset for s in task.score(predictions)}
    assert {"condition=drusen", "condition=scar", "perturbation=crop;grade=2"} <= subsets
    assert not {s for s in subsets if s.startswith("condition=drusen-")}


def test_images_without_a_group_are_clusters_of_their_own_grades() -> None:
    task = Perturbed(Glaucoma(), ["blur"], [4])
    some = predictions_of(task, {"": 2, "blur-4": 5})
    bare = [replace(p, record=replace(p.record, group="", image_sha256=(p.record.id,))) for p in some]
    assert [replace(s, task="") for s in task.score(bare)] == [replace(s, task="") for s in task.score(some)]


def test_a_record_without_the_tags_is_an_error() -> None:
    task = Perturbed(Glaucoma(), ["blur"], [4])
    (first, *_) = predictions_of(task, {})
    with pytest.raises(BadArgument, match="curate the task again"):
        task.score([replace(first, record=replace(first.record, tags={}))])


def test_a_run_builds_the_task_with_its_arguments() -> None:
    inner = {"class_path": "lmod_train.tasks.glaucoma.Glaucoma", "init_args": {"image_type": "a photograph"}}
    path = "lmod_train.tasks.perturbed.Perturbed"
    config = {"data": {"tasks": [{"class_path": path, "init_args": {"of": inner, "kinds": ["jpeg"], "grades": [2]}}]}}
    question = next(Perturbed(Glaucoma(), ["jpeg"], [2]).ask(SAMPLE))
    record = record_from(question, SAMPLE, Perturbed(Glaucoma()))
    (task,) = tasks_asked([record], task_arguments(config))
    assert isinstance(task, Perturbed)
    assert (task.of.image_type, task.kinds, task.grades) == ("a photograph", ["jpeg"], [2])
    assert task.parse(Reply(record.id, "GLAUCOMA"), record) == "GLAUCOMA"


def test_curated_records_show_the_perturbed_images_with_their_boxes(tmp_path) -> None:
    source = Discs.write(tmp_path / "raw", 6)
    task = Perturbed(Regions(), ["blur", "crop"], [4, 5])
    curate([source], [task], tmp_path / "out", longest_side=100, workers=1, progress=False)
    records = read_records(tmp_path / "out" / "records")
    assert len(records) == 6 * 5 and len({r.image_sha256 for r in records}) == 30
    for record in records:
        name = record.variant and f".{record.variant}"
        assert record.image == (f"images/discs/{record.key}{name}.marked.jpg",)
        assert record.image_sha256 == (sha256_of(tmp_path / "out" / record.image[0]),)
        assert record.tags["perturbation"] == (record.variant.partition("-")[0] or "none")
    assert len(tree(tmp_path / "out" / "images")) == 60


def test_the_quality_is_not_asked_of_a_chain_whose_other_stages_are_asked_in_every_grade() -> None:
    flagged = scan(quality="blurred")
    task = Perturbed(Chain(), ["blur"], [2])
    asked = defaultdict(list)
    for question in task.ask(flagged):
        asked[question.perturbation].append(question)
        variant = question.perturbation
        assert {need.variant for need in question.needs} <= {variant} and question.variant == variant
    steps = ["AL", "LC", "DD", "SG", "CD"]
    assert {name: [q.chain_step for q in own] for name, own in asked.items()} == {"": steps, "blur-2": steps}
    assert [n.chain_step for n in asked["blur-2"][-1].needs] == steps[:-1]


def test_a_chain_whose_image_has_an_added_defect_is_asked_of_the_image_without_it() -> None:
    (plain,), (added,) = ({q.perturbation for q in Chain(perturbed=p).ask(cupped(0.6))} for p in (0, 1))
    assert added and not plain
    task = Perturbed(Chain(perturbed=1), ["crop"], [4])
    assert {(q.perturbation, q.tags["perturbation"]) for q in task.ask(cupped(0.6))} == {
        ("", "none"),
        ("crop-4", "crop"),
    }
    assert list(task.ask(cupped(0.6))) == list(Perturbed(Chain(perturbed=0), ["crop"], [4]).ask(cupped(0.6)))


@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.slow), 0.5])
def test_no_truth_of_any_source_is_made_false_by_a_perturbation(tmp_path, drawn, truths, share) -> None:
    """Each answer is true of the drawn eye whatever is done to its picture, and no question is about the picture."""
    of = Chain(perturbed=share)
    task = Perturbed(of, ["blur", "crop"], [4])
    roots = {name: drawn / name for name in DRAWN} | {"xpcr": drawn / "xpcr" / "X-PCR"}
    options = {name: {"lesions": True} if name == "idrid" else {} for name in roots}
    sources = [source_classes()[name](root, **options[name]) for name, root in roots.items()]
    curate(sources, [task], tmp_path / "out", longest_side=48, workers=1, progress=False)
    records = read_records(tmp_path / "out" / "records")
    sizes = {(row["source"], row["key"]): (int(row["width"]), int(row["height"])) for row in files(tmp_path / "out")}
    asked = defaultdict(set)
    for record in records:
        asked[record.source, record.tags["perturbation"]].add(record.chain_step)
        about_it = [option for option in record.choices if any(w in option for w in (*DEFECTS, *ADDED))]
        assert not about_it and "quality" not in record.messages[0].parts[1].text, record.id
        if record.source in DRAWN:
            place = record.source, record.key
            right = [o for o in record.choices if is_right(o, truths[place], record, sizes[place])]
            assert right == [of.parse(Reply(record.id, record.answer), record)], record.id
    steps = {name: STAGES_OF.get(name, "IQA AL LC DD SG CD").split()[1:] for name in roots}
    kinds = ("none", "blur", "crop")
    assert asked == {(name, kind): set(own) for name, own in steps.items() for kind in kinds}
    left_out = read_manifest(tmp_path / "out")["accounts"]["chain_perturbed/en"]["left_out_as_about_quality"]
    assert left_out["brset"] == DRAWN["brset"] and ("refuge" in left_out) == (share > 0)


def test_old_questions_about_the_quality_of_a_perturbed_image_do_not_count() -> None:
    task = Perturbed(Chain(perturbed=0), ["blur"], [4])
    samples = [scan(key=f"k{i}", quality="blurred") for i in range(6)]
    replies = [question.answer for one in samples for question in task.ask(one)]
    now = TaskContract.predictions_of(task, samples, replies)
    old = [
        replace(p, answer="wrong", record=replace(p.record, id=f"{p.record.id}/q", chain_step="IQA")) for p in now[:9]
    ]
    assert task.score([*now, *old]) == task.score(now) != []
