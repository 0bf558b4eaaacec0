"""Vectors of an image from its tokens: behind layers of the vision tower, in front of the projector and behind it.

The tower and the projector run as in an evaluation, and nothing is changed by reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.models.chat.encoding import Encoded, Images, encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.family.base import Family

CELLS = 3
"""Rows and columns of the cells over which the tokens of the whole picture are averaged."""

TOWER_STEP = 4
"""Every how many layers the tower is read."""


@torch.no_grad()
def image_vectors(network: Any, images: Images) -> tuple[dict[str, Tensor], Encoded]:
    """Return the vectors of one image by place, in the order in which it passes through them, and its embeddings.

    A vector is the mean and the maximum of all tokens and the means of 3 x 3 cells of the whole picture, one after
    another; the cells are left out where the tokens are not on a grid. A class token takes no part.

    Args:
        network: A `...ForConditionalGeneration` of a known family, adapters included.
        images: One image, on the network's device.

    Returns:
        float32 vectors: ``tower.K`` behind K layers of the tower, ``tower`` and ``projector`` of the tokens that the
        projector takes and makes, and ``deep.K`` of features that are added in later layers of the language model.
    """
    family = family_of(network)
    (item,) = images.items
    seen: dict[str, Tensor] = {}
    with watched(_inputs(network, family), seen):
        encoded = encode(network, images)
    found = {place: _of_tower(state, family, item) for place, state in seen.items()}
    found["projector"] = whole_vector(encoded.features[0], family, item)
    for i, deep in enumerate(encoded.deep[0] if encoded.deep else (), 1):
        found[f"deep.{i}"] = whole_vector(deep, family, item)
    return found, encoded


def _inputs(network: Any, family: Family) -> dict[str, nn.Module]:
    """Return the modules whose input is a state of the tower, by the place of this state."""
    layers: Sequence[nn.Module] = ()
    with suppress(AttributeError):  # a convolutional tower has no such layers
        layers = network.get_submodule(f"{family.tower}.{family.tower_layers}")
    behind = {f"tower.{i}": layers[i] for i in range(TOWER_STEP, len(layers), TOWER_STEP)}
    return behind | {"tower": network.get_submodule(family.projector[0])}


@contextmanager
def watched(modules: Mapping[str, nn.Module], seen: dict[str, Tensor]) -> Iterator[None]:
    """Write the first input of each module to `seen`, by the module's name, while networks run."""

    def keep(place: str) -> Callable[[Tensor], None]:
        return lambda state: None if place in seen else seen.__setitem__(place, state)

    handles = [before(module, keep(place)) for place, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def before(module: nn.Module, function: Callable[[Tensor], Tensor | None]) -> Any:
    """Call a function of a module's first argument whenever it runs; a tensor that it returns takes its place."""

    def hook(_: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        made = function(positional[0] if positional else named["hidden_states"])
        if made is None:
            return None
        return ((made, *positional[1:]), named) if positional else (positional, named | {"hidden_states": made})

    return module.register_forward_pre_hook(hook, with_kwargs=True)


def _of_tower(state: Tensor, family: Family, item: Mapping[str, Tensor]) -> Tensor:
    """Return the vector of a tower's tokens, (tiles, tokens, features), or (tokens, features) without tiles."""
    tiles = state if state.ndim == 3 else state[None]
    grid = family.on_grid(tiles[family.whole_tile], item)
    patches = tiles if grid is None else tiles[:, -grid.shape[:2].numel() :]
    return _vector(patches.flatten(0, 1), grid)


def whole_vector(tokens: Tensor, family: Family, item: Mapping[str, Tensor]) -> Tensor:
    """Return the vector of an image's embeddings in the language model, (..., features)."""
    tokens = tokens.flatten(0, -2)
    return _vector(tokens, family.on_grid(tokens[family.whole_picture(item)], item))


def _vector(tokens: Tensor, grid: Tensor | None) -> Tensor:
    """Return mean and maximum of tokens (tokens, features), and the means of 3 x 3 cells of a grid."""
    pooled = [tokens.float().mean(0), tokens.float().amax(0)]
    if grid is not None:
        cells = functional.adaptive_avg_pool2d(grid.float().permute(2, 0, 1), CELLS)
        pooled.append(cells.flatten(1).T.flatten())
    return torch.cat(pooled)
