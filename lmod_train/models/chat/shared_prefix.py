"""Several questions about the same images in one training sequence, with the common prefix once.

Twelve questions of 60 tokens about an image of 576 tokens take 1,300 tokens instead of 7,600. Loss and gradients are
the same, as each question keeps its positions and attends to no other question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.masks import attention_masks
from lmod_train.models.chat.sequences import Sequences, common


def share(
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    images: Sequence[tuple[int, ...]],
    image_token: int,
) -> list[list[int]]:
    """Return the indices of the records of each sequence.

    Records share a sequence if they have the same images and the same tokens up to the end of the last image, followed
    by further tokens. Records without an image are packed into sequences up to the length of the longest sequence.

    Args:
        prompts: Token ids of each record's prompt, image tokens expanded.
        answers: Token ids of each answer.
        images: Indices of the images of each record, () for none.
        image_token: Id of the image token.

    Example:
        >>> share([[1, 9, 9, 5], [1, 9, 9, 6], [1, 9, 9, 5], [1, 7]], [[2]] * 4, [(0,), (0,), (1,), ()], image_token=9)
        [[0, 1], [2], [3]]
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for record, (prompt, own) in enumerate(zip(prompts, images, strict=True)):
        if own:
            end = max((i + 1 for i, token in enumerate(prompt) if token == image_token), default=0)
            alone = (record,) if end == len(prompt) else ()
            groups.setdefault((own, tuple(prompt[:end]), *alone), []).append(record)
    shown = list(groups.values())
    written = [i for i, own in enumerate(images) if not own]
    needed = max((_length(row, prompts, answers) for row in [*shown, *([i] for i in written)]), default=0)
    packed: list[list[int]] = []
    for record in written:
        fits = (row for row in packed if _length([*row, record], prompts, answers) <= needed)
        row = next(fits, None)
        if row is None:
            packed.append([record])
        else:
            row.append(record)
    return shown + packed


def _length(row: Sequence[int], prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> int:
    shared = common([prompts[i] for i in row])
    return shared + sum(len(prompts[i]) - shared + len(answers[i]) for i in row)


def network_inputs(network: Any, sequences: Sequences, grids: Tensor | None = None) -> dict[str, Any]:
    """Return the arguments of `forward` for sequences: ids, positions and masks.

    Sequences of one record each use the network's own mask, which fast attention kernels support.

    Args:
        network: A model of a known family; for several records in a sequence `masks.unshareable` must return nothing.
        sequences: As `sequences.pack` returns them.
        grids: Patches of each image for networks that take them; see `positions.three_axes`.
    """
    ids, family = sequences.input_ids, family_of(network)
    made: dict[str, Any] = {"input_ids": ids, "use_cache": False}
    if family.three_axis:
        made["position_ids"] = three_axes(network, sequences, grids)
    elif sequences.shared:
        made["position_ids"] = sequences.place
    if sequences.shared:
        return made | {"attention_mask": attention_masks(network, sequences)}
    if family.bidirectional_image and family.token_types:
        made[family.token_types] = (ids == family.image_token_id).long()
    return made | {"attention_mask": (sequences.segment >= 0).long()}


def three_axes(network: Any, sequences: Sequences, grids: Tensor | None) -> Tensor:
    """Return positions in time, height and width, (3, sequences, longest), for Qwen2.5-VL and Qwen3-VL.

    An image takes as many positions as its longer side has patches, so that the positions of the text behind it are
    lower than its indices by a constant. The network's own rule computes the shared prefix and the first question; the
    other questions use the same constant.

    Args:
        network: A `Qwen2_5_VLForConditionalGeneration` or `Qwen3VLForConditionalGeneration`.
        sequences: Sequences with every image in the shared prefix.
        grids: Number of patches in time, height and width of each image, in the order of the sequences (images, 3).
    """
    ids, segment = sequences.input_ids, sequences.segment
    first = (segment == 0) | (segment == 1)
    kinds = (ids == family_of(network).image_token_id).int()
    made, ahead = network.model.get_rope_index(ids, kinds, image_grid_thw=grids, attention_mask=first.long())
    positions: Tensor = torch.where(first, made, sequences.place + ahead)
    return positions
