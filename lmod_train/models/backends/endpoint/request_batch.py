"""Batches of requests: the messages of each record, and their text for the reply file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.curated import Curated
from lmod_train.core.types import Batch, Record
from lmod_train.models.backends.endpoint.address import Route, check_sources
from lmod_train.models.backends.endpoint.image_urls import ImagePolicy, described, urls_of
from lmod_train.models.backends.endpoint.request import Decoding, messages_of, rendered


class RequestBatch(Batch):
    """Records with the messages to send.

    Attributes:
        messages: Messages of each record in the format of chat-completions requests.
        rendered: The same as text, with images replaced by size and hash.
    """

    def __init__(
        self, records: Sequence[Record], messages: Sequence[list[dict[str, Any]]], texts: Sequence[str]
    ) -> None:
        super().__init__(records)
        self.messages, self.rendered = list(messages), list(texts)

    def to(self, device: Any, *args: Any, **kwargs: Any) -> RequestBatch:
        """Return the batch itself, as it contains no tensors."""
        return self


@dataclass(frozen=True, slots=True)
class Writing:
    """Collate function that makes requests of records, in the processes of the data loader.

    Attributes:
        decoding: Fields of every request.
        images: Size and format of images.
        routes: Ways to the servers.
        allowed: Sources that may be sent there although they are not redistributable.
    """

    decoding: Decoding
    images: ImagePolicy
    routes: tuple[Route, ...] = ()
    allowed: tuple[str, ...] = ()

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> RequestBatch:
        """Return the batch; each image is only read and encoded once.

        Raises:
            LmodError: An image cannot be read, or may not be sent; the name of a server does not resolve.
        """
        images = Curated.of(root)
        if outside := [str(route) for route in self.routes if route.leaves()]:
            check_sources(records, images.root, self.allowed, outside[0])
        urls = urls_of(images, records, self.images)
        messages = [messages_of(r, urls, self.decoding, self.images.detail) for r in records]
        known = {url: described(url) for url in urls.values()}
        return RequestBatch(records, messages, [rendered(m, known) for m in messages])
