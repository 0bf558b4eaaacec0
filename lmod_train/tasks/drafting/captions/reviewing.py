"""Written questions as drafts that people review, and the pairs that a review releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from urllib.parse import quote

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import OPEN, Half
from lmod_train.tasks.captioned.reading import compared
from lmod_train.tasks.captioning import SOURCE
from lmod_train.tasks.drafting.captions.checks import faults_of
from lmod_train.tasks.drafting.captions.item import Item
from lmod_train.tasks.drafting.checks import Fault
from lmod_train.tasks.drafting.drafted import Drafted
from lmod_train.tasks.drafting.review import REVIEWED, Review
from lmod_train.tasks.drafts.draft import Draft
from lmod_train.tasks.drafts.facts import Facts
from lmod_train.tasks.prompt import prompt

OTHERS = 3
"""Answers of other images that stand beside that of an open question in a review."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A question that a review has released in both languages.

    Attributes:
        item: The question, as corrected.
        how: ``reviewed`` if people have read both halves, otherwise ``sampled``.
    """

    item: Item
    how: str


def to_review(items: Sequence[Item], captions: Mapping[str, Caption], seed: int = 0) -> list[Drafted]:
    """Return two drafts for each question, one a language; the stages of their review are kinds and languages.

    An open question is shown with its answer among answers of other images, so that a reviewer who agrees has found
    it. Reviewers do not see the caption.

    Args:
        items: Questions.
        captions: Key -> caption of each.
        seed: Seed of the other answers and of their order.
    """
    found = [
        _drafted(item, language, half, captions[item.caption], items, seed)
        for item in items
        for language, half in item.pair.halves.items()
    ]
    return sorted(found, key=lambda one: one.id)


def review_id(item: Item, language: str) -> str:
    """Return the id of one half in a review; it ends in the stage, the kind with the language."""
    return "/".join(["question", SOURCE, quote(item.caption), str(item.number), f"{item.kind}-{language}"])


def _drafted(item: Item, language: str, half: Half, caption: Caption, items: Sequence[Item], seed: int) -> Drafted:
    stage = f"{item.kind}-{language}"
    options = half.options or _among_others(item, language, half, items, seed)
    record = Record(
        review_id(item, language), "question", "", 1, SOURCE, item.caption, caption.modality, (item.image,),
        (item.image,), (caption.sha256,), "test", caption.group or item.image, language, prompt(half.question), (),
        half.answer, chain_step=stage, phantom=caption.phantom, licence=caption.licence,
    )  # fmt: skip
    draft = Draft(half.question, options, ascii_uppercase[options.index(half.answer)], "")
    return Drafted(record, draft, Facts(stage, half.answer))


def _among_others(item: Item, language: str, half: Half, items: Sequence[Item], seed: int) -> tuple[str, ...]:
    """Return an open answer among different answers to open questions about other images, in a seeded order."""
    own = compared(half.answer)
    others = {
        compared(text): text
        for other in items
        if other.kind == OPEN and other.image != item.image
        for text in [other.pair.halves[language].answer]
        if compared(text) not in own and own not in compared(text)
    }
    drawn = sorted(others.values(), key=lambda text: shuffle_key(seed, "other", item.id, text))[:OTHERS]
    return tuple(sorted([half.answer, *drawn], key=lambda text: shuffle_key(seed, "place", item.id, text)))


def faults_of_drafts(drafts: Sequence[Drafted]) -> list[Fault]:
    """Return what is wrong with a question in one language as a reviewer has corrected it: empty or equal options."""
    found = []
    for one in drafts:
        plain = [compared(option) for option in one.draft.options]
        if not all(plain) or len({*plain}) < len(plain):
            found.append(Fault(one.id, one.stage, "options", "empty or equal options"))
    return found


def halves_of(items: Sequence[Item], ids: Collection[str]) -> list[str]:
    """Return the ids, in a review, of both halves of the questions with some ids."""
    return [review_id(item, language) for item in items if item.id in ids for language in item.pair.halves]


def accepted(
    items: Sequence[Item], review: Review, differing: Collection[str] = ()
) -> tuple[list[Accepted], dict[str, str]]:
    """Return the questions of which both halves are released, and id of each other one -> the reason.

    Args:
        items: All questions.
        review: Of the drafts that `to_review` made of them.
        differing: Ids of those whose languages a judge calls different: not released unless people have read both.
    """
    released = {one.drafted.id: one for one in review.released}
    found: list[Accepted] = []
    left: dict[str, str] = {}
    for item in items:
        ids = {language: review_id(item, language) for language in item.pair.halves}
        lacking = [language for language, id in ids.items() if id not in released]
        if lacking:
            left[item.id] = f"not released: {', '.join(lacking)}"
            continue
        halves = {language: _half(released[id].drafted.draft, item) for language, id in ids.items()}
        corrected = replace(item, pair=replace(item.pair, en=halves["en"], zh=halves["zh"]))
        faults = faults_of(corrected.pair)
        read = all(released[id].how == REVIEWED for id in ids.values())
        if item.id in differing and not read:
            left[item.id] = "a judge calls its languages different, and it is not on the sheet: write a new one"
        elif faults:
            left[item.id] = f"as corrected: {faults[0][0]}: {faults[0][1]}"
        else:
            found.append(Accepted(corrected, REVIEWED if read else "sampled"))
    return found, left


def _half(draft: Draft, item: Item) -> Half:
    return Half(draft.question, () if item.kind == OPEN else draft.options, draft.right)
