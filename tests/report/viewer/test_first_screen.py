"""What a reader sees first: the models, six examples that are what they say, and one message for an unknown address."""

import re
from dataclasses import replace
from typing import get_args
from urllib.parse import parse_qs

import pytest
import yaml

from lmod_train.cli.after_run import scored
from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.types import Reason, Reply, Unparsed
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.viewer.first_screen import EACH, first_screen
from lmod_train.report.viewer.outcome_text import answer_text, outcome_of
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.own import Own
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from tests.report.make import curate, run, written
from tests.scoring.make import record


def test_patients_that_no_source_states_are_not_counted(tmp_path):
    curated = curate(tmp_path / "curated")
    model = run(tmp_path / "run", 0.5, curated=curated)
    manifest = {"schema_version": 4, "sources": {"phantoms": {"licence": "CC0", "states_patients": False}}}
    write_json(curated / "manifest.json", manifest)
    assert first_screen(read_results([model])).title == "1 model, 72 questions, 24 images, 0 stated patients"


def test_the_examples_are_wrong_and_right_answers_of_the_task_and_lead_to_them(three):
    results = read_results(three[0])
    screen = first_screen(results)
    assert screen.title == "3 models, 72 questions, 24 images, 12 patients"
    outcomes = [one.outcome == "right" for one in screen.examples]
    assert outcomes == [False] * EACH + [True] * EACH
    assert len({one.truth for one in screen.examples[EACH:]}) == EACH  # not three of one class
    for one in screen.examples:
        assert one.image.startswith("data:image/jpeg;base64,")
        place = parse_qs(one.address.removeprefix("#"))
        model, id = place["item"][0].split("\n")
        item = next(i for i in results.items[model][place["task"][0]] if i.id == id)
        assert (one.outcome, one.truth) == (outcome_of(item), answer_text(item.truth)) and one.model == model


def test_without_images_there_are_no_examples_and_the_rest_stands(three):
    results = read_results(three[0])
    screen = first_screen(replace(results, images=dict.fromkeys(results.names)))
    assert screen.examples == () and screen.findings and len(screen.lines) == 3


def test_a_model_without_errors_shows_those_of_the_next(tmp_path):
    folder = curate(tmp_path / "curated", redistributable=True)
    made = [run(tmp_path / name, skill, seed=1, curated=folder) for name, skill in (("all", 1.0), ("some", 0.5))]
    screen = first_screen(read_results(made))
    assert {one.model for one in screen.examples if one.outcome != "right"} == {"base (some)"}
    assert {one.model for one in screen.examples if one.outcome == "right"} == {"base (all)"}


def test_a_long_table_is_in_the_page_in_full_and_a_few_rows_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.report.writers.html.MOST_ROWS", 5)
    made = run(tmp_path / "run", 0.9, n=8)
    page = write_report([made], tmp_path / "out", sections=[Metrics()]).read_text()
    table = page.partition('id="chapter-metrics"')[2]
    shown, _, rest = table.partition("<template>")
    rows = (tmp_path / "out" / "tables" / "metrics-four_way.csv").read_text().count("\n") - 1
    assert rows > 5 and shown.count("<tr") - 1 == 5
    assert rest.partition("</template>")[0].count("<tr") == rows - 5
    assert f"5 of {rows} rows are shown; <code>tables/metrics-four_way.csv</code> has all." in rest


@pytest.mark.parametrize(
    ("groups", "right", "why"),
    [
        (("p1",) * 6, 3, "its 6 questions are of 1 patient, and 3 are needed"),
        (("p1", "p2") * 3, 3, "its 6 questions are of 2 patients, and 3 are needed"),
        (("p1", "p2", "p3") * 2, 3, "all patients have the same score"),
    ],
)
def test_why_there_is_no_interval_is_said(tmp_path, groups, right, why):
    asked = [replace(record(str(i), "GLAUCOMA", task="glaucoma", choices=("GLAUCOMA", "NON-GLAUCOMA"), group=g),
                     task_class="lmod_train.tasks.glaucoma.Glaucoma", task_version=Glaucoma.version)
             for i, g in enumerate(groups)]  # fmt: skip
    replies = {r.id: Reply(r.id, "GLAUCOMA" if i < right else "NON-GLAUCOMA") for i, r in enumerate(asked)}
    predictions = parse_replies(Glaucoma(), asked, replies)
    written(tmp_path / "run", "run", "m", asked, predictions, scores_of([Glaucoma()], predictions))
    (finding,) = first_screen(read_results([tmp_path / "run"])).findings
    assert f"There is no interval, as {why}." in finding.cautions


def test_what_replies_took_has_columns_where_it_is_known(three):
    results = read_results(three[0])
    assert first_screen(results).spent == {}
    first, second, third = results.outcomes.items()
    priced = {"model": {"init_args": {"backend": {"init_args": {"budget": {"price_in": 2.0, "price_out": 10}}}}}}

    def timed(found, **took):
        own = tuple(replace(p, reply=replace(p.reply, **took)) for p in found.predictions)
        return replace(found, predictions=own, config=found.config | priced)

    paid = timed(second[1], seconds=0.5, tokens_in=1000, tokens_out=100)
    bare = replace(timed(third[1], tokens_in=10), config={"model": {"backend": "text"}})
    spent = first_screen(replace(results, outcomes=dict([first, (second[0], paid), (third[0], bare)]))).spent
    values = {name: list(own.values()) for name, (own, _) in spent.items()}
    assert values["seconds a reply"] == [None, 0.5, None] and values["tokens in a reply"] == [None, 1000, 10]
    assert values["tokens out a reply"] == [None, 100, None]
    assert values["cost of all replies"] == [None, pytest.approx(72 * (2000 + 1000) / 1e6), None]


def asked_of(folder, own):
    """A run that is asked questions of the user's own, half of them answered."""
    config, asked, found = [], [], []
    for name, words in own.items():
        arguments, options = {"name": name, "words": words, "kind": "yes_no"}, ("yes", "no")
        config.append({"class_path": "lmod_train.tasks.own.Own", "init_args": arguments})
        kind = {"task_class": config[-1]["class_path"], "task_version": Own.version}
        plain = [record(str(i), "Answer: yes", task=name, choices=options, group=f"p{i}") for i in range(6)]
        mine = [replace(one, **kind) for one in plain]
        replies = {r.id: Reply(r.id, "Answer: yes" if i % 2 else "yes or no") for i, r in enumerate(mine)}
        asked, found = asked + mine, found + list(parse_replies(Own(**arguments), mine, replies))
    tasks = [Own(**one["init_args"]) for one in config]
    written(folder, folder.name, "m", asked, found, scores_of(tasks, found))
    (folder / "config.yaml").write_text(yaml.safe_dump({"data": {"tasks": config}}))
    return folder


def test_a_question_of_ones_own_is_named_by_its_words_and_stands_above_its_score(tmp_path):
    own = {"q_47b4d0": "眼压偏高吗?", "rim": "Is the rim thin?", "q_2": "<b>Is it red?"}
    made = asked_of(tmp_path / "run", own)
    screen = first_screen(read_results([made]))
    assert {one.task: one.claim.partition(":")[0] for one in screen.findings} == {
        "q_47b4d0": "眼压偏高吗", "rim": "Rim", "q_2": "Q 2"
    }  # fmt: skip
    assert {head["task"]: head["question"] for head in screen.heads} == own
    said = scored(made)
    assert "眼压偏高吗: m answers" in said and "Rim: m answers" in said, "as the end of `validate` prints it"
    page = write_report([made], tmp_path / "out", sections=[Metrics()]).read_text()
    links = dict(re.findall(r'data-view="task" data-task="(.*?)">(.*?)</a>', page))
    assert links == {"q_47b4d0": "眼压偏高吗", "rim": "Rim", "q_2": "Q 2"}
    above = re.findall(r'<p class="question" data-task="(.*?)" dir="auto">(.*?)</p>', page)
    assert above == [("rim", "Is the rim thin?"), ("q_2", "&lt;b&gt;Is it red?")], "the first one is its own name"
    board = page.partition('id="leaderboard"')[2].partition("</thead>")[0]
    assert all(words in board for _, words in above) and board.count("眼压偏高吗") == 1
    assert "more than one answer" in (tmp_path / "out" / "pages" / "000001.html").read_text()


def test_every_reason_why_there_is_no_answer_has_words():
    said = {reason: answer_text(Unparsed(reason)) for reason in get_args(Reason)}
    assert len(set(said.values())) == len(said) == 9 and not any("_" in text for text in said.values())
    assert answer_text(Unparsed("no_match", "x")) == "none (no answer was found: x)"
