import os
import signal

import pytest

from lmod_train.curation.workers import run
from lmod_train.errors import BadArgument, LmodError


def squares(numbers):
    return [n * n for n in numbers]


def die(numbers):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_thing_comes_back_once(workers):
    results = [n for part in run(squares, range(23), workers, size=2) for n in part]
    assert sorted(results) == [n * n for n in range(23)]


def test_nothing_to_do():
    assert list(run(squares, [], 2)) == []


def test_a_dead_worker_says_how_to_go_on():
    with pytest.raises(LmodError, match="--workers 1"):
        list(run(die, range(4), 2, size=1))


def test_no_worker_is_refused():
    with pytest.raises(BadArgument, match="workers"):
        list(run(squares, [1], 0))
