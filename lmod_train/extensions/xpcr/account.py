"""What was asked of chains, what the image adds to them, and how hard their questions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import ClassVar

from lmod_train.core.artifacts.run import READER
from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.core.types import REGIME, Score
from lmod_train.extensions.xpcr.results import (
    ALONE,
    ChainRun,
    Effect,
    at_stage,
    chain_runs,
    effect_heads,
    effect_of,
    effect_rows,
    of_one_model,
    probe_runs,
)
from lmod_train.extensions.xpcr.scores import same_questions
from lmod_train.extensions.xpcr.tasks import NAMES, labelled
from lmod_train.report.contents import Part, Text, heads, noted, texts
from lmod_train.report.probes import named_as_asked, own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.agreement import fleiss_scores
from lmod_train.scoring.chain_steps import STEPS, chains_of, in_order, incomplete_chains, is_right
from lmod_train.scoring.expertise import ENDING, ENVELOPES, LEVELS, in_envelope, level_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score
from lmod_train.scoring.spread import same_answer
from lmod_train.scoring.ways import compared
from lmod_train.tasks.filled import filled_texts, plain_text, unfilled
from lmod_train.tasks.regimes import IMPLIED, PLANTED

_TEXTS, _HEADS = texts(__file__), heads(__file__)


def account(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield counts of chains and of missing earlier answers, followed wrong answers, and orders of options."""
    counts = table(f"chain_account-{task}", _HEADS["counts"], list(map(_counts, runs)), f"{task}: chains and questions")
    columns: Heads = ["model", "missing stage", Column("chains without it", "count"), Column("incomplete", "count")]
    lacking = [row for run in runs for row in _missing(run)]
    title = f"{task}: stages that incomplete chains lack"
    yield from noted(_TEXTS["counts"], counts, table(f"incomplete-{task}", columns, lacking, title))
    rows = [row for run in runs for row in _followed(run)]
    yield from noted(_TEXTS["followed"], table(f"followed-{task}", _HEADS["followed"], rows))
    rows = [row for planted, alone in of_one_model(runs, "planted", ALONE) for row in _turned(planted, alone)]
    yield from noted(_TEXTS["turned"], table(f"turned-{task}", _of("turned"), rows))
    rows = [row for run in runs for row in _shuffled(task, run)]
    yield from noted(_TEXTS["shuffled"], table(f"shuffled-{task}", _of("same answer"), rows))


def _of(head: str) -> Heads:
    return ["model", "stage", N, Column(head, "number"), INTERVAL]


def _counts(run: ChainRun) -> list[Cell]:
    chains = chains_of(run.items)
    complete = int(chains.complete.sum())
    answered = {item.id for item in run.items if item.status == "answered"}
    after = [p.record for p in run.outcomes.predictions if p.record.task == run.task and unfilled(p.record)]
    missing = sum(any(need not in answered for need in record.needs) for record in after)
    counts = [len(run.items), len(chains.names), complete, len(chains.names) - complete, len(after), missing]
    return [run.label, run.regime, *counts, missing / len(after) if after else None]


def _missing(run: ChainRun) -> Iterator[list[Cell]]:
    """Yield the stages that incomplete chains lack."""
    lacking = incomplete_chains(run.items)
    counts = Counter(stage for stages in lacking.values() for stage in stages)
    for stage in filter(counts.__getitem__, STEPS):
        yield [run.label, stage, counts[stage], len(lacking)]


def _followed(run: ChainRun) -> Iterator[list[Cell]]:
    """Yield the share of answers that a wrong earlier answer implies, and the share that a guess would follow."""
    for stage in ("all", *run.stages):
        planted = [item for item in at_stage(run, stage) if PLANTED in item.tags]
        held = [(item, implied) for item in planted if (implied := _implied(item)) and item.truth not in implied]
        flags = [item.status == "answered" and item.answer in implied for item, implied in held]
        if held or (planted and stage == "all"):
            score = share_score("followed", flags, [item.group for item, _ in held])
            guess = mean(len(implied) / len(item.choices) for item, implied in held) if held else None
            yield [run.label, stage, score.n, score.value, (score.low, score.high), guess, len(planted)]


def _implied(item: Item) -> list[str]:
    """Return the options that contain the planted answer; without one, those that it implies by its stage."""
    words = item.tags[PLANTED].casefold()
    containing = [choice for choice in item.choices if words in plain_text(choice).casefold()]
    return containing or item.tags.get(IMPLIED, "").splitlines()


def _turned(planted: ChainRun, alone: ChainRun) -> Iterator[list[Cell]]:
    """Yield the share of right answers that a planted answer turns into wrong ones."""
    held = [a for a, b in same_questions(planted.items, alone.items) if PLANTED in a.tags and is_right(b)]
    for stage in ("all", *planted.stages):
        own = [item for item in held if stage in ("all", item.chain_step)]
        score = share_score("turned", [not is_right(item) for item in own], [item.group for item in own])
        if score.n:
            yield [planted.label, stage, *score_cells(score)]


def _shuffled(task: str, run: ChainRun) -> Iterator[list[Cell]]:
    """Yield the share of questions with the same option as the answer in all orders."""
    for stage in ("all", *run.stages):
        by_id = {item.id: item for item in at_stage(run, stage)}
        several = compared([(item.id, item.tags) for item in by_id.values()], "order")
        answers = [[by_id[id].answer for id in ids] for ids in several]
        for s in same_answer(task, "order", answers, [by_id[ids[0]].group for ids in several]):
            if s.n:
                yield [run.label, stage, s.n, s.value, (s.low, s.high)]


# Whether the image is read at each stage of a chain, beyond what question and earlier answers give away.
CONTEXTS = ("oracle", "cas_last", "cas_all")
"""Regimes that give the image and earlier answers, or these alone."""

KIND = "none"
"""Kind of the probes that ask a question word for word, without its image."""


def image_use(results: Results, task: str) -> Iterator[Part]:
    """Yield the accuracy of each stage with and without the image, after earlier answers; nothing without such runs."""
    columns: Heads = ["model", "regime", *effect_heads("with image", "without image")]
    rows: list[list[Cell]] = [
        [effect.model, effect.first, stage, *cells, same.get(str(stage))]
        for effect, same in image_uses(results, task)
        for stage, *cells in effect_rows(effect)
    ]
    title = f"{task}: with and without the image"
    shown = table(f"image_use-{task}", [*columns, Column("same earlier answers", "percent")], rows, title)
    yield from noted(_TEXTS["image_use"], shown)


def image_uses(results: Results, task: str) -> Iterator[tuple[Effect, Mapping[str, float]]]:
    """Yield the effect of the image on each model in each regime of `CONTEXTS` that asked a task's probe too.

    The probe is that of the same run; without one, those of other runs of the same model, weights and regime. Beside
    the effect is stage -> share of its questions that both runs asked after the same earlier answers.

    Args:
        results: Results of the runs.
        task: Name of a task that asks chains.
    """
    probes = probe_runs(results, task)
    runs = [run for run in chain_runs(results, task) if run.regime in CONTEXTS]
    pairs = [(run, probe) for run in runs for probe in _probes_of(run, probes)]
    for run, probe in pairs:
        alike = [one for one, _ in pairs if (one.regime, one.scores.called) == (run.regime, run.scores.called)]
        named = " - ".join(dict.fromkeys((run.scores.run, probe.scores.run)))  # of several runs, those of both
        model, same = run.scores.called if len(alike) == 1 else named, _same_answers(run, probe)
        without = replace(probe, items=tuple(named_as_asked(probe.outcomes, task, KIND, run.outcomes)))
        for effect in effect_of(run, without, "image", model):
            yield effect, same


def _probes_of(run: ChainRun, probes: Sequence[ChainRun]) -> list[ChainRun]:
    alike = [p for p in probes if (p.regime, p.weights) == (run.regime, run.weights)]
    return [p for p in alike if p.outcomes is run.outcomes] or alike


def _same_answers(run: ChainRun, probe: ChainRun) -> Mapping[str, float]:
    """Return stage -> share of the paired questions whose prompts state the same earlier answers in both runs."""
    mine, other = _earlier(run.outcomes), _earlier(probe.outcomes)
    steps = {item.id: item.chain_step for item in run.items if REGIME in item.tags}
    same: dict[str, list[bool]] = {}
    for id, own in own_ids(probe.outcomes, run.task, KIND, run.outcomes).items():
        if own in steps:
            same.setdefault(steps[own], []).append(mine[own] == other[id])
    return {step: mean(found) for step, found in same.items()}


def _earlier(outcomes: Outcomes) -> dict[str, list[str]]:
    """Return record id -> the model's earlier answers in its prompt; none where these are the true ones."""
    answers = {p.record.id: p.answer for p in outcomes.predictions}
    return {p.record.id: filled_texts(p.record, answers) for p in outcomes.predictions}


# Levels of expertise: labels of a gold set by people, and whether groups of people answer a level as X-PCR expects.
GROUPS = tuple(dict.fromkeys(group for group, _ in ENVELOPES))


@dataclass(frozen=True, slots=True)
class _Labels:
    """Labels of one question of a gold set, one by each reader who labelled it."""

    question: str
    stage: str
    group: str
    provisional: str
    given: tuple[str, ...]

    @property
    def gold(self) -> str:
        """Level R, A or S that more than half of two or more readers gave; empty without one."""
        name, n = Counter(self.given).most_common(1)[0]
        short = {word: level for level, word in NAMES.items()}
        return short.get(name, "") if len(self.given) > 1 and 2 * n > len(self.given) else ""

    @property
    def equal_pairs(self) -> float | None:
        """Share of the pairs of readers who gave the same label; None for a single reader."""
        pairs = len(self.given) * (len(self.given) - 1)
        return sum(k * (k - 1) for k in Counter(self.given).values()) / pairs if pairs else None

    def cells(self) -> list[Cell]:
        """Return the cells of the table of labels."""
        counts: list[Cell] = [self.given.count(name) for name in NAMES.values()]
        return [self.question, self.stage, *counts, self.equal_pairs, NAMES.get(self.gold, "none"), self.provisional]


class Difficulty(Section):
    """Labels of a gold set, and accuracy of residents, attendings and fellows by level beside what X-PCR expects."""

    title: ClassVar[str] = "Levels against readers"
    name: ClassVar[str] = "difficulty"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of labels, of groups and of questions outside; nothing without such readers and levels."""
        labels = _labels(results)
        gold = {one.question: one.gold for one in labels if one.gold}
        yield from _of_labels(labels, gold, results)
        rows: list[list[Cell]] = []
        outside: list[list[Cell]] = []
        asked: set[str] = set()
        for (group, level), people in _answers(results, gold).items():
            items, expected = [item for own in people for item in own], ENVELOPES[group, level]
            score = _share(items)
            assert score.value is not None  # there are items
            inside = "yes" if in_envelope(score.value, *expected) else "no"
            rows.append([group, level, len(people), *score_cells(score), _text(*expected), inside])
            asked |= {item.id for item in items}
            outside += _outside(items, group, level)
        if rows:
            yield Text(_TEXTS["difficulty"].format(groups=", ".join(GROUPS)))
            yield table("difficulty", _HEADS["groups"], rows)
            yield Text(f"{len({row[0] for row in outside})} of {len(asked)} questions are outside.")
        if outside:
            yield table("difficulty_outside", _HEADS["outside"], outside, "Questions outside", _TEXTS["outside"])


def _share(items: Sequence[Item]) -> Score:
    return share_score("accuracy", [item.answer == item.truth for item in items], [item.group for item in items])


def _labels(results: Results) -> list[_Labels]:
    """Return the labels of every question that a person labelled; a label that cannot be read is none."""
    found: dict[str, list[Item]] = {}
    for outcomes in (own for own in results.outcomes.values() if own.config.get(READER)):
        for item in (i for task, items in outcomes.items.items() if task.endswith(ENDING) for i in items):
            if item.status == "answered":
                found.setdefault(labelled(item.id), []).append(item)
    return [
        _Labels(id, first.tags.get("stage", ""), first.group, str(first.truth), tuple(str(i.answer) for i in some))
        for id, some in found.items()
        for first in some[:1]
    ]


def _of_labels(labels: Sequence[_Labels], gold: Mapping[str, str], results: Results) -> Iterator[Part]:
    most = max((len(one.given) for one in labels), default=0)
    if most < 2:
        return
    whole = [one for one in labels if len(one.given) == most]
    stages = in_order(one.stage for one in whole if one.stage)
    named = {"all": whole} | {stage: [one for one in whole if one.stage == stage] for stage in stages}
    kappas = [_kappa_row(name, most, some) for name, some in named.items()]
    divided = sorted(labels, key=lambda one: (one.equal_pairs is None, one.equal_pairs, one.question))
    rows = [one.cells() for one in divided]
    esa = [row for name, outcomes in results.outcomes.items() for row in _esa(name, outcomes, gold)]
    columns: Heads = ["model", "level", N, Column("accuracy", "percent"), INTERVAL]
    yield from noted(
        _TEXTS["labels"],
        table("difficulty_kappa", _HEADS["kappas"], kappas),
        table("difficulty_gold", _HEADS["gold"], rows, "Labels of each question", _TEXTS["gold"]),
        table("difficulty_esa", columns, esa, "Models by gold level", _TEXTS["by_gold"]),
    )


def _kappa_row(stage: str, readers: int, some: Sequence[_Labels]) -> list[Cell]:
    agreement, kappa = fleiss_scores("level", [one.given for one in some], [one.group for one in some])
    value = kappa.value
    verdict = "no kappa: one label only" if value is None else (
        "accepted (0.70)" if value >= 0.7 else "below 0.70" if value >= 0.6 else "below 0.60: label again"
    )  # fmt: skip
    return [stage, readers, *score_cells(agreement), *score_cells(kappa)[1:], verdict]


def _esa(name: str, outcomes: Outcomes, gold: Mapping[str, str]) -> Iterator[list[Cell]]:
    """Yield the accuracy of a model at each gold level."""
    items = [item for own in outcomes.items.values() for item in own if item.id in gold]
    for level in LEVELS if not outcomes.config.get(READER) else ():
        if own := [item for item in items if gold[item.id] == level]:
            yield [name, NAMES[level], *score_cells(_share(own))]


def _answers(results: Results, gold: Mapping[str, str]) -> dict[tuple[str, str], list[list[Item]]]:
    """Return group and level of which something is expected -> answers of each reader.

    Args:
        results: The runs.
        gold: Question -> level by readers, which stands before that of the record.
    """
    people = {
        (group, level): [
            [i for items in outcomes.items.values() for i in items if (gold.get(i.id) or level_of(i)) == level]
            for outcomes in results.outcomes.values()
            if str(outcomes.config.get(READER) or "").casefold().startswith(group)
        ]
        for group, level in ENVELOPES
    }
    return {key: own for key, several in people.items() if (own := [items for items in several if items])}


def _outside(items: Sequence[Item], group: str, level: str) -> Iterator[list[Cell]]:
    """Yield the questions that the readers of a group do not answer as expected."""
    right: dict[str, list[bool]] = {}
    for item in items:
        right.setdefault(item.id, []).append(item.answer == item.truth)
    for question, own in right.items():
        if not in_envelope(mean(own), *ENVELOPES[group, level]):
            yield [question, level, group, len(own), mean(own), _text(*ENVELOPES[group, level])]


def _text(least: float, largest: float) -> str:
    """Return an envelope in words.

    Example:
        >>> _text(0.7, 1.0), _text(0.4, 0.6), _text(0.0, 0.4)
        ('above 70 %', '40 to 60 %', 'below 40 %')
    """
    if largest == 1:
        return f"above {100 * least:.0f} %"
    return f"below {100 * largest:.0f} %" if least == 0 else f"{100 * least:.0f} to {100 * largest:.0f} %"
