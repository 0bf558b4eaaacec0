"""What every published layout states: its configuration, its tensors' places, its tokens and its pictures."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from lmod_train.chat.stored import Stored

Change = Callable[[Tensor], Sequence[Tensor]]
"""Makes one or several tensors of a stored one; works on tensors without content too, for the shapes."""

EMBEDDING, HEAD = "language_model.model.embed_tokens.weight", "language_model.lm_head.weight"
"""Published names of the two tensors with a row for each token."""


def unchanged(tensor: Tensor) -> Sequence[Tensor]:
    """Return the tensor alone."""
    return (tensor,)


@dataclass(frozen=True, slots=True)
class Rule:
    r"""Where tensors of one kind go.

    Attributes:
        pattern: Regular expression of the whole original name.
        names: Name of each resulting tensor, with the groups of the pattern as ``\1``.
        change: Makes the resulting tensors, one for each name.
    """

    pattern: str
    names: tuple[str, ...]
    change: Change = unchanged

    def places(self, name: str) -> tuple[str, ...]:
        """Return the names of the resulting tensors; empty where the rule is about other tensors."""
        found = re.fullmatch(self.pattern, name)
        return tuple(found.expand(new) for new in self.names) if found else ()


@dataclass(frozen=True, slots=True)
class Words:
    """What the tokenizer decides.

    Attributes:
        tokenizer: It holds the image token.
        rows: Largest id of a token, plus one.
        image_token_id: Id of the token whose embedding an image's features replace.
        ends: Ids of the tokens that end a reply.
    """

    tokenizer: Any
    rows: int
    image_token_id: int
    ends: tuple[int, ...] = field(default=())


class Layout(ABC):
    """A layout in which weights are published, and what becomes of it in transformers.

    Args:
        folder: Of the original checkpoint.
        values: Its ``config.json``.
        tower: Folder of the vision tower where the checkpoint's own folder lacks it; None where it is inside.

    Attributes:
        image_token: Text of the token that an image's features replace.
        added_tokens: Tokens that the processor asks the tokenizer for, by attribute.
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
        """Name of the layout, with what tells it from its siblings."""

    @property
    @abstractmethod
    def template(self) -> str:
        """Name of the chat template that the weights were published with, one of `lmod_train.chat.templates`."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the model card about what the conversion decided."""
        return ()

    @property
    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Where each tensor goes; the first rule that knows a name counts."""

    @property
    @abstractmethod
    def dropped(self) -> Mapping[str, str]:
        """Regular expressions of tensors that are left out, before any rule is looked at, each with the reason."""

    @abstractmethod
    def stored(self) -> Iterator[Stored]:
        """Yield every tensor, those of a tower in another folder under the names they have inside a checkpoint."""

    @abstractmethod
    def made(self, dtype: Any) -> Mapping[str, Tensor]:
        """Return tensors that the original does not need and transformers does, of a type; fixed ones, never random."""

    @abstractmethod
    def configuration(self, words: Words, rows: int, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        """Return the configuration of transformers.

        Args:
            words: What the tokenizer decides.
            rows: Tokens of embedding and head.
            shapes: Of the original tensors, by name.
        """

    @abstractmethod
    def processor(self, words: Words, config: Any, template: str) -> Any:
        """Return the processor of transformers: pictures, words and their places in a prompt."""

    def published(self, name: str) -> str:
        """Return the published name of a tensor that transformers names otherwise in memory."""
        for pattern, replacement in self.runtime_names:
            name = re.sub(pattern, replacement, name)
        return name

    def written(self, template: str) -> str:
        """Return a chat template with what this checkpoint writes around an image."""
        return template
