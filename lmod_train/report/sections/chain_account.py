"""What was asked of chains: complete and incomplete ones, missing earlier answers, followed ones, shuffled options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from lmod_train.report.chains import ALONE, ChainRun, every_chain, of_one_model
from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Part, Text, table
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.detection import share_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.regimes import paired_items
from lmod_train.scoring.spread import same_answer
from lmod_train.scoring.steps import STEPS, chains_of, incomplete_chains, is_right
from lmod_train.scoring.ways import compared
from lmod_train.tasks.filled import plain_text, unfilled
from lmod_train.tasks.regimes import PLANTED
from lmod_train.types import Score

Share = Callable[[str, Sequence[Item]], list[Score]]
"""Function from a task and items to at most one share of them."""

NOTE = """A chain is complete if it has a question at every stage; incomplete ones are in no denominator of whole
chains. Without an earlier answer: questions whose words state that no answer was given, as the model's reply to an
earlier stage was not understood; share of the questions that hold earlier answers of the model."""
FOLLOWED = """Of questions with a wrong earlier answer in their words, those whose wrong options alone contain it:
share whose answer is such an option. Other questions state no option that follows; what a wrong answer does to them is
the difference of the regimes planted and independent."""
TURNED = """Of questions that the same model answers rightly alone, those that it answers wrongly after a wrong earlier
answer in their words, by the stage of the question."""
SHUFFLED = """Every question was asked with its options in several orders. Same answer: share of the questions whose
answer is the same option in all orders, without an answer in one order not the same."""
HEADS: Heads = [
    "model", "regime", Column("questions", "count"), Column("chains", "count"), Column("complete", "count"),
    Column("incomplete", "count"), Column("questions with earlier answers", "count"),
    Column("without an earlier answer", "count"), Column("share", "percent"),
]  # fmt: skip


class ChainAccount(Section):
    """Counts of chains and of missing earlier answers; followed wrong answers; consistency over orders of options."""

    title: ClassVar[str] = "Chains: what was asked"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the counts of each task, and what was found of its followed answers and shuffled options."""
        for task, runs in every_chain(results):
            yield Text(NOTE)
            yield table(f"chain_account-{task}", HEADS, [_counts(run) for run in runs], f"{task}: chains and questions")
            yield from _missing(task, runs)
            yield from _shares(f"followed-{task}", "followed", FOLLOWED, runs, _followed)
            yield from _turned(task, runs)
            yield from _shares(f"shuffled-{task}", "same answer", SHUFFLED, runs, _same)


def _counts(run: ChainRun) -> list[Cell]:
    chains = chains_of(run.items)
    complete = int(chains.complete.sum())
    after, missing = _earlier(run)
    counts = [len(run.items), len(chains.names), complete, len(chains.names) - complete, after, missing]
    return [run.label, run.regime, *counts, missing / after if after else None]


def _earlier(run: ChainRun) -> tuple[int, int]:
    """Return the number of questions whose words hold own earlier answers, and of those where one is missing."""
    answered = {item.id for item in run.items if item.status == "answered"}
    asked = [p.record for p in run.outcomes.predictions if p.record.task == run.task and unfilled(p.record)]
    return len(asked), sum(any(need not in answered for need in record.needs) for record in asked)


def _missing(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the stages that incomplete chains lack, a row per run and stage."""
    rows: list[list[Cell]] = []
    for run in runs:
        lacking = incomplete_chains(run.items)
        counts = Counter(stage for stages in lacking.values() for stage in stages)
        rows += [[run.label, stage, counts[stage], len(lacking)] for stage in STEPS if counts[stage]]
    if rows:
        heads: Heads = ["model", "missing stage", Column("chains without it", "count"), Column("incomplete", "count")]
        yield table(f"incomplete-{task}", heads, rows, f"{task}: stages that incomplete chains lack")


def _shares(name: str, head: str, note: str, runs: Sequence[ChainRun], share: Share) -> Iterator[Part]:
    """Yield a table of a share of the questions of each run, all together and by stage."""
    rows: list[list[Cell]] = []
    for run in runs:
        for stage in ("all", *run.stages):
            own = [item for item in run.items if stage in ("all", item.chain_step)]
            rows += [[run.label, stage, s.n, s.value, (s.low, s.high)] for s in share(run.task, own) if s.n]
    if rows:
        yield Text(note)
        yield table(name, ["model", "stage", N, Column(head, "number"), INTERVAL], rows)


def _followed(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the share of answers that contain the planted one, where wrong options alone contain it."""
    held = [item for item in items if PLANTED in item.tags and _could_follow(item)]
    flags = [item.status == "answered" and _contains(item.answer, item.tags[PLANTED]) for item in held]
    return [share_score("followed", flags, [item.group for item in held])]


def _could_follow(item: Item) -> bool:
    words = item.tags[PLANTED]
    return not _contains(item.truth, words) and any(_contains(choice, words) for choice in item.choices)


def _contains(option: object, words: str) -> bool:
    return isinstance(option, str) and words.casefold() in plain_text(option).casefold()


def _turned(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the share of right answers that a planted answer turns into wrong ones, a row per model and stage."""
    rows: list[list[Cell]] = []
    for planted, alone in of_one_model(runs, "planted", ALONE):
        pairs = paired_items(planted.items, alone.items)
        held = [(a, not is_right(a)) for a, b in pairs if PLANTED in a.tags and is_right(b)]
        for stage in ("all", *planted.stages):
            own = [(item, wrong) for item, wrong in held if stage in ("all", item.chain_step)]
            score = share_score("turned", [wrong for _, wrong in own], [item.group for item, _ in own])
            rows += [[planted.label, stage, score.n, score.value, (score.low, score.high)]] if score.n else []
    if rows:
        yield Text(TURNED)
        yield table(f"turned-{task}", ["model", "stage", N, Column("turned", "number"), INTERVAL], rows)


def _same(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the share of questions with the same option as the answer in all orders."""
    by_id = {item.id: item for item in items if item.status != "failed"}
    several = compared([(item.id, item.tags) for item in by_id.values()], "order")
    answers = [[by_id[id].answer for id in ids] for ids in several]
    return same_answer(task, "order", answers, [by_id[ids[0]].group for ids in several])
