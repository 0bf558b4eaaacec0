"""A batch as requests: the messages of each record, images included, and what a log keeps of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.backends.endpoint.address import check_sources
from lmod_train.backends.endpoint.images import ImagePolicy, urls_of
from lmod_train.backends.endpoint.request import Decoding, messages_of, rendered
from lmod_train.types import Batch, Record


class RequestBatch(Batch):
    """Records with what is sent for each.

    Attributes:
        messages: Of each record, as a chat-completions request holds them.
        rendered: The same as text, images by size and hash.
    """

    def __init__(
        self, records: Sequence[Record], messages: Sequence[list[dict[str, Any]]], texts: Sequence[str]
    ) -> None:
        super().__init__(records)
        self.messages, self.rendered = list(messages), list(texts)

    def to(self, device: Any, *args: Any, **kwargs: Any) -> RequestBatch:
        """Return the batch itself: nothing in it is on a device."""
        return self


@dataclass(frozen=True, slots=True)
class Writing:
    """Writes records as requests, in the loader's processes.

    Attributes:
        decoding: What every request holds.
        images: Size and format of images.
        sends_away: Whether the server is outside the user's network.
        allowed: Sources that may be sent there whatever their licence states.
    """

    decoding: Decoding
    images: ImagePolicy
    sends_away: bool = False
    allowed: tuple[str, ...] = ()

    def __call__(self, records: Sequence[Record], root: Path) -> RequestBatch:
        """Return the batch; each image is read and encoded once.

        Raises:
            LmodError: An image cannot be read, or may not be sent.
        """
        if self.sends_away:
            check_sources(records, root, self.allowed)
        urls = urls_of(root, [name for r in records for name in r.image], self.images)
        messages = [messages_of(r, urls, self.decoding, self.images.detail) for r in records]
        return RequestBatch(records, messages, [rendered(m) for m in messages])
