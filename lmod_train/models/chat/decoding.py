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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple

import torch
from lightning_utilities.core.rank_zero import rank_zero_info
from torch import Tensor
from transformers import LogitsProcessorList
from transformers.cache_utils import Cache, DynamicLayer

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
from lmod_train.models.chat.masks import dense_attention, masks_of_last, unshareable
from lmod_train.models.chat.prefixes import CACHE, Asked, Prefix, alike, prefilled
from lmod_train.models.chat.reply_text import StopWords, reply_text
from lmod_train.models.chat.sequences import pack
from lmod_train.models.chat.shared_prefix import share

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


# Decoding of many questions together, each prefix once.
_Adjust = Callable[[int, Sequence[int], Tensor], Tensor]
"""Function of a prompt's index, its reply so far and the logits (1, vocabulary) to the adjusted logits."""

_Pick = Callable[[Sequence[int], Tensor], list[int]]
"""Function of the indices of prompts and their logits (prompts, vocabulary) to the next token of each."""


@torch.no_grad()
def decoded(asked: Asked, new: int, temperature: float = 0.0, drawn: Sequence[Random] = ()) -> list[list[int]]:
    """Return the tokens of each reply, up to and including the first end token.

    Args:
        asked: The prompts.
        new: Maximum number of tokens of a reply.
        temperature: 0 for the most likely token in each step; else tokens are drawn.
        drawn: Random numbers of each prompt, one a token, so that a reply does not depend on the others.
    """
    made: list[list[int]] = [[] for _ in asked.prompts]
    pick = partial(_drawn, temperature=temperature, drawn=drawn) if temperature else _likeliest
    with dense_attention(asked.model):
        alone = bool(unshareable(asked.model))  # then one prompt after the other
    every = list(range(len(made)))
    for together in [[row] for row in every] if alone else [every] if every else []:
        prefixes = [prefilled(asked, group, whole=not alone) for group in alike(asked, together)]
        _decode(asked, Running(asked, prefixes, new, alone), made, new, pick)
    return made


def _decode(asked: Asked, running: Running, made: list[list[int]], new: int, pick: _Pick) -> None:
    """Append the tokens of the replies to `made`."""
    adjust = _adjustment(asked, new)
    scores = running.first()
    while scores:
        for row, token in _chosen(asked, scores, made, adjust, pick):
            made[row].append(token)
            if token in asked.ends or len(made[row]) == new or asked.stops(made[row]):
                running.end(row)
        scores = running.step(made)


def _chosen(
    asked: Asked, scores: Sequence[Scores], made: list[list[int]], adjust: _Adjust | None, pick: _Pick
) -> Iterator[tuple[int, int]]:
    """Yield each prompt's index with its next token."""
    for rows, logits in scores:
        values = logits.float()
        if adjust is not None:
            values = torch.cat([adjust(row, made[row], values[i : i + 1]) for i, row in enumerate(rows)])
        for row, token, own in zip(rows, pick(rows, values), values, strict=True):
            yield row, next_of(asked.only[row], made[row], own) if row in asked.only else token


def _likeliest(rows: Sequence[int], logits: Tensor) -> list[int]:
    tokens: list[int] = logits.argmax(-1).tolist()
    return tokens


def _drawn(rows: Sequence[int], logits: Tensor, temperature: float, drawn: Sequence[Random]) -> list[int]:
    """Return a token of each row, drawn by one random number: the first whose cumulative probability exceeds it."""
    apart = logits.double() - logits.amax(-1, keepdim=True).double()  # so that no small temperature overflows
    shares = (apart / temperature).softmax(-1).cumsum(-1)
    numbers = torch.tensor([[drawn[row].random()] for row in rows], dtype=shares.dtype, device=shares.device)
    found = torch.searchsorted(shares, numbers * shares[:, -1:], right=True).squeeze(-1)
    tokens: list[int] = found.clamp(max=logits.shape[-1] - 1).tolist()
    return tokens


def next_of(replies: Sequence[Sequence[int]], begun: Sequence[int], scores: Tensor) -> int:
    """Return the likeliest token that continues a reply as one of several; -1 if it is none of them, or whole.

    Args:
        replies: Token ids of the replies, each with its end token.
        begun: Token ids of the reply so far.
        scores: Score of each token (vocabulary); a choice may be one that a penalty rules out everywhere else.
    """
    at = len(begun)
    allowed = sorted({ids[at] for ids in replies if len(ids) > at and list(ids[:at]) == list(begun)})
    return allowed[int(scores[allowed].argmax())] if allowed else -1


def _adjustment(asked: Asked, new: int) -> _Adjust | None:
    """Return what the model's generation_config does to logits (repetition penalty ...), applied as in `generate`.

    None if it does nothing.
    """
    model = asked.model
    if model.generation_config is None:
        return None
    options = {"max_new_tokens": new, "eos_token_id": sorted(asked.ends), "pad_token_id": asked.pad}
    config, _ = model._prepare_generation_config(None, do_sample=False, num_beams=1, **options)
    model._prepare_special_tokens(config, True, device=model.device)

    def of(row: int) -> LogitsProcessorList:
        length = len(asked.prompts[row])
        made: LogitsProcessorList = model._get_logits_processor(config, length, device=model.device, model_kwargs={})
        return made

    if not of(0):
        return None
    every = [of(row) for row in range(len(asked.prompts))]

    def adjust(row: int, reply: Sequence[int], logits: Tensor) -> Tensor:
        ids: Any = torch.tensor([[*asked.prompts[row], *reply]], device=logits.device)
        return every[row](ids, logits)

    return adjust


STEPS = 64
"""Number of steps that memory is allocated for at once."""

Scores = tuple[list[int], Tensor]
"""Indices of prompts, and the logits of the token that follows each (prompts, vocabulary)."""


class Token(NamedTuple):
    """A token to compute.

    Attributes:
        id: Its id.
        row: Index of its prompt; -2 for padding.
        place: Its index in its prompt and reply.
        last: Whether the next token follows it.
    """

    id: int
    row: int
    place: int
    last: bool


class Running:
    """Sequences in generation, with the keys and values of their tokens.

    Args:
        asked: The prompts.
        prefixes: Computed prefixes of those to answer.
        new: Maximum number of tokens of a reply.
        alone: Whether it is one prompt, whose mask the network makes; the cache is then used as it is.

    Attributes:
        rows: Indices of the prompts of each sequence that have not ended.
        place: Index in its prompt and reply of the token in each column (sequences, columns).
        segment: 0 for the prefix, 1 + index of the prompt for its other tokens, -1 for padding.
    """

    def __init__(self, asked: Asked, prefixes: Sequence[Prefix], new: int, alone: bool) -> None:
        self._asked, self._prefixes, self._steps = asked, prefixes, new
        self.rows = [list(rows) for prefix in prefixes for rows in prefix.rows]
        self._masked = sum(map(len, self.rows)) > 1
        self._lag = torch.cat([prefix.lag for prefix in prefixes])
        lengths = torch.tensor([prefix.length for prefix in prefixes for _ in prefix.rows], device=self._lag.device)
        self.place = torch.arange(int(lengths.max()), device=lengths.device).repeat(len(lengths), 1)
        self.segment = torch.where(self.place < lengths[:, None], 0, -1)
        room = self._room(_width(self._questions()))
        self._cache = prefixes[0].cache if alone else KeyValues([prefix.cache for prefix in prefixes], room)

    def first(self) -> list[Scores]:
        """Return the scores of the first token of every reply; compute the questions behind shared prefixes."""
        known = [(p.rows[0], p.logits) for p in self._prefixes if p.logits is not None and self._whole(p)]
        questions = self._questions()
        return [*known, *([self._forward(questions)] if _width(questions) else [])]

    def _whole(self, prefix: Prefix) -> bool:
        """Return whether a prefix is all of its only prompt."""
        return prefix.length == len(self._asked.prompts[prefix.rows[0][0]])

    def _questions(self) -> list[list[Token]]:
        """Return the tokens of the prompts of each sequence behind its prefix."""
        prompts = self._asked.prompts
        begins = [prefix.length for prefix in self._prefixes for _ in prefix.rows]
        return [
            [Token(prompts[r][i], r, i, i + 1 == len(prompts[r])) for r in rows for i in range(begin, len(prompts[r]))]
            for rows, begin in zip(self.rows, begins, strict=True)
        ]

    def end(self, row: int) -> None:
        """Take a prompt out."""
        for rows in self.rows:
            if row in rows:
                rows.remove(row)

    def step(self, replies: Sequence[Sequence[int]]) -> list[Scores]:
        """Compute the last token of every reply that has not ended, and return the scores of the next ones.

        Args:
            replies: Tokens of the reply to each prompt.
        """
        if not any(self.rows):
            return []
        self._steps -= 1
        self._tidy(max(map(len, self.rows)))
        prompts = self._asked.prompts
        newest = [
            [Token(replies[r][-1], r, len(prompts[r]) + len(replies[r]) - 1, True) for r in rows] for rows in self.rows
        ]
        return [self._forward(newest)]

    def _forward(self, tokens: list[list[Token]]) -> Scores:
        """Compute the next tokens of each sequence, padded at the end."""
        width, padding = _width(tokens), Token(self._asked.pad, -2, 0, last=False)
        padded = [[*own, *[padding] * (width - len(own))] for own in tokens]
        ids, row, place, last = torch.tensor(padded, device=self.place.device).unbind(-1)
        self.place, self.segment = torch.cat([self.place, place], 1), torch.cat([self.segment, row + 1], 1)
        model, positions = self._asked.model, place + self._lag
        with dense_attention(model):
            logits = model(
                input_ids=ids,
                attention_mask=masks_of_last(model, self, width) if self._masked else None,
                position_ids=positions.expand(3, -1, -1) if family_of(model).three_axis else positions,
                **{CACHE: self._cache},
                use_cache=True,
                logits_to_keep=last.bool(),
            ).logits
        return [t.row for own in tokens for t in own if t.last], logits

    def _tidy(self, width: int) -> None:
        """Remove sequences without questions; with these, and where the room is used up, all tokens that have ended."""
        cache, left = self._cache, [i for i, rows in enumerate(self.rows) if rows]
        used = self.place.shape[1] + width
        if not isinstance(cache, KeyValues) or (len(left) == len(self.rows) and used <= cache.full):
            return
        self.rows = [self.rows[i] for i in left]
        sequences = torch.tensor(left, device=self.place.device)
        alive = torch.tensor([0, *(row + 1 for rows in self.rows for row in rows)], device=self.place.device)
        columns = torch.isin(self.segment[sequences], alive).any(0).nonzero()[:, 0]
        self.place, self.segment = (t[sequences][:, columns] for t in (self.place, self.segment))
        self._lag = self._lag[sequences]
        cache.rearrange(sequences, columns, self._room())

    def _room(self, questions: int = 0) -> int:
        """Return the number of columns of the present tokens, of the questions and of the next steps."""
        ahead = min(STEPS, self._steps) * max(map(len, self.rows))
        return self.place.shape[1] + questions + ahead


def _width(tokens: Sequence[Sequence[Token]]) -> int:
    return max(map(len, tokens))


class KeyValues(Cache):
    """Keys and values of all layers, to which new tokens are written in place.

    A `DynamicCache` of transformers is copied as a whole for every new token.

    Args:
        prefixes: Caches of prefixes, each with one or more sequences of one length, from 1; they are emptied. Shorter
            ones are padded with zeros at the end.
        room: Number of tokens to allocate for each sequence, prefix included.
    """

    def __init__(self, prefixes: Sequence[Cache], room: int) -> None:
        columns = max(prefix.get_seq_length() for prefix in prefixes)
        layers = zip(*(prefix.layers for prefix in prefixes), strict=True)
        super().__init__(layers=[_Layer(of_each, columns, room) for of_each in layers])

    @property
    def full(self) -> int:
        """Number of tokens that are allocated for each sequence."""
        layer: Any = self.layers[0]
        return int(layer.room)

    def rearrange(self, sequences: Tensor, columns: Tensor, room: int) -> None:
        """Keep some sequences, and of these some tokens, in newly allocated tensors.

        Args:
            sequences: Indices of the sequences to keep.
            columns: Indices of the tokens to keep, in ascending order.
            room: Number of tokens to allocate for each sequence.
        """
        for layer in self.layers:
            layer.rearrange(sequences, columns, room)  # type: ignore[union-attr]


class _Layer(DynamicLayer):
    """Keys and values of one layer; `keys` and `values` are the columns in use.

    Every layer holds all tokens, also one with a sliding window: the mask decides what is attended to.
    """

    keys: Tensor
    values: Tensor

    def __init__(self, prefixes: Sequence[Any], columns: int, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(prefixes[0].keys, prefixes[0].values)
        self._all = [_allocated([getattr(p, name) for p in prefixes], room) for name in ("keys", "values")]
        for prefix in prefixes:
            prefix.keys = prefix.values = None  # so that memory is freed layer by layer
        self._use(columns)

    @property
    def room(self) -> int:
        return self._all[0].shape[2]

    def _use(self, columns: int) -> None:
        self.keys, self.values = (whole[:, :, :columns] for whole in self._all)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        begin = self.get_seq_length()
        self._use(begin + key_states.shape[2])
        self.keys[:, :, begin:], self.values[:, :, begin:] = key_states, value_states
        return self.keys, self.values

    def rearrange(self, sequences: Tensor, columns: Tensor, room: int) -> None:
        used = self.keys, self.values
        self._all = [_allocated([part[sequences].index_select(2, columns)], room) for part in used]
        self._use(len(columns))


def _allocated(parts: Sequence[Tensor], room: int) -> Tensor:
    """Return (sequences, heads, room, width) that begins with the parts, each at the first column, and is 0 behind."""
    _, heads, _, width = parts[0].shape
    made = parts[0].new_zeros(sum(len(p) for p in parts), heads, room, width)
    for place, part in zip(made.split([len(p) for p in parts]), parts, strict=True):
        place[:, :, : part.shape[2]] = part
    return made
