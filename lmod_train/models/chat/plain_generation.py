"""Generation by transformers' own `generate`, for any class of `AutoModelForImageTextToText`.

Several records are generated together if padding on the left changes nothing for this processor and network, and one at
a time otherwise. Where tokens are drawn each record is generated alone, with a seed of its own, so that its reply does
not depend on the records beside it.

The tokens of a choice are forced in `generate`, so that the network's inputs are those of its own generation; no
knowledge about masks or positions of the class is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from PIL import Image
from transformers import LogitsProcessor

from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Batch, Likelihoods, Record, Reply
from lmod_train.models.chat.decoding import Decoding, end_tokens
from lmod_train.models.chat.plain_dialect import PlainBatch, PlainDialect
from lmod_train.models.chat.reply_text import StopWords, opened_block, reply_text
from lmod_train.models.chat.token_loop import next_of

_PROBES = ("Which?", "Describe this picture in one short sentence, please.")
_CLOSE = {torch.float32: 1e-3}
"""Greatest difference of log-probabilities that counts as none, by data type of the weights; 0.3 for 16 bits."""


@torch.no_grad()
def respond(
    model: Any, dialect: PlainDialect, batch: Batch, decoding: Decoding, name: str, together: bool
) -> list[Reply]:
    """Return the reply to every record of a batch.

    Args:
        model: A network that `generate` can be called on.
        dialect: The dialect that collated the batch.
        batch: Records with their pictures and prompts.
        decoding: Decoding settings.
        name: Name of the model in the replies.
        together: Whether records with equally many pictures are generated together, see `obstacle`.

    Returns:
        One reply per record, in the batch's order; a record that cannot be asked has an error in place of it. An empty
        batch gives an empty list.

    Raises:
        BadArgument: The processor refuses a record, e.g. as its class needs a picture or takes only one.
    """
    own = PlainBatch.of(batch)
    given: dict[str, Any] = {"finish_reason": "error", "model": name, "settings": str(decoding)}
    replies = {i: Reply(own.records[i].id, "", error=why, **given) for i, why in own.refused.items()}
    for rows in _groups(own, together and not decoding.samples):
        replies |= dict(zip(rows, _replies(model, dialect, own, rows, decoding, name), strict=True))
    return [replies[row] for row in range(len(own))]


def _groups(batch: PlainBatch, together: bool) -> list[list[int]]:
    """Return the rows that are generated together: those with equally many pictures, which some classes need."""
    asked = [row for row in range(len(batch)) if row not in batch.refused]
    if not together:
        return [[row] for row in asked]
    groups: dict[int, list[int]] = {}
    for row in asked:
        groups.setdefault(len(batch.pictures[row]), []).append(row)
    return list(groups.values())


def _replies(
    model: Any, dialect: PlainDialect, batch: PlainBatch, rows: Sequence[int], decoding: Decoding, name: str
) -> list[Reply]:
    began = time.perf_counter()
    inputs, ends = dialect.inputs(batch, rows).to(model.device, dtype=model.dtype), end_tokens(model, dialect)
    begin, stop = inputs["input_ids"].shape[1], StopWords(dialect.tokenizer, dialect.prompting.stop)
    only = [_only(dialect, batch, row, decoding) for row in rows]
    with _seeded(model, batch.records[rows[0]], decoding):
        made = model.generate(
            **inputs,
            **decoding.arguments(),
            max_new_tokens=decoding.max_new_tokens,
            eos_token_id=sorted(ends),
            pad_token_id=dialect.tokenizer.pad_token_id,
            stopping_criteria=_stopping(stop, begin),
            logits_processor=[_Only(only, begin)] if any(only) else [],
        )[:, begin:].tolist()
    for allowed, tokens in zip(only, made, strict=True):
        if allowed and not any(tokens[: len(reply)] == reply for reply in allowed):
            expected = f"none for {type(model).__name__}, whose `generate` leaves out what limits its replies"
            raise BadArgument("model.constrain", decoding.constrain, expected, "add `--model.constrain null`")
    likelihoods = [choice_likelihoods(model, dialect, batch, row, decoding.likelihoods) for row in rows]
    seconds = (time.perf_counter() - began) / len(rows)
    lengths = inputs["attention_mask"].sum(1).tolist()
    settings, replies = [decoding.settings_of(model, limited) for limited in (False, True)], []
    for place, row in enumerate(rows):
        text, ending, count = reply_text(_until_end(made[place], ends), ends, dialect.tokenizer, stop)
        replies.append(
            Reply(
                id=batch.records[row].id,
                reply=opened_block(batch.rendered[row]) + text,
                finish_reason=ending,
                rendered=batch.rendered[row],
                tokens_in=lengths[place],
                tokens_out=count,
                seconds=round(seconds, 4),
                model=name,
                settings=settings[bool(only[place])],
                likelihoods=likelihoods[place],
            )
        )
    return replies


def _only(dialect: PlainDialect, batch: PlainBatch, row: int, decoding: Decoding) -> list[list[int]]:
    """Return the token ids of the replies that a record may have; none if it may have any.

    Raises:
        BadArgument: The model thinks before it replies.
    """
    record = batch.records[row]
    texts = replies_of(record).values() if decoding.constrain else ()
    if texts and opened_block(batch.rendered[row]):
        expected = "none for a reasoning model, whose template opens a thinking block before the reply"
        cure = "add `--model.constrain null`, or use the instruct variant of the checkpoint"
        raise BadArgument("model.constrain", decoding.constrain, expected, cure)
    prompt = dialect.inputs(batch, [row])["input_ids"][0].tolist() if texts else []
    return [decoding.checked(record, dialect.answer_ids(batch, row, text, prompt)) for text in texts]


class _Only(LogitsProcessor):
    """Rules out every token but the likeliest that continues one of the replies that a row may have.

    Args:
        only: Token ids of the replies of each row; none for a row that may have any.
        begin: Column of the first token of a reply.
    """

    def __init__(self, only: Sequence[Sequence[Sequence[int]]], begin: int) -> None:
        self._only, self._begin = only, begin

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        for row, (replies, ids) in enumerate(zip(self._only, input_ids.tolist(), strict=True)):
            token = next_of(replies, ids[self._begin :], scores[row])
            if token >= 0:
                scores[row] = -torch.inf
                scores[row, token] = 0
        return scores


def _stopping(stop: StopWords, begin: int) -> list[Callable[..., torch.Tensor]]:
    """Return the criterion of `generate` that ends replies at stop words, or none without stop words.

    Args:
        stop: The stop words.
        begin: Column of the first token of a reply.
    """

    def ended(ids: torch.Tensor, _: Any) -> torch.Tensor:
        return torch.tensor([stop(row) for row in ids[:, begin:].tolist()], device=ids.device)

    return [ended] if stop.words else []


def _until_end(tokens: list[int], ends: set[int]) -> list[int]:
    """Return the tokens up to and including the first end token."""
    end = next((i for i, t in enumerate(tokens) if t in ends), len(tokens) - 1)
    return tokens[: end + 1]


@contextmanager
def _seeded(model: Any, record: Record, decoding: Decoding) -> Iterator[None]:
    """Set the seed of a record, and restore torch's random numbers afterwards; nothing for greedy decoding."""
    if not decoding.samples:
        yield
        return
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(decoding.seed_of(record))
        yield


@torch.no_grad()
def obstacle(model: Any, dialect: PlainDialect) -> str:
    """Return why records cannot be generated together; empty if they can.

    The next token of two short questions about a grey picture, padded together, must be as likely as of each alone.

    Args:
        model: The network.
        dialect: The dialect of its checkpoint.
    """
    penalised = _penalty(model)
    if penalised:
        return f"{penalised} of its generation_config counts padding"
    probes = dialect.probes(_PROBES, Image.new("RGB", (120, 90), (90, 60, 40)))
    try:
        together = _next(model, dialect, probes, [0, 1])
    except Exception as error:  # processors and networks raise errors of many types
        return f"it refuses two records at once ({type(error).__name__}: {error})"
    alone = torch.cat([_next(model, dialect, probes, [row]) for row in (0, 1)])
    if (together - alone).abs().max() > _CLOSE.get(model.dtype, 0.3):
        return "padding on the left changes its output"
    return ""


def _penalty(model: Any) -> str:
    """Return the setting of the generation_config that depends on the tokens of the prompt; empty if there is none."""
    config = model.generation_config
    if getattr(config, "repetition_penalty", None) not in (None, 1.0):
        return "repetition_penalty"
    return "no_repeat_ngram_size" if getattr(config, "no_repeat_ngram_size", None) else ""


def _next(model: Any, dialect: PlainDialect, batch: PlainBatch, rows: Sequence[int]) -> torch.Tensor:
    """Return the log-probabilities of the next token that are not negligible, (rows, vocabulary)."""
    inputs = dialect.inputs(batch, rows).to(model.device, dtype=model.dtype)
    made = model.generate(
        **inputs,
        max_new_tokens=1,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
        pad_token_id=dialect.tokenizer.pad_token_id,
    )
    logits: torch.Tensor = made.logits[0].float().log_softmax(-1).clamp_min(-10)
    return logits


@torch.no_grad()
def choice_likelihoods(
    model: Any, dialect: PlainDialect, batch: PlainBatch, row: int, kind: Likelihoods
) -> dict[str, float]:
    """Return the log-likelihood of every choice of a record in nats, its end token included.

    Equal to the loss of transformers. A record with regions, an open answer, or no reference reply, from which the
    format is taken, has none; the reference's own choice is not used.

    Args:
        model: A network that `generate` can be called on.
        dialect: The dialect that made the batch.
        batch: Records with their pictures and prompts.
        row: Row of the record.
        kind: ``sum`` or ``mean`` over the tokens of the reply and its end token; ``none`` computes nothing.
    """
    replies = {} if kind == "none" else replies_of(batch.records[row])
    if not replies:
        return {}
    inputs = dialect.inputs(batch, [row])
    prompt = inputs["input_ids"][0].tolist()
    inputs = inputs.to(model.device, dtype=model.dtype)
    found: dict[str, float] = {}
    for choice, text in replies.items():
        tokens = dialect.answer_ids(batch, row, text, prompt)
        value = _sum(model, inputs, tokens, int(dialect.tokenizer.pad_token_id))
        found[choice] = round(value / (len(tokens) if kind == "mean" else 1), 6)
    return found


def _sum(model: Any, inputs: Any, tokens: list[int], pad: int) -> float:
    """Return the sum of the log-probabilities of tokens behind a prompt."""
    begin = inputs["input_ids"].shape[1]
    made = model.generate(
        **inputs,
        prefix_allowed_tokens_fn=lambda _, ids: [tokens[len(ids) - begin]],
        max_new_tokens=len(tokens),
        do_sample=False,
        num_beams=1,
        output_logits=True,
        return_dict_in_generate=True,
        eos_token_id=[],
        pad_token_id=pad,
    )
    logs = torch.cat(made.logits).float().log_softmax(-1)  # of the network itself, before a token is forced
    return float(logs.gather(1, torch.tensor(tokens, device=logs.device)[:, None]).sum())
