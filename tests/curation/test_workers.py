import os
import signal

import pytest

from lmod_train.curation.workers import local_crew, run
from lmod_train.errors import BadArgument, LmodError


def squares(numbers):
    return [n * n for n in numbers]


def die(numbers):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_thing_comes_back_once(workers):
    with local_crew(workers) as crew:
        results = [n for part in run(squares, range(23), crew, size=2) for n in part]
    assert sorted(results) == [n * n for n in range(23)]


def test_nothing_to_do():
    with local_crew(2) as crew:
        assert list(run(squares, [], crew)) == []


def test_a_dead_worker_says_how_to_go_on():
    with pytest.raises(LmodError, match="--workers 1"), local_crew(2) as crew:
        list(run(die, range(4), crew, size=1))


def test_no_worker_is_refused():
    with pytest.raises(BadArgument, match="workers"), local_crew(0):
        pass
