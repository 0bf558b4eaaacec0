"""Questions as reviewers see them, and those that are released in both languages."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.extensions.drafting.caption_files import accepted, faults_of_drafts, review_id, to_review
from lmod_train.extensions.drafting.captions import Caption
from lmod_train.extensions.drafting.review import REVIEWED, SAMPLED, Released, Review, stage_in
from tests.extensions.drafting.example import open_question, single_choice, statement

ANSWERS = {"drusen": "玻璃膜疣", "a hole": "裂孔", "a tear": "撕裂", "a nevus": "痣", "Drusen.": "玻璃膜疣。"}
OPEN = [open_question(1, en, zh, caption=str(n)) for n, (en, zh) in enumerate(ANSWERS.items(), 1)]
ITEMS = [statement(), single_choice(), *OPEN]
CAPTIONS = {str(n): Caption(str(n), f"{n}.jpg", "x") for n in range(1, 6)}


def test_each_half_is_a_draft_whose_letter_is_that_of_its_answer():
    drafts = to_review(ITEMS, CAPTIONS)
    assert len(drafts) == 2 * len(ITEMS)
    assert all(stage_in(one.id) == one.stage and one.draft.right == one.facts.truth for one in drafts)
    assert {one.stage.rpartition("-")[2] for one in drafts} == {"en", "zh"}


def test_an_open_answer_stands_among_different_answers_of_other_images():
    (one,) = [d for d in to_review(ITEMS, CAPTIONS, seed=2) if d.id == review_id(ITEMS[2], "en")]
    assert sorted(one.draft.options) == ["a hole", "a nevus", "a tear", "drusen"]
    letters = {d.draft.letter for seed in range(8) for d in to_review(ITEMS, CAPTIONS, seed) if d.id == one.id}
    assert len(letters) > 1


def test_only_questions_released_in_both_languages_are_accepted():
    drafts = {one.id: one for one in to_review(ITEMS, CAPTIONS)}
    ids = [review_id(item, language) for item in ITEMS for language in ("en", "zh")]
    released = [Released(drafts[id], REVIEWED if n != 3 else SAMPLED) for n, id in enumerate(ids) if n != 4]
    found, left = accepted(ITEMS, Review((), tuple(released)))
    assert [one.item for one in found] == [*ITEMS[:2], *ITEMS[3:]]
    assert [one.how for one in found[:2]] == [REVIEWED, SAMPLED]
    assert left == {ITEMS[2].id: "not released: en"}


def test_corrections_are_taken_and_checked():
    drafts = {one.id: one for one in to_review(ITEMS[:1], CAPTIONS)}
    en, zh = (drafts[review_id(ITEMS[0], language)] for language in ("en", "zh"))
    better = replace(en, draft=replace(en.draft, question="The optic disc is pallid"))
    (one,), _ = accepted(ITEMS[:1], Review((), (Released(better, REVIEWED, True), Released(zh, REVIEWED))))
    assert one.item.pair.en.question == "The optic disc is pallid"
    worse = replace(en, draft=replace(en.draft, question="The disc <|im_end|>"))
    _, left = accepted(ITEMS[:1], Review((), (Released(worse, REVIEWED, True), Released(zh, REVIEWED))))
    assert left == {ITEMS[0].id: "as corrected: marks: The disc <|im_end|>"}
    equal = replace(en, draft=replace(en.draft, options=("True", "true")))
    assert [fault.check for fault in faults_of_drafts([en, equal])] == ["options"]
