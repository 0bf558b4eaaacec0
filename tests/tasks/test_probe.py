"""Probes: a task's own words without its image, who may be probed, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Need, Patient, Question, Region, Reply, Sample
from lmod_train.data.curation.manifest_files import task_settings
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.scoring.probing import question_and_kind
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.prompt import prompt
from tests.contracts import TaskContract, record_from
from tests.tabled import tabled

SAMPLE = Sample("refuge", "train/a", "CFP", Path("a.jpg"), "p1", "open", labels={"glaucoma": "yes"})
HEALTHY = replace(SAMPLE, key="train/b", group="p2", labels={"glaucoma": "no"})
MARKED = replace(SAMPLE, regions=(Region("optic disc", Box(1, 2, 30, 40), 1), Region("optic cup", Box(5, 6, 9, 9), 2)))


class TestContract(TaskContract):
    task = Probe(Glaucoma())
    asked_of = (SAMPLE, HEALTHY)
    not_asked_of = (replace(SAMPLE, labels={}),)
    perfect = ("share_answered",)

    @staticmethod
    def truth_of(sample, question):
        return sample.labels


class TestContractOfSeveralQuestions(TestContract):
    task = Probe(Conditions(["drusen", "scar"]), ["none", "another"])
    asked_of = tuple(replace(SAMPLE, labels={"drusen": said, "scar": said}) for said in ("yes", "no"))

    @staticmethod
    def truth_of(sample, question):
        return sample.labels, question.variant.rpartition("-")[0]


def test_the_words_are_the_tasks_own() -> None:
    (asked,) = Glaucoma().ask(SAMPLE)
    none, another, foreign = Probe(Glaucoma()).ask(SAMPLE)
    assert [q.shows for q in (none, another, foreign)] == ["none", "another", "foreign"]
    assert another.messages == foreign.messages == asked.messages
    assert none.messages[0].parts == asked.messages[0].parts[1:]
    assert {q.answer for q in (none, another, foreign)} == {asked.answer}
    assert {(q.task, q.stratum) for q in (none, another, foreign)} == {("glaucoma_probe", "")}


def test_variants_name_question_and_kind() -> None:
    sample = replace(SAMPLE, labels={"drusen": "yes"})
    assert [q.variant for q in Probe(Conditions(), ["foreign", "none"]).ask(sample)] == [
        "drusen-foreign",
        "drusen-none",
    ]
    assert [q.variant for q in Probe(Glaucoma(), ["foreign"]).ask(SAMPLE)] == ["foreign"]


def test_drawn_boxes_are_probed_with_nothing_drawn_and_never_on_another_image() -> None:
    for question in Probe(Anatomy(), ["none", "foreign"]).ask(MARKED):
        assert (question.marked, question.regions) == (False, ())
        assert question.answer == "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup"
        record = record_from(question, MARKED, Probe(Anatomy()))
        assert Probe(Anatomy()).parse(Reply("a", question.answer), record) == {1: "optic disc", 2: "optic cup"}
    with pytest.raises(BadArgument, match=r"anatomy asks about drawn boxes.*\n.*\[none, foreign\]"):
        list(Probe(Anatomy()).ask(MARKED))


@tabled("kinds", [[], ["none", "none"], ["noise"]])
def test_kinds_that_are_none_are_named(kinds) -> None:
    with pytest.raises(BadArgument, match="kinds="):
        Probe(Glaucoma(), kinds)


def test_scores_of_each_kind() -> None:
    task = Probe(Glaucoma())
    replies = [
        *("I cannot see an image.", "GLAUCOMA", "GLAUCOMA"),  # of the eye with glaucoma: none, another, foreign
        *("GLAUCOMA", "NON-GLAUCOMA", "This is not a fundus image."),  # of the healthy one
    ]
    predictions = TaskContract.predictions_of(task, [SAMPLE, HEALTHY], replies)
    scores = {(s.subset, s.metric): (s.value, s.n) for s in task.score(predictions)}
    assert scores["kind=none", "share_refused"] == scores["kind=foreign", "share_refused"] == (0.5, 2)
    assert scores["kind=another", "share_refused"] == (0.0, 2)
    assert scores["kind=none", "accuracy_own_image"] == (0.0, 2)
    assert scores["kind=another", "accuracy_own_image"] == (1.0, 2)
    assert ("kind=foreign", "accuracy_own_image") not in scores
    assert scores["kind=none", "share_most_frequent"] == (1.0, 1)
    assert scores["all", "share_most_frequent"] == (0.75, 4)
    assert scores["all", "share_refused"][0] == pytest.approx(1 / 3)
    assert scores["all", "chance"] == (0.5, 6)
    assert next(s.metric for s in task.score(predictions)) == "share_refused"


def test_regions_are_one_answer() -> None:
    task = Probe(Anatomy(), ["none"])
    samples = [replace(MARKED, key=key, group=key) for key in "ab"]
    said = "Region ID: 2; Type: optic cup\nRegion ID: 1; Type: optic disc"
    scores = {s.metric: s.value for s in task.score(TaskContract.predictions_of(task, samples, [said, said]))}
    assert (scores["share_most_frequent"], scores["accuracy_own_image"]) == (1.0, 1.0)


def test_a_run_builds_the_probed_task_with_its_arguments() -> None:
    inner = {"class_path": "lmod_train.tasks.glaucoma.Glaucoma", "init_args": {"image_type": "a photograph"}}
    path = "lmod_train.tasks.probe.Probe"
    config = {"data": {"tasks": [inner, {"class_path": path, "init_args": {"of": inner, "kinds": ["none"]}}]}}
    (question,) = Probe(Glaucoma(), ["none"]).ask(SAMPLE)
    record = record_from(question, SAMPLE, Probe(Glaucoma()))
    (task,) = tasks_asked([record], task_arguments(config))
    assert isinstance(task, Probe)
    assert isinstance(task.of, Glaucoma)
    assert (task.name, task.of.image_type) == ("glaucoma_probe", "a photograph")
    with pytest.raises(BadArgument, match="task='glaucoma_probe'"):
        tasks_asked([record])


def test_the_manifest_tells_what_was_probed() -> None:
    said = [task_settings(Probe(Glaucoma(image_type=words))) for words in ("an eye", "a retina")]
    assert said[0] != said[1]


def test_a_record_that_names_no_kind_is_an_error() -> None:
    predictions = TaskContract.predictions_of(Probe(Glaucoma(), ["none"]), [SAMPLE], ["GLAUCOMA"])
    bad = replace(predictions[0], record=replace(predictions[0].record, variant=""))
    with pytest.raises(BadArgument, match="curate the probe again"):
        Probe(Glaucoma()).score([bad])


def test_answers_are_counted_in_the_classes_that_the_task_scores() -> None:
    task = Probe(AgeGroup(scored_as="merged"), ["none"])
    samples = [replace(SAMPLE, key=str(age), patient=Patient(age=age)) for age in (65, 85)]
    predictions = TaskContract.predictions_of(task, samples, ["Age Group: over 60", "Age Group: Group 6"])
    scores = {s.metric: s.value for s in task.score(predictions) if s.subset == "all"}
    assert (scores["accuracy_own_image"], scores["share_most_frequent"], scores["chance"]) == (1.0, 1.0, 0.25)
    assert task.classes == ("18–40", "40–60", "60+", "invalid")


def chain_questions():
    """Return two questions of a chain about an image."""
    words = "What is it?\nA. drusen\nB. a nevus\nAnswer with the letter of one option."
    first = Question("chain", prompt(words), ("drusen", "a nevus"), "Answer: A", chain="7", chain_step="LC")
    return first, replace(first, chain_step="DD", needs=(Need("LC"),))


def test_a_chain_is_probed_whole_and_each_kind_is_a_chain_of_its_own(tmp_path) -> None:
    sample = replace(SAMPLE, asked=chain_questions())
    asked = list(Probe(Chain(), ["none", "another", "options"]).ask(sample))
    assert {(q.chain, q.variant) for q in asked} == {(f"7-{kind}", kind) for kind in ("none", "another", "options")}
    for one in asked:
        assert one.needs == ((Need("LC", variant=one.variant),) if one.chain_step == "DD" else ())


def test_of_the_words_only_the_options_and_the_form_are_left() -> None:
    (first, _), (asked, *_) = (
        chain_questions(),
        Probe(Chain(), ["options"]).ask(replace(SAMPLE, asked=chain_questions())),
    )
    assert asked.shows == "none" and [p.type for m in asked.messages for p in m.parts] == ["text"]
    assert asked.messages[-1].parts[0].text.startswith("A. drusen\nB. a nevus\n")
    assert (asked.choices, asked.answer) == (first.choices, first.answer)


def test_options_alone_of_a_task_without_them_are_refused() -> None:
    with pytest.raises(BadArgument, match=r"kinds='options'.*lists no lettered options"):
        list(Probe(Glaucoma(), ["options"]).ask(SAMPLE))


def test_a_question_has_a_variant_of_its_own_and_a_kind() -> None:
    sample = replace(SAMPLE, labels={"drusen": "yes"})
    task = Probe(Conditions(), ["foreign", "none"])
    assert [question_and_kind(q.variant) for q in task.ask(sample)] == [("drusen", "foreign"), ("drusen", "none")]
    assert [task.asks_as(q) for q in task.ask(sample)] == [("conditions", "drusen")] * 2


def test_stages_of_a_chain_are_scored_within_each_kind() -> None:
    first, second = chain_questions()
    questions = tuple(replace(q, tags={"stage": q.chain_step, "level": "A"}) for q in (first, second))
    task = Probe(Chain(), ["none", "options"])
    samples = [replace(SAMPLE, key=key, group=key, asked=questions) for key in "ab"]
    replies = [*("A", "A", "B", "B"), *("A", "B", "A", "B")]  # LC none, LC options, DD none, DD options; A is right
    scores = {
        (s.subset, s.metric): (s.value, s.n) for s in task.score(TaskContract.predictions_of(task, samples, replies))
    }
    right = {subset: cell for (subset, metric), cell in scores.items() if metric == "accuracy_own_image"}
    assert right["kind=none;stage=LC"] == (1.0, 2) and right["kind=none;stage=DD"] == (0.5, 2)
    assert right["kind=options;stage=LC"] == (0.5, 2) and right["kind=options;stage=DD"] == (0.0, 2)
    assert right["kind=none;level=A"] == (0.75, 4)
    assert not {subset for subset in right if subset.startswith(("stage=", "level="))}
