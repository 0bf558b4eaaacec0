"""The tokenizer of a published checkpoint, with the image token that transformers needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer

from lmod_train.core.errors import NotConvertible
from lmod_train.models.chat.conversion.sentencepiece import read_vocabulary
from lmod_train.models.chat.layouts.base import Layout, Words

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
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return read
