"""Checks of the image path: number of image embeddings, finite features, and the effect of the image on the logits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from PIL.Image import Image
from torch import Tensor

from lmod_train.core.types import Record
from lmod_train.models.chat.batch import ChatBatch
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from lmod_train.training.callbacks.tripwires import with_images_of
from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.subject import Subject

BLIND = 1e-4
"""Relative change of the next-token logits below which an image has no effect; real images change them by over 1e-2."""

TRIED = 16
"""Number of pairs with the same pixels after which the search for a differing pair stops."""


WHY_NOT_FINITE = "NaN spreads to every weight at the first step"


def contract(subject: Subject) -> Iterator[CheckResult]:
    """Encode two images, and check that the features are finite and as many as the prompt has image tokens."""
    pair = _pair(subject)
    if pair is None or subject.module is None or subject.module.model is None:
        yield CheckResult("vision", "skip", "no network, or fewer than two images to encode")
        return
    module: Any = subject.module
    batch = ChatBatch.of(module.collate(pair, subject.data.images))  # type: ignore[union-attr]
    with torch.no_grad():
        encoded = encode(module.network, batch.images)
    token = family_of(module.network).image_token_id
    places = [prompt.count(token) for prompt in batch.prompt_ids]
    made = [sum(encoded.tokens[i] for i in own) for own in batch.images_of]
    vision = module.network.config.vision_config
    setup = ", ".join(f"{k} {getattr(vision, k)}" for k in ("image_size", "patch_size") if hasattr(vision, k))
    layer = getattr(module.network.config, "vision_feature_layer", None)
    setup += "" if layer is None else f", features of layer {layer}"
    if made != places:
        why = "features would be put at the wrong positions, or the forward pass stops with an error"
        cure = "use the processor files published with these weights"
        what = f"{made} image embeddings for {places} image tokens in the prompt ({setup})"
        yield CheckResult("vision", "fail", what, why, cure)
    elif not all(bool(torch.isfinite(f).all()) for f in encoded.features):
        what = f"image features are not finite ({setup})"
        yield CheckResult("vision", "fail", what, WHY_NOT_FINITE, "use dtype float32 or bfloat16")
    else:
        yield CheckResult("vision", "ok", f"{encoded.tokens[0]} embeddings per image, {setup}")


def sensitivity(subject: Subject) -> Iterator[CheckResult]:
    """Replace the image of a question by another one, and check that the next-token logits change."""
    pair = _pair(subject)
    if pair is None or subject.module is None or subject.module.model is None:
        yield CheckResult("sensitivity", "skip", "no network, or fewer than two images to exchange")
        return
    own, other = _logits(subject, [pair[0], with_images_of(pair[0], pair[1])])
    change = ((own - other).norm() / own.norm().clamp_min(1e-12)).item()
    if not math.isfinite(change):
        what, cure = "the next-token logits are not finite", "use dtype float32 or bfloat16, or fetch the weights again"
        yield CheckResult("sensitivity", "fail", what, WHY_NOT_FINITE, cure)
    elif change < BLIND and _alike(subject, *pair):
        what = f"the images of {pair[0].id} and {pair[1].id} have the same pixels, and no differing pair was found"
        why = "a model cannot tell equal images apart; whether it uses images could not be checked"
        cure = "compare the curated images with the raw ones (blank files, one file under many names)"
        yield CheckResult("sensitivity", "fail", what, why, cure)
    elif change < BLIND:
        what = f"another image changes the next-token logits by only {change:.1e} of their norm"
        why = "a model that ignores its images cannot learn from them, and gives the same answer to all"
        cure = "compare tower and projector with the published files; a new projector needs pre-training first"
        yield CheckResult("sensitivity", "fail", what, why, cure)
    else:
        yield CheckResult(
            "sensitivity", "ok", f"another image changes the next-token logits by {change:.1%} of their norm"
        )


def _pair(subject: Subject) -> list[Record] | None:
    """Return two training records of one task with as many images; with different pixels if such a pair is found.

    None where no task has two such records.
    """
    first: dict[tuple[str, int], Record] = {}
    alike: list[list[Record]] = []
    for record in subject.records():
        if not record.image or len(alike) == TRIED:
            continue
        known = first.setdefault((record.task, len(record.image)), record)
        if known.image == record.image:
            continue
        if not _alike(subject, known, record):
            return [known, record]
        alike.append([known, record])
    return alike[0] if alike else None


def _alike(subject: Subject, one: Record, other: Record) -> bool:
    """Return whether the images of two records have the same pixels."""
    images = subject.data.images  # type: ignore[union-attr]
    pairs = zip(one.image, other.image, strict=True)
    return all(_pixels(images.rgb(own)) == _pixels(images.rgb(theirs)) for own, theirs in pairs)


def _pixels(picture: Image) -> tuple[tuple[int, int], bytes]:
    return picture.size, picture.tobytes()


def _logits(subject: Subject, asked: Sequence[Record]) -> list[Tensor]:
    """Return the next-token logits after each prompt, each of shape (vocabulary,)."""
    module: Any = subject.module
    module.eval()
    logits = []
    with torch.no_grad():
        for record in asked:
            batch = ChatBatch.of(module.collate([record], subject.data.images))  # type: ignore[union-attr]
            ids = torch.tensor(batch.prompt_ids, device=module.network.device)
            given = encode(module.network, batch.images).inputs(ids, batch.images_of[0])
            logits.append(module.network(input_ids=ids, logits_to_keep=1, **given).logits[0, -1].float())
    return logits
