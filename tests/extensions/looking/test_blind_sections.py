"""Accuracy with and without the image, on questions with a known answer."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.shortcuts import Shortcut
from lmod_train.core.types import Reply
from lmod_train.extensions.looking.sections import WithoutImage
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.items import items_of
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.run_scores import RunScores
from tests.extensions.ophthalwechat.test_language_prior import results as bilingual
from tests.report.probing import question as asked_at
from tests.report.probing import run_of, said
from tests.tasks.failures.asked import question

CHOICES = ("GLAUCOMA", "NON-GLAUCOMA")


def outcomes(count=40, kinds=("none", "another", "foreign")):
    """With its image every reply is right; without one GLAUCOMA, which is right for half; foreign ones are refused."""
    task, record = question("glaucoma")
    probe = Probe(Glaucoma())
    records, replies = [], {}
    for i in range(count):
        own = replace(record, id=f"glaucoma/s/{i}", key=str(i), group=str(i), answer=CHOICES[i % 2])
        records.append(own)
        replies[own.id] = Reply(own.id, own.answer)
        for kind in kinds:
            asked = replace(own, id=f"glaucoma_probe/s/{i}/{kind}", task=probe.name, variant=kind)
            records.append(asked)
            replies[asked.id] = Reply(asked.id, "I cannot tell." if kind == "foreign" else "GLAUCOMA")
    found = {t.name: parse_replies(t, records, replies) for t in (task, probe)}
    items = {n: items_of(ps, lambda p: task.parse(Reply("x", p.record.answer), p.record)) for n, ps in found.items()}
    return Outcomes(tuple(p for ps in found.values() for p in ps), items, dict.fromkeys(items, CHOICES), None)


def rows(outcomes, name="without_image", shortcuts=(), folder=Path("absent")):
    results = Results((RunScores(folder, "run", "model", ()),), {"model": outcomes}, {}, shortcuts)
    parts = list(WithoutImage().parts(results))
    return [row for part in parts if getattr(part, "name", "") == name for row in part.rows]


def test_the_gap_is_the_difference_on_the_same_questions():
    found = {row[2]: row for row in rows(outcomes())}
    task, model, _, n, own, without, gap, (low, high), refused, chance = found["none"]
    assert (task, model, n, own, without, gap, refused, chance) == ("glaucoma", "model", 40, 1, 0.5, 0.5, 0, 0.5)
    assert low < 0.5 < high
    assert found["foreign"][3:] == (40, None, None, None, None, 1.0, None)


def test_a_probe_alone_has_no_gap_and_no_probe_no_table():
    both = outcomes(kinds=("none",))
    alone = replace(both, items={"glaucoma_probe": both.items["glaucoma_probe"]})
    ((*_, own, without, gap, interval, _, _),) = rows(alone)
    assert (own, without, gap, interval) == (None, 0.5, None, None)
    assert rows(outcomes(kinds=())) == []


def test_a_classifier_of_the_words_stands_beside_the_probes():
    words = Shortcut("glaucoma", "words", "test", "accuracy", 40, 0.55, 0.4, 0.7)
    assert rows(outcomes(), "words_alone", (words,)) == [("glaucoma", "test", 40, 0.55, (0.4, 0.7))]


def test_the_last_probe_of_a_training_is_shown(tmp_path):
    probe = {"step": 1, "n": 24, "right": 0.5, "right_shuffled": 0.4, "lost_without_picture": 0.1, "answers": {}}
    lines = [json.dumps(probe | {"step": step, "right": step / 4}) for step in (1, 2)]
    (tmp_path / "tripwires.jsonl").write_text("\n".join(lines) + "\n")
    assert rows(outcomes(kinds=()), "exchanged_images", folder=tmp_path) == [("model", 2, 24, 0.5, 0.4, 0.1)]


def chain_rows(name, kinds=("none", "options")):
    """With the image all is right; without it IQA, and the first of two questions of DD; of the options alone none."""
    places = [(case, stage, variant) for case in range(12) for stage in ("IQA", "DD", "CD") for variant in ("q1", "q2")]
    made = [said(asked_at(*place), True) for place in places]
    for kind in kinds:
        made += [said(asked_at(*p, kind), kind == "none" and (p[1] == "IQA" or p[1:] == ("DD", "q1"))) for p in places]
    return rows(run_of("run", made)[1], name)


def test_stages_and_questions_of_one_image_are_pairs_of_their_own():
    (none, options) = chain_rows("without_image")
    assert none[:7] == ("chain", "model", "none", 72, 1.0, 0.5, 0.5)
    assert options[:7] == ("chain", "model", "options", 72, 1.0, 0.0, 1.0)


def test_chains_have_a_row_for_each_stage_and_kind_and_other_tasks_none():
    found = {(row[2], row[3]): row[4:8] for row in chain_rows("without_image_stages")}
    assert found == {
        ("IQA", "none"): (24, 1.0, 1.0, 0.0),
        ("DD", "none"): (24, 1.0, 0.5, 0.5),
        ("CD", "none"): (24, 1.0, 0.0, 1.0),
        **{(stage, "options"): (24, 1.0, 0.0, 1.0) for stage in ("IQA", "DD", "CD")},
    }
    assert rows(outcomes(), "without_image_stages") == []
    assert {row[3] for row in chain_rows("without_image_stages", kinds=("none",))} == {"none"}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("task", [BinaryQuestion(), SingleChoiceQuestion(), OpenQuestion()], ids=lambda task: task.name)
@pytest.mark.parametrize("alone", [False, True])
def test_open_answers_have_no_accuracy_by_equal_texts_and_no_chance(task, language, alone):
    made = bilingual(task, language, 30, 20)
    made = replace(made, items={n: i for n, i in made.items.items() if not alone or n.endswith("_probe")})
    ((name, _, kind, n, own, without, gap, _, refused, chance),) = rows(made)
    assert (name, kind, n, refused) == (task.name, "none", 39, 0)
    if task.name == "open_question":
        assert own is without is gap is chance is None
    else:
        assert without == pytest.approx(20 / 39) and chance in (0.25, 0.5) and (own is None) == alone
