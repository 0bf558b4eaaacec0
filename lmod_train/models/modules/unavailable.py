"""A model that cannot be run: an entry for the table of models, with the reason."""

from __future__ import annotations

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch, Reply
from lmod_train.models.modules.base import LmodModule


class Unavailable(LmodModule):
    """A published model without a way to run it, e.g. a service that has ended. Every command refuses it.

    Args:
        hub: Name of the model, on the hub or in the paper.
        why: Reason why it cannot be run.
        instead: What can be run or done in its place.

    Raises:
        BadArgument: Always.
    """

    def __init__(self, hub: str, why: str, instead: str) -> None:
        raise BadArgument("--model", hub, f"a model that can be run: {why}", instead)

    def respond(self, batch: Batch) -> list[Reply]:
        """Never called, as no object of this class exists."""
        raise NotImplementedError
