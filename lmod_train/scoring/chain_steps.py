"""Chains of questions as tables: how many questions each step of a chain has, and how many of them are right."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import chance_of
from lmod_train.scoring.ways import FACTORS

STEPS = ("IQA", "AL", "LC", "DD", "SG", "CD")
"""Steps of an X-PCR chain in order: image quality, localisation, lesion, diagnosis, severity, decision."""

ALIASES: Mapping[str, str] = {"QA": "IQA", "PF": "LC", "DR": "DD"}
"""Other name of a step, in X-PCR's figure 1 -> its name."""

ChainName = tuple[str, ...]
"""Name, language and way of asking of a chain: a chain that is asked in two languages is two chains."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of a set of items, one row per chain.

    Attributes:
        names: Name of each chain, sorted.
        groups: Patient of each chain.
        asked: Number of questions of each step, (chains, steps).
        right: Number of right ones, (chains, steps); a missing answer is wrong.
        drawn: Whether the drawn question of each step is right, (chains, steps); False without a question.
        chance: Mean of 1 / number of choices over the questions of each step, (chains, steps); 0 without a question.
    """

    names: tuple[ChainName, ...]
    groups: tuple[str, ...]
    asked: Floats
    right: Floats
    drawn: NDArray[np.bool_]
    chance: Floats

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each chain has a question at every step, (chains)."""
        return np.asarray((self.asked > 0).all(axis=1), dtype=np.bool_)

    @property
    def single(self) -> NDArray[np.bool_]:
        """Whether each chain has at most one question at every step, (chains)."""
        return np.asarray((self.asked <= 1).all(axis=1), dtype=np.bool_)

    @property
    def shares(self) -> Floats:
        """Share of right questions of each step, (chains, steps); 0 without a question."""
        return self.right / np.maximum(self.asked, 1)


def chains_of(items: Sequence[Item], steps: Sequence[str] = STEPS) -> Chains:
    """Return the chains of the items; items without a chain or without a step are in none.

    Args:
        items: In any order.
        steps: Names of the steps, in order.

    Raises:
        BadArgument: A step is none of `steps`.
    """
    by_step: dict[ChainName, list[list[Item]]] = defaultdict(lambda: [[] for _ in steps])
    for item in items:
        if item.chain and item.chain_step:
            by_step[chain_name(item)][_place(item, steps)].append(item)
    names = tuple(sorted(by_step))
    cells = [by_step[name] for name in names]
    return Chains(
        names,
        tuple(next(item.group for cell in row for item in cell) for row in cells),
        _table([[len(cell) for cell in row] for row in cells], steps),
        _table([[sum(is_right(item) for item in cell) for cell in row] for row in cells], steps),
        _table([[_drawn_right(cell) for cell in row] for row in cells], steps) > 0,
        _table([[_chance(cell) for cell in row] for row in cells], steps),
    )


def chain_name(item: Item) -> ChainName:
    """Return the name of an item's chain with its language and way of asking."""
    return (item.chain, item.language, *(item.tags.get(factor, "") for factor in FACTORS))


def is_right(item: Item) -> bool:
    """Return whether the answer is the truth; a missing answer is not."""
    return bool(item.answer == item.truth)


def drawn_id(ids: Iterable[str], seed: int = 0) -> str:
    """Return one of the ids of a step's questions, drawn by a hash, so that the draw depends on no other chain.

    Example:
        >>> drawn_id(["a", "b", "c"]) == drawn_id(["c", "a", "b"])
        True
    """
    return min(ids, key=lambda id: hashlib.sha256(f"{seed}/{id}".encode()).digest())


def incomplete_chains(items: Sequence[Item], steps: Sequence[str] = STEPS) -> Mapping[ChainName, tuple[str, ...]]:
    """Return the name of each incomplete chain -> its missing steps.

    Example:
        >>> item = Item("a", "answered", "x", "x", ("x", "y"), chain="s/1", chain_step="IQA")
        >>> list(incomplete_chains([item], ("IQA", "AL")).values())
        [('AL',)]
    """
    chains = chains_of(items, steps)
    missing = [tuple(step for step, n in zip(steps, row, strict=True) if not n) for row in chains.asked]
    return {name: found for name, found in zip(chains.names, missing, strict=True) if found}


def _place(item: Item, steps: Sequence[str]) -> int:
    if item.chain_step not in steps:
        cure = "correct `chain_step` in the source, or curate the records again"
        raise BadArgument(f"chain_step of {item.id}", item.chain_step, f"one of {', '.join(steps)}", cure)
    return steps.index(item.chain_step)


def _table(rows: Sequence[Sequence[float]], steps: Sequence[str]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(steps))


def _drawn_right(cell: Sequence[Item]) -> bool:
    by_id = {item.id: item for item in cell}
    return bool(by_id) and is_right(by_id[drawn_id(by_id)])


def _chance(cell: Sequence[Item]) -> float:
    return chance_of(item.choices for item in cell) or 0.0


def in_order(steps: Iterable[str]) -> list[str]:
    """Return steps once each in the order of the chain; those of other names follow."""
    known = dict.fromkeys(steps)
    return [*(s for s in STEPS if s in known), *(s for s in known if s not in STEPS)]


def step_named(name: str) -> str:
    """Return the step of a name or alias in any case; empty if there is none.

    Example:
        >>> step_named("pf"), step_named("treatment")
        ('LC', '')
    """
    plain = name.strip().upper()
    found = ALIASES.get(plain, plain)
    return found if found in STEPS else ""
