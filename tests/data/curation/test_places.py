"""Places of right options: even over the letters in every split, source and stage, and blind to the answer."""

from collections import Counter
from dataclasses import replace

from lmod_train.data.curation.question_records import balance_places
from lmod_train.data.curation.records import PlacedQuestion
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.probe import Probe
from tests.extensions.xpcr.samples import flagged

TASK = Chain()


def asked(n, task=TASK, **fields):
    found = []
    for i in range(n):
        one = replace(flagged(str(i % 5), key=f"k{i}"), source=("s", "t")[i % 3 == 0], **fields)
        split = ("train", "train", "val", "test")[i % 4]
        found += [PlacedQuestion(task, q, one, split, ()) for q in task.ask(one)]
    return found


def letters(several, key):
    counts = {}
    for one in several:
        place = key(one), one.question.chain_step, len(one.question.choices)
        counts.setdefault(place, Counter())[one.question.answer[-1]] += 1
    return counts


def test_letters_differ_by_one_in_the_set_in_every_split_and_in_every_source_of_a_split():
    placed = balance_places(asked(101), 0)
    for key in (lambda a: "", lambda a: a.split, lambda a: (a.split, a.sample.source)):
        for (_, _, options), counts in letters(placed, key).items():
            of_each = [counts["ABCDE"[i]] for i in range(options)]
            assert max(of_each) - min(of_each) <= 1


def test_order_options_and_truths_stay():
    before = asked(40)
    after = balance_places(before, 0)
    for one, other in zip(before, after, strict=True):
        assert (one.sample, one.split, one.id) == (other.sample, other.split, other.id)
        assert sorted(one.question.choices) == sorted(other.question.choices)
        truths = [q.choices["ABCDE".index(q.answer[-1])] for q in (one.question, other.question)]
        assert truths[0] == truths[1]
    assert after == balance_places(before, 0) != balance_places(before, 1)


def test_the_letter_does_not_depend_on_the_answer():
    before = asked(60)
    changed = [replace(a, sample=a.sample) for a in asked(60)]
    other = [
        replace(a, question=replace(a.question, answer="Answer: " + "BCDEA"["ABCDE".index(a.question.answer[-1])]))
        for a in changed
        if len(a.question.choices) == 5
    ]
    own = [a for a in before if len(a.question.choices) == 5]
    assert [a.question.answer for a in balance_places(own, 0)] == [a.question.answer for a in balance_places(other, 0)]


def test_ready_questions_and_other_tasks_stay_as_they_are():
    sample = flagged("2", key="k3")
    ready = replace(sample, asked=tuple(TASK.ask(sample)))
    placed = [PlacedQuestion(TASK, q, ready, "test", ()) for q in TASK.ask(ready)]
    assert placed and balance_places(placed, 0) == placed
    others = asked(8, Conditions())
    assert others and balance_places(others, 0) == others


def test_a_probe_has_the_letters_of_the_question_that_it_probes_and_takes_none_from_others():
    own, probes = asked(31), asked(31, Probe(TASK, ["none", "options"]))
    alone = balance_places(own, 0)
    both = balance_places([*probes, *own], 0)
    assert both[len(probes) :] == alone
    truths = {(a.sample.key, a.question.chain_step): a.question for a in alone}
    for probe in (a for a in both[: len(probes)] if a.question.variant == "none"):
        question = truths[probe.sample.key, probe.question.chain_step]
        assert (probe.question.answer, probe.question.choices) == (question.answer, question.choices)
        assert [p for p in question.messages[-1].parts if p.type == "text"] == [*probe.question.messages[-1].parts]
    assert [a.question for a in balance_places(probes, 0)] == [a.question for a in both[: len(probes)]]


def test_ready_questions_of_a_probe_stay_as_they_are():
    sample = flagged("2", key="k3")
    ready = replace(sample, asked=tuple(TASK.ask(sample)))
    task = Probe(TASK, ["none"])
    placed = [PlacedQuestion(task, q, ready, "test", ()) for q in task.ask(ready)]
    assert placed and balance_places(placed, 0) == placed
