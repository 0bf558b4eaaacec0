"""The section that tells whether a model looks, from planted replies."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.artifacts.shortcuts import Shortcut, write_shortcuts
from lmod_train.core.tables import Table
from lmod_train.data.curation.image_files import write_image
from lmod_train.extensions.looking.results import looks_of
from lmod_train.extensions.looking.scores import REDRAWN, Effect, Judged, findings, judged
from lmod_train.extensions.looking.sections import Looking, WithoutImage, _checks, _verdicts
from lmod_train.extensions.looking.task import Grounding
from lmod_train.report.contents import Figure, Remark, Text
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.viewer.viewer import in_order
from lmod_train.scoring.items import items_of
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.run_scores import RunScores
from tests.contracts import TaskContract
from tests.extensions.looking.test_grounding import HEALTHY, SAMPLE
from tests.extensions.looking.test_grounding_scoring import NO, SHOWN, YES, border, disc, replied, words
from tests.report.scored import scored

TASK = Grounding(Glaucoma(), ["mean"])


def outcomes_of(model, n=200):
    samples = [replace(SAMPLE if at % 2 else HEALTHY, key=f"train/{at}", group=str(at)) for at in range(n)]
    replies = []
    for at, sample in enumerate(samples):
        truth = YES if at % 2 else NO
        replies += [model(at, truth, q.variant) for q in TASK.ask(sample)]
    predictions = TaskContract.predictions_of(TASK, samples, replies)
    predictions = [
        replace(p, record=replace(p.record, image=(f"images/s/{p.record.variant}.jpg",), answer=own(p.record)))
        for p in predictions
    ]
    every = items_of(predictions, TASK.truth)
    ids = {p.record.id for p in predictions if TASK.is_scored(p.record)}
    items = {TASK.name: [i for i in every if i.id in ids]}
    beside = {TASK.name: [i for i in every if i.id not in ids]}
    found = Outcomes(tuple(predictions), items, {TASK.name: TASK.choices}, None, tasks={TASK.name: TASK}, beside=beside)
    return found, tuple(TASK.score(predictions))


def own(record):
    """The truth of the image shown, as curation has it."""
    return {YES: NO, NO: YES}[record.answer] if record.variant == "other_answer" else record.answer


def results(curated=None, **models):
    scores, outcomes = [], {}
    for name, model in models.items():
        outcomes[name], own_scores = outcomes_of(model)
        scores.append(RunScores(Path(name), name, name, own_scores))
    return Results(tuple(scores), outcomes, dict.fromkeys(outcomes, curated))


@pytest.fixture(scope="module")
def planted():
    return results(words=words, border=border, disc=disc)


def tables(parts):
    return {part.name: part for part in parts if isinstance(part, Table)}


def test_a_verdict_a_task_truth_and_model_with_one_next_step(planted):
    table = tables(Looking().parts(planted))["looking"]
    told = {(row[2], row[1]): row[4] for row in table.rows}
    assert told == {
        ("words", YES): "does not look", ("words", NO): "does not look",
        ("border", YES): "looks, not at the evidence", ("border", NO): "looks, not at the evidence",
        ("disc", YES): "looks at the evidence", ("disc", NO): "cannot be told",
    }  # fmt: skip
    assert all(row[0] == "glaucoma" and row[3] == 100 and row[5] for row in table.rows)
    assert "5 points" in table.note and "removed as the evidence: glaucoma: optic disc, optic cup." in table.note


def test_what_few_questions_would_have_shown_is_possible_and_of_their_number(planted):
    """An effect above 100 points is none; the number is that of the questions with the widest interval."""
    for n, most in ((3, 0), (40, 100)):
        effect = Effect(n, 0.0, *((-0.9, 0.9) if n == 3 else (-0.2, 0.2)))
        one = Judged(planted_finding(planted), "cannot be told", "the intervals are too wide", effect)
        told = next(row[5] for row in tables(_verdicts({"m": [one]}, {}))["looking"].rows)
        points = [int(word) for word in re.findall(r"of (\d+) points", told)]
        assert f"these {n} questions" in told and all(5 < p <= most for p in points) and bool(points) == bool(most)


def test_exchanged_answers_follow_the_evidence_and_are_not_told_as_read():
    exchanged = {YES: NO, NO: YES}
    items = replied(lambda at, truth, shown: exchanged[disc(at, truth, shown)])
    told = {one.finding.truth: one for one in judged(findings("t", items))}
    assert {one.verdict for one in told.values()} == {"cannot be told"}
    assert "or the answers are exchanged" in told[YES].why


def test_a_truth_that_removal_leads_to_has_no_grounded_share(planted):
    found = tables(Looking().parts(planted))["looking_effects"]
    shares = {(row[2], row[1]): row[7].value for row in found.rows}
    assert shares["disc", YES] == 1 and shares["disc", NO] is None
    why = {(r[2], r[1]): r[5] for r in tables(Looking().parts(planted))["looking"].rows}
    assert "removal leads to NON-GLAUCOMA" in why["disc", NO]


def test_redrawn_phantoms_check_the_verdicts_in_a_line_a_model():
    found = {name: judged(findings(TASK.name, replied(own))) for name, own in (("words", words), ("disc", disc))}
    lines = list(_checks(found))
    assert [
        f"changed, {name} changes its answer to that fact: " in text for name, text in zip(found, lines, strict=True)
    ] == [
        True,
        True,
    ]
    assert "glaucoma, GLAUCOMA: 0 % (" in lines[0] and "glaucoma, NON-GLAUCOMA: 0 % (" in lines[0]  # it is constant
    assert "glaucoma, GLAUCOMA: 100 % (" in lines[1] and "glaucoma, NON-GLAUCOMA: 100 % (" in lines[1]
    undrawn = replied(disc, shown=[name for name in SHOWN if name != REDRAWN])
    assert list(_checks({"disc": judged(findings(TASK.name, undrawn))})) == []


def planted_finding(planted):
    return looks_of(planted)["disc"].judged[0].finding


def test_changes_and_effects_are_those_of_the_scores(planted):
    found = tables(Looking().parts(planted))
    changes = {(r[2], r[1], r[3]): r for r in found["looking_changes"].rows}
    assert changes["disc", YES, "evidence_removed.mean"][5] == 1 and changes["words", YES, "other_answer"][5] == 0
    score = next(
        s for s in planted.runs[2].scores
        if (s.subset, s.metric) == (f"shown=evidence_removed.mean;truth={YES}", "specific_effect")
    )  # fmt: skip
    effects = {(r[2], r[1]): r for r in found["looking_effects"].rows}
    assert effects["disc", YES][4:7] == (score.n, score.value, (score.low, score.high))
    assert [effects["disc", YES][column].value for column in (7, 8, 9)] == [1, 1, 1]


def test_a_leak_that_cannot_be_excluded_is_told(tmp_path):
    def remarks(high, n=200):
        row = Shortcut(TASK.name, "filled_crop.mean", "all", "balanced_accuracy", n, 0.52, high and 0.45, high)
        write_shortcuts(tmp_path / "audit.csv", [row])
        parts = Looking().parts(results(tmp_path, disc=disc))
        return [p.text for p in parts if isinstance(p, Remark) and "fill" in p.text]

    assert remarks(0.59) == []
    assert "cannot be excluded" in remarks(0.61)[0] and "0.61" in remarks(0.61)[0]
    assert "too few" in remarks(None, 0)[0]


def test_a_strip_of_one_eye_with_the_replies_beneath(tmp_path):
    for variant in ("as_is", "evidence_removed.mean", "elsewhere_removed.mean", "same_answer", "other_answer", "blank"):
        write_image(tmp_path / f"images/s/{variant}.jpg", Image.new("RGB", (30, 20), (90, 60, 30)))
    (figure,) = (p for p in Looking().parts(results(tmp_path, disc=disc, words=words)) if isinstance(p, Figure))
    rows = [
        dict(zip(("record", "shown", "image", "model", "answer", "changed"), row, strict=True))
        for row in figure.table.rows
    ]
    assert len({row["record"] for row in rows}) == 1 and {row["model"] for row in rows} == {"disc", "words"}
    assert [row["shown"] for row in rows if row["model"] == "disc"][:2] == ["as_is", "evidence_removed.mean"]
    changed = {(row["model"], row["shown"]): row["changed"] for row in rows}
    assert changed["words", "other_answer"] == "no" and changed["disc", "other_answer"] == "yes"
    figure.draw(figure.table, tmp_path)
    assert Image.open(tmp_path / f"{figure.name}.png").width > 500
    assert "must stay" in figure.table.title, "no manifest says that the images may leave"


def test_probes_are_told_in_the_same_section_and_nothing_without_either(planted):
    assert list(Looking().parts(scored({}))) == []
    assert [type(part) for part in WithoutImage().parts(planted)] == []
    assert isinstance(next(iter(Looking().parts(planted))), Text)


def test_every_reply_stands_in_the_list_of_predictions(planted):
    outcomes = planted.outcomes["disc"]
    assert len(list(in_order(outcomes))) == len(outcomes.predictions) == 200 * 7
