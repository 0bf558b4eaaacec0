"""A small part of a curated benchmark that stands for the whole: LMOD+ publishes one of 1,000 instances.

How the authors drew theirs is not published. Here every stratum (modality, task, source, class) gives its proportional
share, at least one record, drawn by seed; where fewer records than strata are wanted, the largest strata give one each.
The draw of a record depends on its id alone, so the same curated folder and seed give the same subset on every machine,
and a larger subset holds most of a smaller one. A chain of questions is drawn whole or not at all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.files import write_durably
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record, own_part
from lmod_train.tasks.cascade import chains

Stratum = tuple[str, str, str, str]
"""Modality, task, source and class of a record."""


def stratum_of(record: Record) -> Stratum:
    """Return the stratum; the class is the reference answer, or the structures asked about, and the language with it.

    A reference answer for two tasks at once ("MALE / 60–69") counts by the task's own part. Free text has no classes:
    where there is nothing to choose from, the language stands alone. A stage (tag ``stage``) of a record that is in no
    chain is part of its class.

    Example:
        >>> from lmod_train.core.types import Box, Region
        >>> regions = (Region("optic cup", Box(2, 2, 4, 4), 1), Region("optic disc", Box(0, 0, 9, 9), 2))
        >>> fields = dict.fromkeys(("id", "task_class", "key", "group", "answer"), "") | {"task_version": 1}
        >>> fields |= dict.fromkeys(("image", "image_plain", "image_sha256", "messages", "choices"), ())
        >>> record = Record(task="anatomy", source="refuge", modality="CFP", split="val", language="en",
        ...                 regions=regions, **fields)
        >>> stratum_of(record)
        ('CFP', 'anatomy', 'refuge', 'en: optic cup, optic disc')
    """
    answer = ", ".join(sorted({r.structure for r in record.regions}))
    if not answer and record.choices:
        answer = own_part(record.answer, record.choices)
    if not record.chain and (stage := record.tags.get("stage")):
        answer = f"{stage}, {answer}"
    return record.modality, record.task, record.source, f"{record.language}: {answer}" if answer else record.language


def representative(records: Iterable[Record], n: int, seed: int = 0) -> list[Record]:
    """Return `n` records in the order of their ids, all of them where there are fewer.

    Chains are drawn whole, each in the stratum of the question that it begins with. With chains of different lengths
    there are about `n` records: as many chains and single records as hold `n` on average.

    Args:
        records: Of one curated folder, or of one split of it.
        n: How many, from 1.
        seed: Of the draw.

    Raises:
        BadArgument: `n` is below 1.
    """
    known = {r.id: r for r in records}
    strata: defaultdict[Stratum, list[list[Record]]] = defaultdict(list)
    for chain in chains(known):
        strata[stratum_of(chain[0])].append(chain)
    if n < 1:
        raise BadArgument("n", n, "at least 1", f"there are {len(strata)} strata (modality, task, source, class)")
    sizes = {stratum: len(several) for stratum, several in strata.items()}
    shares = allot(sizes, max(1, round(n * sum(sizes.values()) / max(1, len(known)))))
    drawn = [
        record
        for stratum, several in strata.items()
        for chain in sorted(several, key=lambda c: shuffle_key(seed, "subset", c[0].id))[: shares[stratum]]
        for record in chain
    ]
    return sorted(drawn, key=lambda r: r.id)


def allot(sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, int]:
    """Divide `n` among strata in proportion to their sizes: one each, the rest by largest remainders.

    Where `n` is below the number of strata, the `n` largest have one each, of equal ones the first by name.

    Example:
        >>> allot({("CFP", "a", "s", "x"): 97, ("CFP", "a", "s", "y"): 2, ("OCT", "a", "s", "x"): 1}, 10)
        {('CFP', 'a', 's', 'x'): 8, ('CFP', 'a', 's', 'y'): 1, ('OCT', 'a', 's', 'x'): 1}
        >>> allot({("CFP", "a", "s", "x"): 2, ("CFP", "a", "s", "y"): 9, ("OCT", "a", "s", "x"): 2}, 2)
        {('CFP', 'a', 's', 'x'): 1, ('CFP', 'a', 's', 'y'): 1, ('OCT', 'a', 's', 'x'): 0}
    """
    total = sum(sizes.values())
    if n >= total:
        return dict(sizes)
    if n < len(sizes):
        largest = set(sorted(sizes, key=lambda s: (-sizes[s], s))[:n])
        return {stratum: int(stratum in largest) for stratum in sizes}
    free = n - len(sizes)
    spare = total - len(sizes)
    exact = {stratum: free * (size - 1) / spare for stratum, size in sizes.items()}
    shares = {stratum: 1 + math.floor(share) for stratum, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda s: (math.floor(exact[s]) - exact[s], s))
    for stratum in by_remainder[: n - sum(shares.values())]:
        shares[stratum] += 1
    return shares


def write_subset(
    curated: Path, n: int, seed: int, split: str, tasks: Sequence[str]
) -> tuple[Path, list[tuple[Stratum, int, int]]]:
    """Draw a subset of a curated folder and write its ids, one a line, to ``CURATED/subsets/``.

    Args:
        curated: Folder that `curate` wrote.
        n: How many records.
        seed: Of the draw.
        split: train, val, test or all.
        tasks: Names of the tasks to draw from; empty for all.

    Returns:
        The file, and for every stratum its number of records and how many were drawn (see `account`).

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: `n` is below 1, no record is of that split and those tasks, or one needs the answer to a question
            of another task.
    """
    known = read_records(curated / "records")
    chosen = [r for r in known if split in ("all", r.split) and (not tasks or r.task in tasks)]
    missing = sorted(set(tasks) - {r.task for r in known})
    if missing or not chosen:
        expected = f"tasks among {', '.join(sorted({r.task for r in known}))}, with records in the split {split}"
        cure = did_you_mean("--tasks", missing, {r.task for r in known}, "name others, or leave `--tasks` out for all")
        raise BadArgument("--tasks", ",".join(missing or tasks), expected, cure)
    _refuse_missing_needs(chosen, tasks)
    drawn = representative(chosen, n, seed)
    name = "-".join(("representative", str(n), split, f"seed{seed}", *sorted(tasks)))
    path = curated / "subsets" / f"{name}.txt"
    with write_durably(path) as beside:
        beside.write_text("".join(f"{r.id}\n" for r in drawn), encoding="utf-8")
    return path, account(chosen, drawn)


def _refuse_missing_needs(chosen: Sequence[Record], tasks: Sequence[str]) -> None:
    ids = {r.id for r in chosen}
    for record in chosen:
        for need in record.needs:
            if need not in ids:
                expected = f"the tasks of whole chains: {record.id} needs the answer to {need}, which is not among them"
                cure = "name the task of that question too, or leave `--tasks` and `--split` out for all"
                raise BadArgument("--tasks", ",".join(tasks), expected, cure)


def account(records: Iterable[Record], drawn: Iterable[Record]) -> list[tuple[Stratum, int, int]]:
    """Return for every stratum its number of records and how many were drawn, sorted."""
    before, after = (Counter(map(stratum_of, some)) for some in (records, drawn))
    return [(stratum, before[stratum], after[stratum]) for stratum in sorted(before)]
