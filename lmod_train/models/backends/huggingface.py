"""Backend for zero-shot evaluation of a local checkpoint in the layout of transformers."""

from __future__ import annotations

import ctypes
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_utilities.core.rank_zero import rank_zero_info
from transformers import PreTrainedModel

from lmod_train.core.errors import WeightsMismatch
from lmod_train.core.types import Batch, Identity, Likelihoods, Reply
from lmod_train.models.backends.base import Backend
from lmod_train.models.chat import decoding as generation
from lmod_train.models.chat import plain_generation
from lmod_train.models.chat.base_files import identity_of
from lmod_train.models.chat.checkpoint import Attention, Quantise, find_any, load, model_type_of
from lmod_train.models.chat.decoding import Decoding, Method
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.family import is_known
from lmod_train.models.chat.family.base import Family
from lmod_train.models.chat.image_cache import Kept
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.plain_dialect import PlainDialect
from lmod_train.models.chat.prompting import Prompting


class HuggingFace(Backend):
    """Generates replies with a local checkpoint of any class of transformers' `AutoModelForImageTextToText`.

    Families in `lmod_train.models.chat.family`, or of your own, compute an image and the common words of its questions
    once; other classes, and `decoding: model`, use `generate` of transformers.

    Args:
        checkpoint: Folder in the layout of transformers, or name of a checkpoint in the package.
        max_new_tokens: Maximum length of a reply in tokens (LMOD Table 6: 512).
        dtype: Data type of weights and pixels.
        likelihoods: Log-likelihood of every choice in the requested format to store with the replies: ``sum`` over its
            tokens, their ``mean``, or ``none``. The report draws ROC curves and calibration from them.
        family: Class of the checkpoint's model family, if it is defined outside this package.
        prompt: Chat template, system text, stop words and thinking.
        images: Shape, pixel limits and number of tiles of pictures.
        decoding: ``papers`` is greedy, with the penalties of the checkpoint's generation_config (repetition_penalty,
            no_repeat_ngram_size ...), which are printed and stored with the replies; ``plain`` is greedy without them;
            ``model`` is as that file states, often with sampling.
        temperature: 0 for greedy decoding; above 0 the tokens of replies are drawn, e.g. for `data.asking.repeats`.
        seed: Seed of drawn replies. The reply to a record depends on it and on the record only.
        attention: Implementation of attention; null for the choice of transformers.
        quantise: ``nf4`` or ``int8`` for the matrices of the language model, of an unknown family of all but the head;
            needs bitsandbytes. Null for `dtype`.

    Raises:
        WeightsNotFound: The checkpoint does not exist.
        BadArgument: transformers has no such class, or an option does not apply to it.
    """

    def __init__(
        self,
        checkpoint: str,
        max_new_tokens: int = 512,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        likelihoods: Likelihoods = "none",
        family: type[Family] | None = None,
        prompt: Prompting = Prompting(),
        images: Pictures = Pictures(),
        decoding: Method = "papers",
        seed: int = 0,
        attention: Attention | None = None,
        temperature: float = 0.0,
        quantise: Quantise | None = None,
    ) -> None:
        self._quantise = quantise
        self._folder = find_any(checkpoint, family)
        self._name, self._dtype, self._attention = checkpoint, getattr(torch, dtype), attention
        self._decoding = Decoding(max_new_tokens, likelihoods, decoding, seed, None, temperature)
        self._prompt, self._images = prompt, images
        self._dialect = self._dialect_of(self._folder)
        self.collate = self._dialect
        self._model: PreTrainedModel | None = None
        self._together = False
        self._kept = Kept()

    def _dialect_of(self, folder: Path) -> Dialect | PlainDialect:
        """Return the dialect of a known family, unless it is decoded or written in a way that only `generate` has."""
        if is_known(model_type_of(folder)) and self._decoding.method != "model":
            with suppress(WeightsMismatch):  # a template that opens a thinking block, or one that is missing
                return Dialect(folder, self._prompt, self._images)
        return PlainDialect(folder, self._prompt, self._images)

    def prepare(self, device: Any) -> None:
        """Load the network, and print how it is used if its family is not known.

        Raises:
            WeightsMismatch: The weights do not fit, or give another number of image tokens than the prompt has.
            BadArgument: The class or this machine does not support `attention`.
        """
        if self._model is not None:
            torch.nn.Module.to(self._model, device)
            return
        if torch.device(device).type == "cpu":
            _keep_freed_memory()
        self._model = load(self._folder, self._dtype, self._attention, quantise=self._quantise).eval()
        torch.nn.Module.to(self._model, device)  # transformers refuses to move int8, which bitsandbytes can by now
        self._decoding.applied_to(self._model, self._name)
        if isinstance(self._dialect, Dialect):
            self._dialect.verify(self._model.config)
        else:
            obstacle = self._obstacle(self._model, self._dialect)
            self._together = not obstacle
            how = f"one record at a time, as {obstacle}" if obstacle else "records in batches, padded on the left"
            rank_zero_info(f"{self._name} ({self._dialect.model_type}): `generate` of transformers, {how}")
            if self._dialect.pictures.fit == "crop":
                rank_zero_info(
                    f"{self._name}: its processor crops the centre of pictures, as in transformers alone. "
                    "`--model.backend.images.fit pad` shows whole pictures; "
                    f"`python -m lmod_train audit {shlex.quote(str(self._folder))} CURATED` measures what is lost"
                )

    def _obstacle(self, model: PreTrainedModel, dialect: PlainDialect) -> str:
        if self._decoding.samples:
            return "its replies are drawn, each with a seed of its own"
        return plain_generation.obstacle(model, dialect)

    def constrain(self) -> None:
        """Decode greedily over the tokens of the choices."""
        self._decoding = replace(self._decoding, constrain="choices")

    def opened(self) -> tuple[PreTrainedModel | None, Dialect | PlainDialect]:
        """Return the network, None before `prepare`, and its dialect."""
        return self._model, self._dialect

    def identity(self) -> Identity:
        """Return the checkpoint's files, the decoding settings, and those options that differ from their defaults."""
        decoding, dtype = str(self._decoding), str(self._dtype)
        images = self._dialect.pictures  # a class that is no family crops by default, as its processor does
        options = self._prompt, images, self._attention, self._quantise
        return identity_of(self._folder, *options, decoding=decoding, dtype=dtype)

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record."""
        if self._model is None:
            raise RuntimeError("call prepare(device) first")
        model, dialect = self._model, self._dialect
        if isinstance(dialect, Dialect):
            return generation.respond(model, dialect, batch, self._decoding, self._name, kept=self._kept)
        return plain_generation.respond(model, dialect, batch, self._decoding, self._name, self._together)


def _keep_freed_memory() -> None:
    """Let the C library keep what a layer frees for the next one, up to 2 GiB; else the system zeroes it each time."""
    with suppress(OSError, TypeError, AttributeError):  # another C library than glibc
        allocator = ctypes.CDLL(None)
        allocator.mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD, at its most
        allocator.mallopt(-1, (2 << 30) - 1)  # M_TRIM_THRESHOLD
