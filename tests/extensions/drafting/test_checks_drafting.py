"""The checks of drafts: good drafts pass, every planted fault is found by its check, and the counts are exact."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from lmod_train.core.option_letters import both_or_neither
from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.extensions.drafting import checks
from lmod_train.extensions.drafting.checks import CHECKS, DUPLICATE, NAMES, faults_of
from lmod_train.extensions.drafting.drafts import Drafted, drafted_of
from lmod_train.extensions.drafting.drafts import drafted as small
from lmod_train.extensions.xpcr import stages as al
from lmod_train.extensions.xpcr import stages as dd
from lmod_train.extensions.xpcr.stages import CLASSES
from tests.drafted import FAULTS, drafting_records, facts_of, good
from tests.tabled import tabled

PLANTED = [(check, n, stage, plant) for check, several in FAULTS.items() for n, (stage, plant) in enumerate(several)]


def all_good(images: int) -> list[Drafted]:
    records = drafting_records(images)
    return drafted_of([Prediction(r, Reply(r.id, ""), good(r).text) for r in records])


def test_good_drafts_of_every_stage_and_letter_have_no_fault():
    drafts = all_good(12)
    assert len(drafts) == 72 and {d.draft.letter for d in drafts} == set("ABCD")
    assert faults_of(drafts) == []


@tabled(("check", "stage", "plant"), [p[:1] + p[2:] for p in PLANTED])
def test_a_planted_fault_is_found_by_its_check_whatever_the_letter(check, stage, plant):
    for one in [d for d in all_good(12) if d.stage == stage]:
        bad = plant(one.draft)
        if bad == one.draft:
            continue  # this letter leaves no place for the fault
        found = faults_of([Drafted(one.record, bad, one.facts, one.truths)])
        assert check in {f.check for f in found}, bad


def test_faults_planted_at_known_rates_are_counted_and_no_other_draft_is_blamed():
    drafts, planted = all_good(30), set[tuple[str, str]]()
    per_check = [(check, *several[0]) for check, several in FAULTS.items() if check != "equal_options"]
    for first, (check, stage, plant) in enumerate(per_check):
        of_stage = [i for i, d in enumerate(drafts) if d.stage == stage]
        for i in of_stage[2 * first : 2 * first + 2]:  # other images for each check
            drafts[i] = replace(drafts[i], draft=plant(drafts[i].draft))
            planted.add((check, drafts[i].id))
    (copied, *_), last = [d for d in drafts if d.stage == "CD"], drafts[-1]
    drafts[-1] = replace(last, draft=replace(good(last.record), answer=copied.draft.answer))
    planted.add((DUPLICATE, last.id))
    found = {(f.check, f.id) for f in faults_of(drafts)}
    assert Counter(check for check, _ in planted - found) == Counter(), "missed, by check"
    assert {id for _, id in found} == {id for _, id in planted}, "no fault is found in the other drafts"
    assert (len(planted), len(drafts)) == (2 * len(per_check) + 1, 180)


OPTIONS = {
    "IQA": both_or_neither("a low signal strength", "a shielded signal"),
    "AL": al.SHIFTS,
    "LC": both_or_neither("hemorrhage", "drusen"),
    "DD": dd.HOLES,
    "SG": tuple(f"Gass stage {n}" for n in "1234"),
    "CD": CLASSES[:4],
}


@tabled("stage", OPTIONS)
@tabled("place_", range(4))
def test_the_options_of_our_own_chains_are_distinct(stage: str, place_: int):
    one = small(
        stage,
        truth=OPTIONS[stage][place_],
        question="Which of these is it?",
        options=OPTIONS[stage],
        letter="ABCD"[place_],
    )
    found = [check for check in (checks.one_right, checks.truth_in_other_words, checks.alike) if check(one)]
    assert found == []


def test_every_check_of_the_table_is_named_once_and_finds_nothing_in_an_empty_set():
    assert len(set(NAMES)) == len(NAMES) == len(CHECKS) + 1 == len(FAULTS) + 1
    assert faults_of([]) == []


def test_hostile_drafts_end_in_faults_and_not_in_errors_or_minutes():
    texts = ["=cmd()", "<script>alert(1)</script>", "\u202e" * 300, "(" * 5000, "a " * 5000, "0." * 3000, "1 " * 3000]
    for text in texts:
        one = small(question=text, options=(text, "Glaucoma", "x", text), letter="B", answer=text)
        assert faults_of([one]), text[:20]


def test_facts_that_do_not_state_a_place_or_a_number_are_not_compared():
    assert checks.implausible_places(small(answer="Primary diagnosis: upper left lesion")) == []
    known = small("AL", truth="left", eye="", boxes={"optic disc": "1 box; left of the image"}, structure="optic disc",
                  answer="PRESENT. The optic disc is nasal.")  # fmt: skip
    assert checks.implausible_places(known) == [], "nasal means nothing for an eye of unknown side"


def test_numbers_agree_as_far_as_they_are_written():
    boxes = {
        "optic cup": "1 box; left of the image; 12 % of the width, 9 % of the height; vertical cup-to-disc ratio 0.58"
    }
    for text, wrong in {"ratio of 0.6": [], "ratio 0.58": [], "ratio 0.5": ["0.5 ratio"], "12 % wide": [],
                        "12.4 % wide": ["12.4 %"], "one optic cup": [], "2 optic cups": ["2 optic cup"],
                        "5 mg daily for 6 months": []}.items():  # fmt: skip
        assert checks.other_numbers(small(boxes=boxes, answer=text)) == wrong, text


def test_a_reply_without_a_draft_is_left_out_and_a_foreign_record_is_an_error():
    (record, *_) = drafting_records(1)
    assert drafted_of([Prediction(record, Reply(record.id, ""), Unparsed("empty"))]) == []
    foreign = small().record
    assert facts_of(foreign).truth == "glaucoma"
    with pytest.raises(ValueError, match=re.escape(record.id)):
        drafted_of([Prediction(record, Reply(record.id, ""), "Which eye?")])
