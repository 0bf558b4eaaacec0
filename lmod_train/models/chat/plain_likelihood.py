"""Log-likelihoods of the choices of a question, for any class of transformers: one choice at a time.

The tokens of a choice are forced in `generate`, so that the network's inputs are those of its own generation; no
knowledge about masks or positions of the class is needed.
"""

from __future__ import annotations

from typing import Any

import torch

from lmod_train.core.types import Likelihoods
from lmod_train.core.wording import replies_of
from lmod_train.models.chat.plain_dialect import PlainBatch, PlainDialect


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
