import os
import signal

import pytest

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.data.curation.workers import local_crew, run


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


def die_over_five(numbers):
    if 5 in numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(numbers)


def test_a_thing_over_which_processes_die_costs_itself_alone():
    with local_crew(2) as crew:
        parts = list(run(die_over_five, range(30), crew, size=4, lost=lambda part: [-n for n in part]))
    assert sorted(n for part in parts for n in part) == sorted(-5 if n == 5 else n * n for n in range(30))


def test_where_all_die_it_ends():
    with pytest.raises(LmodError, match="died over 10 things in a row"), local_crew(2) as crew:
        list(run(die, range(100), crew, size=8, lost=lambda part: [0]))


def test_no_worker_is_refused():
    with pytest.raises(BadArgument, match="workers"), local_crew(0):
        pass
