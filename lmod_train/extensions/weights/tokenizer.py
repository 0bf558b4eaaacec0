"""The tokenizer of a published checkpoint, with the image token that transformers needs.

The file is a short list of pieces, so that the sentencepiece package is not needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, normalizers
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

from lmod_train.core.errors import NotConvertible
from lmod_train.core.weight_values import checkpoint_json
from lmod_train.extensions.weights.layout import Layout, Words

SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")

PLAIN = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
"""Special tokens of LLaMA's vocabulary, which early checkpoints do not state."""

TURN_ENDS = ("<|im_end|>", "<|end|>")
"""Tokens that end a turn, if the vocabulary has them."""


def words_of(layout: Layout) -> Words:
    """Return the tokenizer of a checkpoint with its image token, and facts that depend on it.

    Raises:
        NotConvertible: It has no tokenizer, or one whose tokens have other ids than its files state.
    """
    tokenizer = _tokenizer(layout.folder)
    new = [layout.image_token, *layout.added_tokens.values()]
    tokenizer.add_special_tokens({"additional_special_tokens": _specials(tokenizer, new)})
    tokenizer = _named(tokenizer, layout.added_tokens)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.unk_token or tokenizer.eos_token
    known = tokenizer.get_vocab()
    ends = sorted({tokenizer.eos_token_id, *(known[token] for token in TURN_ENDS if token in known)})
    return Words(
        tokenizer, max(known.values()) + 1, int(tokenizer.convert_tokens_to_ids(layout.image_token)), tuple(ends)
    )


def _specials(tokenizer: Any, new: list[str]) -> list[str]:
    named = {str(getattr(tokenizer, name)) for name in SPECIAL}
    old = [str(t) for t in tokenizer.added_tokens_decoder.values() if t.special and str(t) not in named]
    return list(dict.fromkeys([*old, *new]))


def _named(tokenizer: Any, added: Mapping[str, str]) -> Any:
    """Return the tokenizer with tokens that a processor asks for by attribute."""
    if not added:
        return tokenizer
    kept = {name: getattr(tokenizer, name) for name in SPECIAL}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, extra_special_tokens=dict(added), padding_side="left", **kept
    )


def _tokenizer(folder: Path) -> Any:
    if (folder / "tokenizer.json").is_file():
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    if (folder / "tokenizer.model").is_file():
        return _from_pieces(folder)
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return Qwen2Tokenizer.from_pretrained(folder, local_files_only=True)
    problem = "it holds no tokenizer (tokenizer.json, tokenizer.model, or vocab.json with merges.txt)"
    raise NotConvertible(folder, problem, "fetch the tokenizer's files that were published with these weights")


def _from_pieces(folder: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a ``tokenizer.model`` and of the files that state its further tokens."""
    vocabulary, settings = read_vocabulary(folder / "tokenizer.model"), _json(folder, "tokenizer_config.json")
    stated = _stated(folder, settings)
    size = len(vocabulary.pieces)
    made = vocabulary.tokenizer({i: t.content for i, t in stated.items() if i < size})
    special = {name: _special(folder, settings, name) for name in SPECIAL}
    named = {str(text) for text in special.values() if text}
    made.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in sorted(named)])
    for i, token in sorted(stated.items()):
        made.add_special_tokens([token]) if token.special else made.add_tokens([token])
        if made.token_to_id(token.content) != i:
            problem = (
                f"its token {token.content!r} should have the id {i} and would have {made.token_to_id(token.content)}"
            )
            raise NotConvertible(folder, problem, "put the tokenizer.json of this model beside tokenizer.model")
    if settings.get("add_bos_token", True):
        begin = str(special["bos_token"])
        made.post_processor = TemplateProcessing(
            single=f"{begin} $A", pair=f"{begin} $A $B", special_tokens=[(begin, made.token_to_id(begin))]
        )
    length = settings.get("model_max_length")
    longest = {"model_max_length": length} if length else {}
    return PreTrainedTokenizerFast(tokenizer_object=made, padding_side="left", **special, **longest)


def _special(folder: Path, settings: Mapping[str, Any], name: str) -> str | None:
    stated = settings.get(name) or _json(folder, "special_tokens_map.json").get(name) or PLAIN.get(name)
    return stated["content"] if isinstance(stated, dict) else stated


def _stated(folder: Path, settings: Mapping[str, Any]) -> dict[int, AddedToken]:
    """Return the tokens whose ids the files state beside the vocabulary, by id."""
    plain = _json(folder, "added_tokens.json")
    found = {int(i): AddedToken(token, normalized=False, special=True) for token, i in plain.items()}
    for i, about in settings.get("added_tokens_decoder", {}).items():
        found[int(i)] = AddedToken(
            about["content"],
            lstrip=about.get("lstrip", False),
            rstrip=about.get("rstrip", False),
            normalized=about.get("normalized", False),
            special=about.get("special", True),
        )
    return found


def _json(folder: Path, name: str) -> dict[str, Any]:
    file = folder / name
    return checkpoint_json(file) if file.is_file() else {}


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
