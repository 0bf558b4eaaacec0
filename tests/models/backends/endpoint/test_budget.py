"""What a command may spend."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.models.backends.endpoint.budget import Budget, Spending
from lmod_train.models.backends.endpoint.outcome import Usage


def test_requests_are_counted_exactly():
    spending = Spending(Budget(requests=2))
    assert not spending.spent()
    for _ in range(2):
        spending.begin()
        spending.end(Usage(100, 10))
    assert spending.spent() == "the budget of 2 requests is spent"


@pytest.mark.parametrize("budget", [Budget(tokens=330), Budget(money=0.33, price_in=1000, price_out=1000)])
def test_requests_in_flight_count_as_the_most_expensive_so_far(budget):
    spending = Spending(budget)
    spending.begin()
    assert not spending.spent()  # nothing is known yet
    spending.end(Usage(100, 10))
    spending.begin()
    assert not spending.spent()  # 110 + 110 in flight + 110 = 330
    spending.begin()
    assert spending.spent()
    spending.end(Usage(50, 5))
    spending.end()
    assert not spending.spent()
    assert (spending.requests, spending.tokens_in, spending.tokens_out) == (3, 150, 15)


def test_no_limit_is_never_spent():
    spending = Spending(Budget())
    spending.begin()
    spending.end(Usage(10**9, 10**9))
    assert spending.spent() == "" and spending.money == 0


@pytest.mark.parametrize("options", [{"money": 1.0}, {"requests": -1}, {"tokens": -1}, {"price_in": -0.1}])
def test_a_budget_that_cannot_be_is_refused(options):
    with pytest.raises(BadArgument, match=r"budget\."):
        Budget(**options)
