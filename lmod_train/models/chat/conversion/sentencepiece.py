"""Read a SentencePiece vocabulary (``tokenizer.model``) and convert it to a tokenizer of `tokenizers`.

The file is a short list of pieces, so that the sentencepiece package is not needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, normalizers
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer

from lmod_train.core.errors import NotConvertible

BPE_MODEL = 2
SPACE = "\u2581"
"""Character that SentencePiece uses for a space."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Content of a ``tokenizer.model``.

    Attributes:
        pieces: Text and score of each piece, in the order of their ids.
        begins_with_space: Whether a space is prepended to each text.
        charsmap: SentencePiece's table of character replacements; empty for none.
    """

    pieces: Sequence[tuple[str, float]]
    begins_with_space: bool
    charsmap: bytes

    def tokenizer(self, renamed: Mapping[int, str]) -> Tokenizer:
        """Return the tokenizer, without special tokens.

        Args:
            renamed: Texts of the ids that the checkpoint uses for other tokens than the file.
        """
        texts = [renamed.get(i, text) for i, (text, _) in enumerate(self.pieces)]
        vocabulary = {text: i for i, text in enumerate(texts)}
        merges = _merges({text: score for i, (text, score) in enumerate(self.pieces) if i not in renamed}, vocabulary)
        made = Tokenizer(BPE(vocabulary, merges, unk_token=texts[0], fuse_unk=True, byte_fallback=True))
        made.normalizer = normalizers.Sequence(self._normalizers())
        ending = [decoders.Strip(content=" ", left=1)] if self.begins_with_space else []
        spaces = decoders.Replace(SPACE, " ")
        made.decoder = decoders.Sequence([spaces, decoders.ByteFallback(), decoders.Fuse(), *ending])
        return made

    def _normalizers(self) -> list[Normalizer]:
        known: list[Normalizer] = [normalizers.Precompiled(self.charsmap)] if self.charsmap else []
        known += [normalizers.Prepend(SPACE)] if self.begins_with_space else []
        return [*known, normalizers.Replace(" ", SPACE)]


def read_vocabulary(file: Path) -> Vocabulary:
    """Return the content of a ``tokenizer.model``.

    Raises:
        NotConvertible: It is damaged, or is not byte-pair encoding.
    """
    try:
        fields = list(_fields(file.read_bytes()))
        pieces = [dict(_fields(value)) for number, value in fields if number == 1]
        trainer, normalizer = (dict(_fields(next((v for n, v in fields if n == k), b""))) for k in (2, 3))
        listed = [(p[1].decode("utf-8"), struct.unpack("<f", p.get(2, bytes(4)))[0]) for p in pieces]
    except (KeyError, IndexError, ValueError, struct.error) as error:
        raise NotConvertible(file, "it is not a SentencePiece vocabulary", "fetch the file again") from error
    if not listed or trainer.get(3, 1) != BPE_MODEL:
        raise NotConvertible(file, "it is not byte-pair encoding", "put the tokenizer.json of this model beside it")
    return Vocabulary(listed, bool(normalizer.get(3, 1)), normalizer.get(2, b""))


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of each field of a Protocol Buffers message; values are bytes or integers."""
    place = 0
    while place < len(data):
        key, place = _number(data, place)
        if key & 7 == 0:
            value, place = _number(data, place)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, place = _number(data, place)
        if place + size > len(data):
            raise ValueError("cut off")
        yield key >> 3, data[place : place + size]
        place += size


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Return an integer of variable length (varint), and the offset of the next value."""
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def _merges(scores: Mapping[str, float], vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the merges in order: SentencePiece merges to the piece of the highest score first."""
    found = [
        (score, piece[:cut], piece[cut:])
        for piece, score in scores.items()
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    found.sort(key=lambda m: (-m[0], -len(m[1]), vocabulary[m[1]], vocabulary[m[2]]))
    return [(left, right) for _, left, right in found]
