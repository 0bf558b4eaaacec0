"""Batches of a step come together, are weighed once, and go out in their order."""

import functools
import itertools

from lmod_train.data.datamodules.steps import Steps, Weighing


def test_every_batch_is_weighed_once_with_those_of_its_step():
    """As Lightning steps: at each multiple of what is accumulated, and at the last batch of the epoch."""
    for accumulated, done, whole in itertools.product((1, 2, 3, 8), (0, 1, 2, 5), (5, 6, 7)):
        case = f"{accumulated=}, {done=}, {whole=}"
        weighed, batches = [], list(range(done, whole))
        left = functools.partial(left_of_a_step, accumulated, whole)
        given = []
        for batch in Steps(lambda step, weighed=weighed: weighed.append(list(step)), left)(iter(batches), done):
            assert batch in weighed[-1], f"{case}: weighed before it is given out"
            given.append(batch)
        assert given == batches, case
        ends = [b for b in batches if (b + 1) % accumulated == 0 or b == whole - 1]
        assert [step[-1] for step in weighed] == ends, case
        assert [batch for step in weighed for batch in step] == batches, case


def left_of_a_step(accumulated, whole, n):
    return min(accumulated - n % accumulated, whole - n)


def test_a_loader_that_ends_early_is_no_error():
    weighed = []
    assert list(Steps(lambda step: weighed.append(len(step)), lambda n: 4)(iter("abcdef"), 0)) == list("abcdef")
    assert weighed == [4, 2]


def test_a_module_that_weighs_is_known_by_its_method():
    weighing = type("Weighs", (), {"weigh_step": lambda self, batches: None})
    assert isinstance(weighing(), Weighing) and not isinstance(object(), Weighing)
