"""Replies of a vision-language model to a batch of records: many questions of an image decoded together.

The replies of all choices of all questions about an image share sequences, as in training
(`lmod_train.models.chat.shared_prefix`): the image is computed once a sequence, and each reply sees its own question
alone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

import torch
from lightning_utilities.core.rank_zero import rank_zero_info
from torch import Tensor

from lmod_train.core.errors import BadArgument, check_number
from lmod_train.core.package_data import package_data
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Batch, Constrain, Likelihoods, Record, Reply
from lmod_train.models.chat.answer_loss import token_losses
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Encoded
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.image_cache import Kept
from lmod_train.models.chat.masks import unshareable
from lmod_train.models.chat.prefixes import Asked
from lmod_train.models.chat.reply_text import StopWords, reply_text
from lmod_train.models.chat.sequences import pack
from lmod_train.models.chat.shared_prefix import share
from lmod_train.models.chat.token_loop import decoded

Method = Literal["papers", "plain", "model"]
"""``papers``: greedy, as in the papers (temperature 0, one beam), with the checkpoint's penalties; ``plain``: greedy
without them; ``model``: as the checkpoint's generation_config."""

PENALTIES: list[str] = package_data(__file__, "penalties.yaml")
"""Options of a generation_config that change logits, and so the choice of tokens in greedy decoding too."""

HOTTEST = 100.0
"""Largest temperature; tokens are then drawn almost evenly."""


@dataclass(frozen=True)
class Decoding:
    """Decoding settings.

    Attributes:
        max_new_tokens: Maximum length of a reply in tokens; 512 in LMOD's Table 6.
        likelihoods: Whether the log-likelihood of every choice is computed beside the reply, see `chat.likelihood`.
        method: Greedy, as in the papers; greedy without the checkpoint's penalties; or as the checkpoint's
            generation_config states, often with sampling. A repetition penalty of that file applies to the first and
            the last.
        seed: Seed of sampling; each record's own seed follows from it and the record's id.
        constrain: ``choices`` gives a record with choices the likeliest token that continues the reply of one of them
            in each step; None for free replies.
        temperature: 0 for greedy decoding; above 0 each token is drawn from all tokens, with the logits divided by it.
    """

    max_new_tokens: int = 512
    likelihoods: Likelihoods = "none"
    method: Method = "papers"
    seed: int = 0
    constrain: Constrain | None = None
    temperature: float = 0.0

    def __post_init__(self) -> None:
        """Check that a reply has at least one token, and that a seed is used."""
        if self.max_new_tokens < 1:
            raise BadArgument("max_new_tokens", self.max_new_tokens, "at least 1 token", "leave it out for 512")
        check_number("temperature", self.temperature, 0, HOTTEST, "leave it out for greedy decoding")
        if self.temperature and self.method == "model":
            cure = "leave `decoding: model` out, or the temperature, which its generation_config states"
            raise BadArgument("temperature", self.temperature, "0 with `decoding: model`", cure)
        if self.seed and not self.samples:
            raise BadArgument(
                "seed", self.seed, "0, as greedy decoding has no seed", "add a temperature, or `decoding: model`"
            )
        if self.constrain and self.samples:
            cure = "leave `decoding: model` or the temperature out, or add `--model.constrain null`"
            raise BadArgument("model.constrain", self.constrain, "greedy decoding", cure)

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn; each record then has a seed of its own."""
        return self.method == "model" or self.temperature > 0

    def seed_of(self, record: Record) -> int:
        """Return the seed of the reply to a record, from 0 to 2**63 - 1."""
        drawn = hashlib.sha256(f"{self.seed} {record.id}".encode()).digest()[:8]
        return int.from_bytes(drawn, "big") >> 1

    def checked(self, record: Record, reply: Sequence[int]) -> list[int]:
        """Return the tokens of a reply that a record may have, after checking that they are not too many."""
        if len(reply) > self.max_new_tokens:
            expected = f"at least {len(reply)}, the length of a reply to {record.id}, with `--model.constrain choices`"
            raise BadArgument("max_new_tokens", self.max_new_tokens, expected, f"set it to {len(reply)} or more")
        return list(reply)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `generate` that choose tokens."""
        if self.temperature:
            return {"do_sample": True, "num_beams": 1, "temperature": self.temperature, "top_k": 0, "top_p": 1.0}
        return {} if self.method == "model" else {"do_sample": False, "num_beams": 1}

    def applied_to(self, model: Any, name: str) -> None:
        """Remove the penalties of a loaded model's generation_config (``plain``), or print those that apply.

        Args:
            model: The model; its generation_config is changed by ``plain``.
            name: Its name in the message.
        """
        found = penalties(model)
        if self.method == "plain":
            for option in found:
                setattr(model.generation_config, option, None)
        elif found and self.method == "papers":
            listed = ", ".join(f"{option} {value}" for option, value in found.items())
            rank_zero_info(
                f"{name}: its generation_config sets {listed}, which changes greedy replies too; `decoding: plain` "
                "ignores it"
            )

    def settings_of(self, model: Any, constrained: bool = False) -> str:
        """Return the settings stored with a reply of a model: these, its penalties that apply, and its constraint."""
        only = {"constrain": self.constrain} if constrained else {}
        return json.dumps({**json.loads(str(self)), **penalties(model), **only}, sort_keys=True, default=str)

    def __str__(self) -> str:
        chosen = self.arguments() or {"generation_config": "model", "seed": self.seed}
        settings = {**chosen, "max_new_tokens": self.max_new_tokens}
        settings |= {"seed": self.seed} if self.temperature else {}
        settings |= {"penalties": "none"} if self.method == "plain" else {}
        wanted = {} if self.likelihoods == "none" else {"likelihoods": self.likelihoods}
        return json.dumps(settings | wanted, sort_keys=True)


def penalties(model: Any) -> dict[str, Any]:
    """Return name -> value of the options of a model's generation_config that change logits (`PENALTIES`)."""
    values = {name: getattr(model.generation_config, name, None) for name in PENALTIES}
    factors = ("repetition_penalty", "encoder_repetition_penalty", "guidance_scale")  # 1 changes nothing
    return {n: value for n, value in values.items() if value and not (n in factors and value == 1)}


@torch.no_grad()
def respond(
    model: Any, dialect: Dialect, batch: Batch, decoding: Decoding, name: str, step: int = 0, kept: Kept | None = None
) -> list[Reply]:
    """Return the reply to every record of a batch.

    Args:
        model: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that collated the batch.
        batch: Records with their images and prompt ids.
        decoding: Decoding settings.
        name: Name of the model in the replies.
        step: Optimiser steps of the checkpoint, for the key of the replies.
        kept: What the responder keeps of the images of a batch for later batches about them; None for nothing.

    Returns:
        One reply per record, in the batch's order; a record that cannot be asked has an error in place of it. An empty
        batch gives an empty list.
    """
    own = ChatBatch.of(batch)
    if unasked := own.unasked():
        rest = own.part([i for i in range(len(own)) if i not in unasked])
        replies = iter(respond(model, dialect, rest, decoding, name, step, kept) if len(rest) else [])
        settings = str(decoding)
        return [
            Reply(record.id, "", "error", unasked[i], step=step, model=name, settings=settings)
            if i in unasked
            else next(replies)
            for i, record in enumerate(own.records)
        ]
    began = time.perf_counter()
    kept = kept or Kept()
    prompts, ends = own.prompt_ids, end_tokens(model, dialect)
    kept.begin(own)
    encoded = kept.encode(model, own.images)
    stop = StopWords(dialect.tokenizer, dialect.prompting.stop)
    only: dict[int, list[list[int]]] = defaultdict(list)
    for choice in choice_replies(dialect, own) if decoding.constrain else ():
        only[choice.row].append(decoding.checked(own.records[choice.row], choice.ids))
    pad = int(dialect.tokenizer.pad_token_id)
    asked = Asked(model, encoded, prompts, own.images_of, ends, pad, stop, kept, only)
    drawn = [Random(decoding.seed_of(record)) for record in own.records] if decoding.temperature else []
    made = decoded(asked, decoding.max_new_tokens, decoding.temperature, drawn)
    likelihoods = choice_likelihoods(model, dialect, own, encoded, decoding.likelihoods)
    kept.end(own)
    seconds = (time.perf_counter() - began) / max(len(batch), 1)
    stored = [decoding.settings_of(model, limited) for limited in (False, True)]
    texts = [reply_text(tokens, ends, dialect.tokenizer, stop) for tokens in made]
    return [
        Reply(
            id=record.id,
            reply=text,
            finish_reason=ending,
            rendered=own.rendered[i],
            step=step,
            tokens_in=len(prompts[i]),
            tokens_out=count,
            seconds=round(seconds, 4),
            model=name,
            settings=stored[i in only],
            likelihoods=likelihoods[i],
        )
        for i, (record, (text, ending, count)) in enumerate(zip(batch.records, texts, strict=True))
    ]


def end_tokens(model: Any, dialect: Any) -> set[int]:
    """Return the ids of the tokens that end a reply, from model, tokenizer and template."""
    configured: Any = model.generation_config.eos_token_id if model.generation_config else None
    ends = set(configured) if isinstance(configured, list) else {configured} - {None}
    return ends | {dialect.tokenizer.eos_token_id, dialect.end_id}


LONGEST = 2048
"""Tokens of questions and replies, beside those of images, that a sequence of several replies may hold at most."""


@dataclass(frozen=True, slots=True)
class ChoiceReply:
    """One choice of one question.

    Attributes:
        row: Of the question in its batch.
        choice: The choice.
        ids: Token ids of the reply, its end token included: "1" competes with "10" by it.
    """

    row: int
    choice: str
    ids: list[int]


@torch.no_grad()
def choice_likelihoods(
    model: Any, dialect: Dialect, batch: ChatBatch, encoded: Encoded, kind: Likelihoods
) -> list[dict[str, float]]:
    """Return for each record the log-likelihood of every choice in nats.

    Exact: equal to one forward pass a choice. A record with regions, an open answer, or no reference reply, from which
    the format is taken, has none; the reference's own choice is not used.

    Args:
        model: A `...ForConditionalGeneration` of a known family, adapters included.
        dialect: The dialect that made the batch.
        batch: Records with their images and prompt ids.
        encoded: The batch's images, as `lmod_train.models.chat.encoding.encode` returns them.
        kind: ``sum`` or ``mean`` over the tokens of the reply and its end token; ``none`` computes nothing.

    Returns:
        Choice -> log-likelihood, one mapping a record, empty where there is none.
    """
    found: list[dict[str, float]] = [{} for _ in batch.records]
    replies = [] if kind == "none" else list(choice_replies(dialect, batch))
    for few in _sequences(model, batch, replies):
        sums = _sums(model, batch, few, encoded, int(dialect.tokenizer.pad_token_id))
        for reply, value in zip(few, sums.tolist(), strict=True):
            found[reply.row][reply.choice] = round(value / (len(reply.ids) if kind == "mean" else 1), 6)
    return found


def choice_replies(dialect: Dialect, batch: ChatBatch) -> Iterator[ChoiceReply]:
    """Yield the reply of every choice of every record, record by record; none where there are no such replies."""
    for row, record in enumerate(batch.records):
        for choice, text in replies_of(record).items():
            _, ids = dialect.encode(*dialect.render(replace(record, answer=text)))
            yield ChoiceReply(row, choice, ids)


def _sequences(model: Any, batch: ChatBatch, replies: Sequence[ChoiceReply]) -> Iterator[list[ChoiceReply]]:
    """Yield the replies of each sequence: of one image, of at most `LONGEST` tokens, or one alone."""
    if unshareable(model):
        yield from ([reply] for reply in replies)
        return
    prompts, images = [batch.prompt_ids[r.row] for r in replies], [batch.images_of[r.row] for r in replies]
    for group in share(prompts, [r.ids for r in replies], images, family_of(model).image_token_id):
        few: list[ChoiceReply] = []
        tokens = 0
        for reply in (replies[i] for i in group):
            own = len(batch.prompt_ids[reply.row]) - sum(_places(batch, reply.row)) + len(reply.ids)
            if few and tokens + own > LONGEST:
                yield few
                few, tokens = [], 0
            few.append(reply)
            tokens += own
        yield few


def _places(batch: ChatBatch, row: int) -> Iterator[int]:
    return ((batch.images.tokens or [])[image] for image in batch.images_of[row])


def _sums(model: Any, batch: ChatBatch, few: Sequence[ChoiceReply], encoded: Encoded, pad: int) -> Tensor:
    """Return the sum of the log-probabilities of each reply's tokens, (replies), in one forward pass."""
    prompts, images = [batch.prompt_ids[r.row] for r in few], [batch.images_of[r.row] for r in few]
    made = pack([range(len(few))], prompts, [r.ids for r in few], images, pad, model.device)
    losses = token_losses(model, made, encoded.select(made.images), encoded.grids_of(made.images))
    owners = made.segment.roll(-1, 1)[made.predicting()] - 1
    return torch.zeros(len(few), device=losses.device).index_add(0, owners, -losses)
