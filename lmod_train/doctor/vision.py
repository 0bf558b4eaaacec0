"""Does the model look? Config, processor and weights agree on an image, and another one changes the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from lmod_train.callbacks.tripwires import with_picture_of
from lmod_train.chat.encoding import encode
from lmod_train.chat.family import family_of
from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject
from lmod_train.pixels import open_rgb
from lmod_train.types import Record

BLIND = 1e-4
"""Relative change of the next-token scores below which an image has no effect; rounding in bfloat16 stays off 1e-2."""

TRIED = 16
"""Pairs of pictures that may hold the same pixels before the last hope of another is given up."""


def contract(subject: Subject) -> Iterator[Finding]:
    """Encode two images: tower, processor and prompt agree on how many embeddings an image is, and none is NaN."""
    pair = _pair(subject)
    if pair is None or subject.module is None or subject.module.model is None:
        yield Finding("vision", "skip", "no network, or fewer than two images to encode")
        return
    module: Any = subject.module
    batch = module.collate(pair, subject.data.curated)  # type: ignore[union-attr]
    with torch.no_grad():
        encoded = encode(module.network, batch.tensors["images"])
    token = family_of(module.network).image_token_id
    places = [prompt.count(token) for prompt in batch.tensors["prompt_ids"]]
    made = [encoded.tokens[i] for i in batch.image_of]
    vision = module.network.config.vision_config
    said = ", ".join(f"{k} {getattr(vision, k)}" for k in ("image_size", "patch_size") if hasattr(vision, k))
    layer = getattr(module.network.config, "vision_feature_layer", None)
    said += "" if layer is None else f", features of layer {layer}"
    if made != places:
        why = "features would land on the wrong places, or the forward pass stops"
        cure = "use the processor files published with these weights"
        yield Finding("vision", "fail", f"{made} embeddings for {places} places in the prompt ({said})", why, cure)
    elif not all(bool(torch.isfinite(f).all()) for f in encoded.features):
        why = "NaN spreads to every weight at the first step"
        yield Finding("vision", "fail", f"image features are not finite ({said})", why, "use dtype float32 or bfloat16")
    else:
        yield Finding("vision", "ok", f"{made[0]} embeddings an image, {said}")


def sensitivity(subject: Subject) -> Iterator[Finding]:
    """Exchange the image of a question: the scores of the next token must change."""
    pair = _pair(subject)
    if pair is None or subject.module is None or subject.module.model is None:
        yield Finding("sensitivity", "skip", "no network, or fewer than two images to exchange")
        return
    own, other = _scores(subject, [pair[0], with_picture_of(pair[0], pair[1])])
    change = ((own - other).norm() / own.norm().clamp_min(1e-12)).item()
    if not math.isfinite(change):
        what = "the scores of the next token are not finite"
        why = "NaN spreads to every weight at the first step"
        yield Finding("sensitivity", "fail", what, why, "use dtype float32 or bfloat16, or fetch the weights again")
    elif change < BLIND and _alike(subject, *pair):
        what = f"the pictures of {pair[0].id} and {pair[1].id} hold the same pixels, and no two others were found"
        why = "nothing can be told apart by looking; the model was not at fault here, and was not tried"
        cure = "compare the curated images with the raw ones (blank files, one file under many names)"
        yield Finding("sensitivity", "fail", what, why, cure)
    elif change < BLIND:
        what = f"another image changes the next token's scores by {change:.1e} of their size"
        why = "a model that does not see can learn nothing from images, and answers all alike"
        cure = "compare tower and projector with the published files; a fresh projector needs its own pre-training"
        yield Finding("sensitivity", "fail", what, why, cure)
    else:
        yield Finding(
            "sensitivity", "ok", f"another image changes the next token's scores by {change:.1%} of their size"
        )


def _pair(subject: Subject) -> list[Record] | None:
    """Return two training records of the same task with one image each, of other pixels where there are such.

    None where no task has two images.
    """
    first: dict[str, Record] = {}
    alike: list[list[Record]] = []
    for record in subject.records():
        if len(record.image) != 1 or len(alike) == TRIED:
            continue
        known = first.setdefault(record.task, record)
        if known.image == record.image:
            continue
        if not _alike(subject, known, record):
            return [known, record]
        alike.append([known, record])
    return alike[0] if alike else None


def _alike(subject: Subject, one: Record, other: Record) -> bool:
    """Return whether the pictures of two records hold the same pixels."""
    root = subject.data.curated  # type: ignore[union-attr]
    own, theirs = (open_rgb(root / record.image[0]) for record in (one, other))
    return own.size == theirs.size and own.tobytes() == theirs.tobytes()


def _scores(subject: Subject, asked: Sequence[Record]) -> list[Tensor]:
    """Return the scores of the next token after each prompt, (vocabulary)."""
    module: Any = subject.module
    module.eval()
    scores = []
    with torch.no_grad():
        for record in asked:
            batch = module.collate([record], subject.data.curated)  # type: ignore[union-attr]
            ids = torch.tensor(batch.tensors["prompt_ids"], device=module.network.device)
            given = encode(module.network, batch.tensors["images"]).inputs(ids, [0])
            scores.append(module.network(input_ids=ids, logits_to_keep=1, **given).logits[0, -1].float())
    return scores
