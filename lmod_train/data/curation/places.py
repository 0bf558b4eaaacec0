"""The place of the right option in lists of options: each letter equally often, in every split and stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lmod_train.core.lettering import options_in
from lmod_train.core.shuffling import shuffle_key
from lmod_train.data.curation.records import PlacedQuestion


def balance_places(asked: Sequence[PlacedQuestion], seed: int) -> list[PlacedQuestion]:
    """Return the questions, in the same order, with the right options of lettered lists spread evenly over the letters.

    The questions of a task, language, step and number of options take the letters in turn, split after split, source
    after source, and within a source in an order drawn by seed: so the counts of two letters differ by at most one in
    the whole set, in every split, and in every source of a split. Which sample gets which letter depends on its key,
    not on the answer. Questions without lettered options, and those whose order is not the task's own
    (`Task.placed`), stay as they are. A probe has the letters of the question that it probes (`Task.asks_as`).
    """
    found = list(asked)
    turns: Counter[tuple[str, ...]] = Counter()
    places: dict[tuple[str, ...], int] = {}
    for at in sorted(range(len(found)), key=lambda at: _turn(found[at], seed)):
        one = found[at]
        options = len(options_in(one.question.messages))
        task, variant = one.task.asks_as(one.question)
        cell = (task, one.question.language, one.question.chain_step, str(options))
        name = (*cell, one.sample.source, one.sample.key, variant)
        if options:
            question = one.task.placed(one.sample, one.question, places.get(name, turns[cell]) % options)
            if question is not one.question and name not in places:
                places[name] = turns[cell]
                turns[cell] += 1
            found[at] = replace(one, question=question)
    return found


def _turn(one: PlacedQuestion, seed: int) -> tuple[str, ...]:
    """Return the sort key of a question: its split and source, then a draw by seed."""
    key = (one.sample.source, one.sample.key, one.question.chain_step, one.task.asks_as(one.question)[1])
    return one.split, one.sample.source, shuffle_key(seed, "places", *key), *key
