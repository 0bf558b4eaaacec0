"""What was asked of chains: complete and incomplete ones, missing earlier answers, followed ones, shuffled options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mean
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.chains import ALONE, ChainRun, every_chain, of_one_model
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.items import Item
from lmod_train.scoring.regimes import same_questions
from lmod_train.scoring.share import share_score
from lmod_train.scoring.spread import same_answer
from lmod_train.scoring.steps import STEPS, chains_of, incomplete_chains, is_right
from lmod_train.scoring.ways import compared
from lmod_train.tasks.filled import plain_text, unfilled
from lmod_train.tasks.regimes import IMPLIED, PLANTED

NOTE = """A chain is complete if it has a question at every stage; incomplete ones are in no denominator of whole
chains. Without an earlier answer: questions whose words state that no answer was given, as the model's reply to an
earlier stage was not understood; share of the questions that hold earlier answers of the model."""
FOLLOWED = """Of questions with a wrong earlier answer in their words, those (n) where it implies wrong options alone:
share whose answer is such an option. It implies the options that contain its words; otherwise, a diagnosis the grades
of its disease, and a severity the decisions for it in the management table. By guess: share of the implied ones among
the options. Of other questions no option follows; what a wrong answer does to them is the difference of the regimes
planted and independent."""
TURNED = """Of questions that the same model answers rightly alone, those that it answers wrongly after a wrong earlier
answer in their words, by the stage of the question."""
SHUFFLED = """Every question was asked with its options in several orders. Same answer: share of the questions whose
answer is the same option in all orders, without an answer in one order not the same."""
FOLLOWED_HEADS: Heads = [
    "model", "stage", N, Column("followed", "number"), INTERVAL, Column("by guess", "number"),
    Column("with a wrong answer", "count"),
]  # fmt: skip
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
            yield from _followed(task, runs)
            yield from _turned(task, runs)
            yield from _shuffled(task, runs)


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


def _followed(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the share of answers that a wrong earlier answer implies, all together and by stage."""
    rows: list[list[Cell]] = []
    for run in runs:
        planted = [item for item in run.items if PLANTED in item.tags]
        for stage in ("all", *run.stages) if planted else ():
            own = [item for item in planted if stage in ("all", item.chain_step)]
            n, *cells = _follow_cells(own)
            rows += [[run.label, stage, n, *cells, len(own)]] if n or stage == "all" else []
    if rows:
        yield Text(FOLLOWED)
        yield table(f"followed-{task}", FOLLOWED_HEADS, rows)


def _follow_cells(planted: Sequence[Item]) -> list[Cell]:
    """Return number, share and interval of followed answers, and the share that a guess would follow."""
    held = [(item, implied) for item in planted if (implied := _implied(item)) and item.truth not in implied]
    flags = [item.status == "answered" and item.answer in implied for item, implied in held]
    score = share_score("followed", flags, [item.group for item, _ in held])
    guess = mean(len(implied) / len(item.choices) for item, implied in held) if held else None
    return [score.n, score.value, (score.low, score.high), guess]


def _implied(item: Item) -> list[str]:
    """Return the options that contain the planted answer; without one, those that it implies by its stage."""
    words = item.tags[PLANTED].casefold()
    containing = [choice for choice in item.choices if words in plain_text(choice).casefold()]
    return containing or item.tags.get(IMPLIED, "").splitlines()


def _turned(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the share of right answers that a planted answer turns into wrong ones, a row per model and stage."""
    rows: list[list[Cell]] = []
    for planted, alone in of_one_model(runs, "planted", ALONE):
        pairs = same_questions(planted.items, alone.items)
        held = [(a, not is_right(a)) for a, b in pairs if PLANTED in a.tags and is_right(b)]
        for stage in ("all", *planted.stages):
            own = [(item, wrong) for item, wrong in held if stage in ("all", item.chain_step)]
            score = share_score("turned", [wrong for _, wrong in own], [item.group for item, _ in own])
            rows += [[planted.label, stage, score.n, score.value, (score.low, score.high)]] if score.n else []
    if rows:
        yield Text(TURNED)
        yield table(f"turned-{task}", ["model", "stage", N, Column("turned", "number"), INTERVAL], rows)


def _shuffled(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the share of questions with the same answer in all orders of options, all together and by stage."""
    rows: list[list[Cell]] = []
    for run in runs:
        for stage in ("all", *run.stages):
            own = [item for item in run.items if stage in ("all", item.chain_step)]
            rows += [[run.label, stage, s.n, s.value, (s.low, s.high)] for s in _same(task, own) if s.n]
    if rows:
        yield Text(SHUFFLED)
        yield table(f"shuffled-{task}", ["model", "stage", N, Column("same answer", "number"), INTERVAL], rows)


def _same(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the share of questions with the same option as the answer in all orders."""
    by_id = {item.id: item for item in items}
    several = compared([(item.id, item.tags) for item in by_id.values()], "order")
    answers = [[by_id[id].answer for id in ids] for ids in several]
    return same_answer(task, "order", answers, [by_id[ids[0]].group for ids in several])
