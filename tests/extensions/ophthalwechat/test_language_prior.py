"""Blind accuracy of each subset beside that with the image, on the same questions."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lmod_train.core.types import Reply
from lmod_train.extensions.ophthalwechat.sections import prior
from lmod_train.report.results import Outcomes
from lmod_train.scoring.items import items_of
from lmod_train.scoring.ways import FACTORS, asked_id
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion
from lmod_train.tasks.parsed_replies import parse_replies
from lmod_train.tasks.probe import Probe
from tests.report.bilingual import judge_of, question, right_and_wrong


def results(task, language, seen, blind, judges=()):
    """Results of a run whose first questions are right, with the image and without; its last blind one is missing."""
    records, replies, n = [], {}, 40
    for k in range(n):
        own = question(task, language, k)
        said = right_and_wrong(task.name, language, k)
        records.append(own)
        replies[own.id] = Reply(own.id, said[k >= seen])
        without = replace(own, id=f"{task.name}_probe/w/{k}", task=f"{task.name}_probe", variant=f"{own.variant}-none")
        records += [without] if k < n - 1 else []
        replies[without.id] = Reply(without.id, said[k >= blind])
    found = {t.name: parse_replies(t, records, replies) for t in (task, Probe(task, ["none"]))}
    items = {
        name: items_of(ps, lambda p: task.parse(Reply("", p.record.answer), p.record)) for name, ps in found.items()
    }
    every = tuple(p for ps in found.values() for p in ps)
    judged = tuple(replace(j(every), tasks=(task.name, f"{task.name}_probe")) for j in judges)
    return Outcomes(every, items, dict.fromkeys(items, ()), None, judged=judged)


def rows(outcomes):
    tables = [p for p in prior(SimpleNamespace(outcomes={"m": outcomes})) if hasattr(p, "rows")]
    return [dict(zip([c.head for c in t.columns], row, strict=True)) for t in tables for row in t.rows]


@pytest.mark.parametrize(("language", "name"), [("zh", "Binary_CN"), ("en", "Binary_EN")])
def test_both_accuracies_are_the_planted_ones_on_questions_asked_in_both_ways(language, name):
    (row,) = rows(results(BinaryQuestion(), language, 30, 20))
    assert (row["subset"], row["judged by"], row["n"], row["chance"]) == (name, "", 39, 0.5)
    assert (row["with image"], row["without"]) == (30 / 39, pytest.approx(20 / 39, abs=1e-6))
    assert row["difference"] == pytest.approx(10 / 39, abs=1e-6)
    low, high = row["95 % interval of the difference"]
    assert low < 10 / 39 < high


def test_open_answers_are_right_by_a_judge_of_both_or_not_shown():
    assert rows(results(OpenQuestion(), "en", 30, 20)) == []
    (row,) = rows(results(OpenQuestion(), "en", 30, 20, [judge_of("gpt", {"en": 10})]))
    assert (row["subset"], row["judged by"], row["with image"]) == ("Open-ended_EN", "gpt", 10 / 39)
    assert row["chance"] is None


def test_questions_with_their_image_alone_have_no_table():
    made = results(BinaryQuestion(), "en", 30, 20)
    alone = replace(made, items={"binary_question": made.items["binary_question"]})
    assert rows(alone) == []


def in_ways(made, factor, ways, blind_ways):
    """The same outcomes with each question in several ways, of which all but the first are answered wrongly."""
    predictions = []
    for p in made.predictions:
        for way in blind_ways if p.record.task.endswith("_probe") else ways:
            record = replace(p.record, tags={**p.record.tags, factor: way})
            record = replace(record, id=asked_id(p.record.id, record.tags))
            predictions.append(replace(p, record=record, answer=p.answer if way == ways[0] else "neither"))
    items = {
        name: items_of([p for p in predictions if p.record.task == name], lambda p: p.record.answer)
        for name in made.items
    }
    return replace(made, predictions=tuple(predictions), items=items)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(("ways", "blind_ways"), [(1, 1), (1, 3), (3, 2)])
def test_a_question_in_several_ways_is_paired_with_the_probe_in_the_same_way(factor, ways, blind_ways):
    names = {"system": ["none", "a", "b"], "repeat": ["1", "2", "3"]}.get(factor, ["0", "1", "2"])
    made = in_ways(results(BinaryQuestion(), "en", 30, 20), factor, names[:ways], names[:blind_ways])
    (row,) = rows(made)
    both = min(ways, blind_ways)
    assert row["n"] == 39 * both
    assert (row["with image"], row["without"]) == pytest.approx((30 / 39 / both, 20 / 39 / both), abs=1e-6)
