"""Limits of requests, tokens and costs per command."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.models.backends.endpoint.outcome import Usage

UNMETERED = "the budget of tokens or money cannot be kept, as the server does not state the tokens of a reply (`usage`)"
"""Reason to send no more requests."""
BY_REQUESTS: str = package_data(__file__, "texts.yaml")["by_requests"]
"""Cure of a budget that cannot be kept."""


@dataclass(frozen=True)
class Budget:
    """Limits of one command, 0 for no limit; may change when a run is continued.

    Tokens and costs of a request are known after its reply. Until then, each request in flight counts as the most
    expensive one so far.

    Attributes:
        requests: Maximum number of requests, including repeated ones and the test of the server.
        tokens: Maximum number of tokens of prompts and replies.
        money: Maximum costs, in the currency of the prices.
        price_in: Price of a million prompt tokens.
        price_out: Price of a million reply tokens.
    """

    requests: int = 0
    tokens: int = 0
    money: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0

    def __post_init__(self) -> None:
        for name in ("requests", "tokens", "money", "price_in", "price_out"):
            if not getattr(self, name) >= 0:
                raise BadArgument(f"budget.{name}", getattr(self, name), "0 or more; 0 is no limit", "set 0")
        if self.money and not self.priced:
            cure = "add `--model.backend.budget.price_in P --model.backend.budget.price_out Q` from the price list"
            expected = "`price_in` or `price_out` to be set, the prices of a million tokens"
            raise BadArgument("budget.money", self.money, expected, cure)

    @property
    def priced(self) -> bool:
        """Whether the user has stated a price."""
        return bool(self.price_in or self.price_out)

    def at_share(self, share: float) -> Budget:
        """Return the limits with a share of the prices, without one of money or tokens."""
        return replace(self, money=0.0, tokens=0, price_in=share * self.price_in, price_out=share * self.price_out)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the costs of prompt and reply tokens.

        Example:
            >>> Budget(price_in=2.5, price_out=10).cost(1_000_000, 100_000)
            3.5
        """
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6


class Spending:
    """Counts requests, tokens and costs of a command, and compares them with its budget.

    Args:
        budget: The limits.

    Attributes:
        requests: Number of requests sent.
        tokens_in: Number of prompt tokens.
        tokens_out: Number of reply tokens.
        in_flight: Number of requests without a reply yet.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.requests = self.tokens_in = self.tokens_out = self.in_flight = 0
        self._largest, self._most_expensive = 0, 0.0

    @property
    def money(self) -> float:
        """Costs of the tokens; 0 without prices."""
        return self._budget.cost(self.tokens_in, self.tokens_out)

    def spent(self) -> str:
        """Return why no further request may be sent; empty if one may."""
        limits, ahead = self._budget, self.in_flight + 1
        if limits.requests and self.requests >= limits.requests:
            return f"the budget of {limits.requests} requests is spent"
        if limits.tokens and _reached(self.tokens_in + self.tokens_out, self._largest * ahead, limits.tokens):
            return f"the budget of {limits.tokens} tokens is spent"
        if limits.money and _reached(self.money, self._most_expensive * ahead, limits.money):
            return f"the budget of {limits.money:g} (money) is spent"
        return ""

    def begin(self) -> None:
        """Count a sent request."""
        self.requests += 1
        self.in_flight += 1

    @property
    def metered(self) -> bool:
        """Whether the budget limits tokens or costs, which only the server can state."""
        return bool(self._budget.tokens or self._budget.money)

    def end(self, used: Usage | None = None) -> None:
        """Count the tokens of a finished request; one of which they are not known counts none."""
        tokens_in, tokens_out = (used.tokens_in, used.tokens_out) if used else (0, 0)
        self.in_flight -= 1
        self.tokens_in, self.tokens_out = self.tokens_in + tokens_in, self.tokens_out + tokens_out
        self._largest = max(self._largest, tokens_in + tokens_out)
        self._most_expensive = max(self._most_expensive, self._budget.cost(tokens_in, tokens_out))

    def summary(self) -> str:
        """Return the usage on one line; empty if no request was sent.

        Example:
            >>> spending = Spending(Budget())
            >>> spending.begin(), spending.end(Usage(1000, 20)), spending.summary()
            (None, None, '1 requests, 1,000 prompt tokens, 20 reply tokens')
        """
        if not self.requests:
            return ""
        money = f", costs of {self.money:.4g} at the given prices" if self.money else ""
        tokens = f"{self.tokens_in:,} prompt tokens, {self.tokens_out:,} reply tokens"
        return f"{self.requests:,} requests, {tokens}{money}"


def _reached(spent: float, ahead: float, limit: float) -> bool:
    """Return whether a limit is reached, or would be by the requests in flight and another one."""
    return spent >= limit or spent + ahead > limit
