"""Items of chains, and what a few lines of plain Python make of them."""

import itertools
import math
from collections import defaultdict

import numpy as np

from lmod_train.core.types import Unparsed
from lmod_train.scoring.chain_steps import STEPS
from tests.scoring.make import item

OPTIONS = ("one", "two", "three", "four")


def step_item(chain, step, right, number=0, *, group=None, level="", impact="", answer=None, **facts):
    """One question of a chain; `right` is None for a reply without an answer."""
    name = f"{chain}/{step}/{number}"
    place = sum(map(ord, name)) % 4
    given = Unparsed("no_match") if right is None else OPTIONS[(place + (not right)) % 4]
    tags = {"stage": step} | ({"level": level} if level else {}) | ({"impact": impact} if impact else {})
    facts.setdefault("tags", tags)
    group = chain if group is None else group
    return item(name, answer or given, OPTIONS[place], OPTIONS, chain=chain, chain_step=step, group=group, **facts)


def chain_items(chain, rights, **facts):
    """One question for each of the first steps."""
    return [step_item(chain, step, right, **facts) for step, right in zip(STEPS, rights, strict=False)]


def random_items(seed, chains=30, several=False, missing=0.1, unanswered=0.1, confident=0.0):
    """Chains of several patients, some incomplete, some replies without an answer, some without a confidence."""
    rng = np.random.default_rng(seed)
    items = []
    for c in range(chains):
        for s, step in enumerate(STEPS):
            if rng.random() < missing:
                continue
            for q in range(int(rng.integers(1, 4)) if several else 1):
                right = None if rng.random() < unanswered else bool(rng.random() < 0.9 - 0.08 * s)
                confidence = round(float(rng.random()), 2) if rng.random() < confident else None
                facts = {"level": "RRAASS"[s] if rng.random() < 0.8 else "S", "impact": str(rng.integers(1, 6))}
                items.append(step_item(f"c{c:03d}", step, right, q, group=f"p{c // 3}", confidence=confidence, **facts))
    return items


def truth_table(items):
    """Chain -> step -> list of outcomes."""
    table = defaultdict(lambda: defaultdict(list))
    for i in items:
        table[i.chain][i.chain_step].append(i.answer == i.truth)
    return table


def rates(items):
    """CCR and its variants, by enumerating all chains of one question a step."""
    rows = [[row[step] for step in STEPS] for row in truth_table(items).values()]
    complete = [row for row in rows if all(row)]
    single = [row for row in complete if all(len(cell) == 1 for cell in row)]
    few = [row for row in rows if all(len(cell) <= 1 for cell in row)]
    swa = [mean([mean(row[s]) for row in complete]) for s in range(len(STEPS))]
    return {
        "ccr": mean([all(cell[0] for cell in row) for row in single]),
        "ccr_strict": mean([all(row) and all(cell[0] for cell in row) for row in few]),
        "ccr_expected": mean([mean([all(picked) for picked in itertools.product(*row)]) for row in complete]),
        "ccr_all": mean([all(map(all, row)) for row in complete]),
        "ccr_product": math.prod(swa) if complete else None,
        "share_complete": len(complete) / len(rows),
    }


def mean(values):
    return sum(values) / len(values) if values else None
