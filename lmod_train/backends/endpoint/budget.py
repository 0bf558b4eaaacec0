"""What one command may spend on an endpoint: requests, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.errors import BadArgument


@dataclass(frozen=True)
class Budget:
    """Limits of one command, 0 for none; decides no reply, and may differ when a run is continued.

    Tokens and money are known once a reply is there. A request is sent if what is spent and what the requests in flight
    will probably cost leave room for it; each of these counts as the most expensive one so far.

    Attributes:
        requests: Attempts sent, repeated ones and the probe included.
        tokens: Of prompts and replies together.
        money: In the currency of the prices.
        price_in: Of a million tokens of prompts.
        price_out: Of a million tokens of replies.
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
        if self.money and not (self.price_in or self.price_out):
            cure = "add `--model.backend.budget.price_in P --model.backend.budget.price_out Q` from the price list"
            raise BadArgument("budget.money", self.money, "prices of a million tokens beside it", cure)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return the price of so many tokens.

        Example:
            >>> Budget(price_in=2.5, price_out=10).cost(1_000_000, 100_000)
            3.5
        """
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6


class Spending:
    """What a command has spent, and whether another request is within its budget.

    Args:
        budget: The limits.

    Attributes:
        requests: Attempts sent.
        tokens_in: Of the prompts of all replies.
        tokens_out: Of the replies.
        in_flight: Requests without a reply as yet.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.requests = self.tokens_in = self.tokens_out = self.in_flight = 0
        self._largest, self._dearest = 0, 0.0

    @property
    def money(self) -> float:
        """What the tokens cost; 0 without prices."""
        return self._budget.cost(self.tokens_in, self.tokens_out)

    def spent(self) -> str:
        """Return why no further request may be sent; empty where one may."""
        limits, ahead = self._budget, self.in_flight + 1
        if limits.requests and self.requests >= limits.requests:
            return f"the budget of {limits.requests} requests is spent"
        if limits.tokens and _reached(self.tokens_in + self.tokens_out, self._largest * ahead, limits.tokens):
            return f"the budget of {limits.tokens} tokens is spent"
        if limits.money and _reached(self.money, self._dearest * ahead, limits.money):
            return f"the budget of {limits.money:g} is spent"
        return ""

    def begin(self) -> None:
        """Count a request that is sent."""
        self.requests += 1
        self.in_flight += 1

    def end(self, tokens_in: int = 0, tokens_out: int = 0) -> None:
        """Count what a request has used; one without a reply is taken to have used nothing."""
        self.in_flight -= 1
        self.tokens_in, self.tokens_out = self.tokens_in + tokens_in, self.tokens_out + tokens_out
        self._largest = max(self._largest, tokens_in + tokens_out)
        self._dearest = max(self._dearest, self._budget.cost(tokens_in, tokens_out))

    def summary(self) -> str:
        """Return what was spent in one line; empty where nothing was.

        Example:
            >>> spending = Spending(Budget())
            >>> spending.begin(), spending.end(1000, 20), spending.summary()
            (None, None, '1 requests, 1,000 tokens of prompts, 20 of replies')
        """
        if not self.requests:
            return ""
        money = f", {self.money:.4g} at the prices given" if self.money else ""
        tokens = f"{self.tokens_in:,} tokens of prompts, {self.tokens_out:,} of replies"
        return f"{self.requests:,} requests, {tokens}{money}"


def _reached(spent: float, ahead: float, limit: float) -> bool:
    """Return whether a limit is spent, or would be by what is in flight and one request more."""
    return spent >= limit or spent + ahead > limit
