"""Backend for zero-shot evaluation of a local checkpoint in the layout of transformers."""

from __future__ import annotations

from typing import Any, Literal

import torch
from transformers import PreTrainedModel

from lmod_train.backends.base import Backend
from lmod_train.chat.base_files import identity_of
from lmod_train.chat.checkpoint import find, load
from lmod_train.chat.dialect import Dialect
from lmod_train.chat.family.base import Family
from lmod_train.chat.generation import Decoding, respond
from lmod_train.types import Batch, Identity, Likelihoods, Reply


class HuggingFace(Backend):
    """Generates greedy replies with a local checkpoint of a family in `lmod_train.chat.family`, or of your own.

    Args:
        checkpoint: Folder in the layout of transformers, or name of a checkpoint in the package.
        max_new_tokens: Maximum length of a reply in tokens (LMOD Table 6: 512).
        dtype: Data type of weights and pixels.
        likelihoods: Log-likelihood of every choice in the requested format to store with the replies: ``sum`` over its
            tokens, their ``mean``, or ``none``. The report draws ROC curves and calibration from them.
        family: Class of the checkpoint's model family, if it is defined outside this package.

    Raises:
        WeightsNotFound: The checkpoint does not exist.
    """

    def __init__(
        self,
        checkpoint: str,
        max_new_tokens: int = 512,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        likelihoods: Likelihoods = "none",
        family: type[Family] | None = None,
    ) -> None:
        self._folder = find(checkpoint, family)
        self._name, self._dtype = checkpoint, getattr(torch, dtype)
        self._decoding = Decoding(max_new_tokens, likelihoods)
        self._dialect = Dialect(self._folder)
        self.collate = self._dialect
        self._model: PreTrainedModel | None = None

    def prepare(self, device: Any) -> None:
        """Load the network.

        Raises:
            WeightsMismatch: The weights do not fit, or give another number of image tokens than the prompt has.
        """
        if self._model is None:
            self._model = load(self._folder, self._dtype).eval()
            self._dialect.verify(self._model.config)
        self._model.to(device)

    def identity(self) -> Identity:
        """Return the checkpoint's files and the decoding settings."""
        return identity_of(self._folder, decoding=str(self._decoding), dtype=str(self._dtype))

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record."""
        if self._model is None:
            raise RuntimeError("call prepare(device) first")
        return respond(self._model, self._dialect, batch, self._decoding, self._name)
