"""Batches of like length: less padding than a plain shuffle, nothing lost, text alone apart from images."""

from collections import Counter
from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.data.datamodules.lengths import Length, length_of, steps_of_like_length
from tests.tiny import record


def steps(groups, lengths, size, seed=0):
    return steps_of_like_length(groups, lengths, size, np.random.default_rng(seed))


def padding(made, lengths):
    """Return the share of padding when every step is padded to its longest."""
    rows = [[lengths[p].characters for p in step] for step in made]
    return 1 - sum(map(sum, rows)) / sum(max(r) * len(r) for r in rows)


def test_a_question_is_as_long_as_its_words_and_its_answer():
    assert length_of(record(text="Which?", answer="DRUSEN")) == (True, 12)
    assert length_of(record(text="Which?", answer="", image=[])) == (False, 6)


def test_like_is_batched_with_like():
    random = np.random.default_rng(0)
    lengths = [Length(True, int(n)) for n in random.integers(10, 1000, 1000)]
    groups = [[i] for i in range(1000)]
    shuffled = [[int(p) for p in step] for step in random.permutation(1000).reshape(-1, 10)]
    made = steps(groups, lengths, 10)
    assert padding(shuffled, lengths) > 0.4 and padding(made, lengths) < 0.03
    firsts = [lengths[step[0]].characters for step in made]
    assert abs(np.corrcoef(firsts, range(len(firsts)))[0, 1]) < 0.3, "long and short steps come in any order"


def test_text_alone_stays_apart_from_images_but_at_the_end():
    lengths = [Length(i % 3 > 0, 5 * i) for i in range(100)]  # 34 of text alone
    made = steps([[i] for i in range(100)], lengths, 8)
    kinds = [{lengths[p].images > 0 for p in step} for step in made]
    assert [len(step) for step in made] == [8] * 12 + [4]
    assert all(len(kind) == 1 for kind in kinds[:12]) and kinds.count({False}) == 4  # 66 = 8 x 8 + 2, 34 = 4 x 8 + 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 99), max_size=5)), max_size=30),
    st.integers(1, 9),
    st.integers(0, 3),
)
def test_nothing_is_lost_and_every_step_is_whole_but_the_last(kinds, size, seed):
    lengths = [Length(pictured, n) for pictured, numbers in kinds for n in numbers]
    places = iter(range(len(lengths)))
    groups = [[next(places) for _ in numbers] for _, numbers in kinds]
    made = steps(groups, lengths, size, seed)
    assert Counter(chain.from_iterable(made)) == Counter(range(len(lengths)))
    assert [len(step) for step in made[:-1]] == [size] * (len(made) - 1) and all(made)
    mixed = [step for step in made if len({lengths[p].images > 0 for p in step}) == 2]
    assert len(mixed) <= 2 and made == steps(groups, lengths, size, seed)


def test_a_group_is_torn_only_where_a_step_ends():
    lengths = [Length(True, n) for n in range(3000)]
    groups = [list(range(i, i + 6)) for i in range(0, 3000, 6)]
    made = steps(groups, lengths, 16)
    step_of = {p: s for s, step in enumerate(made) for p in step}
    torn = [g for g in groups if len({step_of[p] for p in g}) > 1]
    assert len(torn) <= len(made)


def test_questions_with_as_many_images_are_batched_together():
    lengths = [Length(1 + i % 2, i) for i in range(80)]  # as many characters, one image or two
    steps = steps_of_like_length([[i] for i in range(80)], lengths, 4, np.random.default_rng(0))
    assert all(len({lengths[i].images for i in step}) == 1 for step in steps) and len(steps) == 20
