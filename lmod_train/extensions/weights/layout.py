"""Base class of the published layouts: configuration, names of tensors, tokens and image settings."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from lmod_train.models.chat.stored import Stored

Change = Callable[[Tensor], Sequence[Tensor]]
"""Function from a stored tensor to one or several resulting ones; also works on meta tensors, for the shapes."""

EMBEDDING, HEAD = "language_model.model.embed_tokens.weight", "language_model.lm_head.weight"
"""Published names of the two tensors with one row per token."""


def unchanged(tensor: Tensor) -> Sequence[Tensor]:
    """Return the tensor alone."""
    return (tensor,)


@dataclass(frozen=True, slots=True)
class Rule:
    r"""Rule from an original tensor to the resulting ones.

    Attributes:
        pattern: Regular expression that the whole original name matches.
        names: Name of each resulting tensor, with groups of the pattern as ``\1``.
        change: Function that returns the resulting tensors, one for each name.
    """

    pattern: str
    names: tuple[str, ...]
    change: Change = unchanged

    def places(self, name: str) -> tuple[str, ...]:
        """Return the names of the resulting tensors; empty if the rule does not match."""
        found = re.fullmatch(self.pattern, name)
        return tuple(found.expand(new) for new in self.names) if found else ()


@dataclass(frozen=True, slots=True)
class Words:
    """Facts of a checkpoint that depend on its tokenizer.

    Attributes:
        tokenizer: The tokenizer, with the image token.
        rows: Largest token id plus one.
        image_token_id: Id of the image token, whose embedding is replaced by image features.
        ends: Ids of the tokens that end a reply.
    """

    tokenizer: Any
    rows: int
    image_token_id: int
    ends: tuple[int, ...] = field(default=())


class Layout(ABC):
    """A layout in which weights are published, and its counterpart in transformers.

    Args:
        folder: Folder of the original checkpoint.
        values: Content of its ``config.json``.
        tower: Folder of the vision tower, if the checkpoint does not contain it; None if it does.

    Attributes:
        image_token: Text of the image token.
        added_tokens: Tokens that the processor reads from the tokenizer, by attribute.
        runtime_names: Pairs of a regular expression and its replacement, which make published names of the names that
            transformers gives tensors in memory.
    """

    image_token: ClassVar[str]
    added_tokens: ClassVar[Mapping[str, str]] = {}
    runtime_names: ClassVar[tuple[tuple[str, str], ...]]

    def __init__(self, folder: Path, values: Mapping[str, Any], tower: Path | None = None) -> None:
        self.folder, self.values, self.tower = folder, values, tower

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the layout and its variant."""

    @property
    @abstractmethod
    def template(self) -> str:
        """Name of the chat template that the weights were published with, one of `lmod_train.models.chat.templates`."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the model card about choices of the conversion."""
        return ()

    @property
    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Rules from original to resulting tensors; the first that matches a name applies."""

    @property
    @abstractmethod
    def dropped(self) -> Mapping[str, str]:
        """Regular expressions of the names of tensors that are left out, with the reasons; they precede the rules."""

    @abstractmethod
    def stored(self) -> Iterator[Stored]:
        """Yield every tensor; those of a tower in another folder under the names they have inside a checkpoint."""

    @abstractmethod
    def made(self, dtype: Any) -> Mapping[str, Tensor]:
        """Return tensors that only transformers needs, in a type; their values are constant, never random."""

    @abstractmethod
    def configuration(self, words: Words, rows: int, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """Return the configuration of transformers.

        Args:
            words: Facts that depend on the tokenizer.
            rows: Number of rows of embedding and head.
            shapes: Shapes of the original tensors, by name.
        """

    @abstractmethod
    def processor(self, words: Words, config: Any, template: str) -> Any:
        """Return the processor of transformers, for images and text."""

    def published(self, name: str) -> str:
        """Return the published name of a tensor by its name in transformers' network."""
        for pattern, replacement in self.runtime_names:
            name = re.sub(pattern, replacement, name)
        return name

    def written(self, template: str) -> str:
        """Return a chat template with the tokens that this checkpoint puts around an image."""
        return template
