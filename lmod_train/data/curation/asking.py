"""Ask every task of every sample: the questions that become records, with their images, balanced and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from lmod_train.core.types import Dropped, Sample, Split
from lmod_train.data.curation import foreign as abroad
from lmod_train.data.curation.chains import check_chains, with_needs
from lmod_train.data.curation.families import Likeness
from lmod_train.data.curation.parts import Joined, join_parts
from lmod_train.data.curation.places import balance_places
from lmod_train.data.curation.prepare import Plan, Prepared, numbered
from lmod_train.data.curation.records import PlacedQuestion, ask_all, draw_balanced, left_out
from lmod_train.data.curation.showing import show_all
from lmod_train.data.curation.splits import Place


@dataclass(frozen=True, slots=True)
class Questions:
    """What was asked.

    Attributes:
        by_task: Task -> its questions after the balance.
        balanced: Task -> account of its balance, for the manifest.
        dropped: Questions that are left out, and foreign photographs that could not be read.
        photographs: Foreign photographs that were curated.
        joined: Samples of one photograph in two parts of a source, which tasks that join parts ask as one.
        accounts: Task and language -> what the task states of the samples, for the manifest.
    """

    by_task: dict[str, list[PlacedQuestion]] = field(default_factory=dict)
    balanced: dict[str, Any] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    photographs: list[abroad.Photograph] = field(default_factory=list)
    joined: list[Joined] = field(default_factory=list)
    accounts: dict[str, Any] = field(default_factory=dict)


def ask(
    plan: Plan,
    samples: Sequence[Sample],
    done: Mapping[Place, Prepared],
    splits: Mapping[Place, Split],
    images: Mapping[Place, Prepared],
    settings: Mapping[str, Any],
    foreign: Path | None,
    alike: Sequence[Likeness] = (),
) -> Questions:
    """Ask every task, choose the images of probes, balance, and leave out questions whose needs are not asked.

    Args:
        plan: Tasks, seed and output folder.
        samples: To be asked about.
        done: What became of each sample, by source and key.
        splits: Split of each sample.
        images: What became of each image, by source and key.
        settings: Those of the balance.
        foreign: Folder of photographs that are not eyes; None for those that come with scikit-learn.
        alike: Pairs of images that show one photograph, by which parts of a source are joined for tasks that ask so.
    """
    ready = [numbered(s, done[s.source, s.key]) for s in samples if _is_prepared(s, done)]
    whole, joined = join_parts(ready, alike) if any(t.joins_parts for t in plan.tasks) else (ready, [])
    asked = Questions(joined=joined)

    def photographs() -> list[abroad.Photograph]:
        if not asked.photographs:
            curated, unreadable = abroad.curate_foreign(abroad.photographs_in(foreign), plan.out, plan.longest_side)
            asked.photographs.extend(curated)
            asked.dropped.extend(unreadable)
        return asked.photographs

    for name in sorted({t.name for t in plan.tasks}):
        tasks = [t for t in plan.tasks if t.name == name]
        own = [q for t in tasks for q in ask_all([t], whole if t.joins_parts else ready, splits, images)]
        own, imageless = show_all(balance_places(own, plan.seed), photographs, plan.seed)
        asked.dropped.extend(imageless)
        if settings["balance"] is None or name in settings["balance"]:
            own, asked.balanced[name] = draw_balanced(own, plan.seed, settings["balance_over"])
            asked.dropped.extend(left_out(asked.balanced[name]))
        asked.by_task[name] = own
    accounts = {f"{t.name}/{t.language}": t.account(whole if t.joins_parts else ready) for t in plan.tasks}
    asked.accounts.update({name: account for name, account in accounts.items() if account})
    complete, incomplete = with_needs(asked.by_task)
    asked.by_task.update(complete)
    asked.dropped.extend(incomplete)
    check_chains(chain.from_iterable(complete.values()))
    return asked


def _is_prepared(sample: Sample, done: Mapping[Place, Prepared]) -> bool:
    place = sample.source, sample.key
    return place in done and done[place].dropped is None
