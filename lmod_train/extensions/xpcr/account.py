"""Sections about what was asked of chains, what the image adds to them, and how hard their questions are."""

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
    chain_runs,
    effect_of,
    effect_rows,
    every_chain,
    of_one_model,
    probe_runs,
)
from lmod_train.extensions.xpcr.scores import same_questions
from lmod_train.extensions.xpcr.tasks import NAMES, labelled
from lmod_train.report.contents import Part, Text, heads, texts
from lmod_train.report.probes import named_as_asked, own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.agreement import fleiss_scores
from lmod_train.scoring.comparison import FEWEST_DISCORDANT
from lmod_train.scoring.expertise import ENDING, ENVELOPES, LEVELS, in_envelope, level_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score
from lmod_train.scoring.spread import same_answer
from lmod_train.scoring.steps import STEPS, chains_of, in_order, incomplete_chains, is_right
from lmod_train.scoring.ways import compared
from lmod_train.tasks.filled import filled_texts, plain_text, unfilled
from lmod_train.tasks.regimes import IMPLIED, PLANTED

_TEXTS = texts(__file__)
_HEADS = heads(__file__)


class ChainAccount(Section):
    """Counts of chains and of missing earlier answers; followed wrong answers; consistency over orders of options."""

    title: ClassVar[str] = "Chains: what was asked"
    name: ClassVar[str] = "chain_account"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the counts of each task, and what was found of its followed answers and shuffled options."""
        for task, runs in every_chain(results):
            yield Text(_TEXTS["note"])
            yield table(
                f"chain_account-{task}",
                _HEADS["heads"],
                [_counts(run) for run in runs],
                f"{task}: chains and questions",
            )
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
        yield Text(_TEXTS["followed"])
        yield table(f"followed-{task}", _HEADS["followed_heads"], rows)


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
        yield Text(_TEXTS["turned"])
        yield table(f"turned-{task}", ["model", "stage", N, Column("turned", "number"), INTERVAL], rows)


def _shuffled(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the share of questions with the same answer in all orders of options, all together and by stage."""
    rows: list[list[Cell]] = []
    for run in runs:
        for stage in ("all", *run.stages):
            own = [item for item in run.items if stage in ("all", item.chain_step)]
            rows += [[run.label, stage, s.n, s.value, (s.low, s.high)] for s in _same(task, own) if s.n]
    if rows:
        yield Text(_TEXTS["shuffled"])
        yield table(f"shuffled-{task}", ["model", "stage", N, Column("same answer", "number"), INTERVAL], rows)


def _same(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the share of questions with the same option as the answer in all orders."""
    by_id = {item.id: item for item in items}
    several = compared([(item.id, item.tags) for item in by_id.values()], "order")
    answers = [[by_id[id].answer for id in ids] for ids in several]
    return same_answer(task, "order", answers, [by_id[ids[0]].group for ids in several])


# Whether the image is read at each stage of a chain: the same questions with and without it, after earlier answers.
CONTEXTS = ("oracle", "cas_last", "cas_all")
"""Regimes that give the image and earlier answers, or these alone."""

KIND = "none"
"""Kind of the probes that ask a question word for word, without its image."""


@dataclass(frozen=True, slots=True)
class ImageUse:
    """Difference of a run with the image and one without, in the same regime.

    Attributes:
        effect: With the image minus without, stage by stage.
        same: Stage -> share of its questions that both runs asked after the same earlier answers; no stage without
            earlier answers.
    """

    effect: Effect
    same: Mapping[str, float]


def image_uses(results: Results, task: str) -> Iterator[ImageUse]:
    """Yield the use of the image by each model in each regime of `CONTEXTS` that asked a task's probe too.

    The probe is that of the same run; without one, those of other runs of the same model, weights and regime.

    Args:
        results: Results of the runs.
        task: Name of a task that asks chains.
    """
    probes = probe_runs(results, task)
    runs = [run for run in chain_runs(results, task) if run.regime in CONTEXTS]
    pairs = [(run, probe) for run in runs for probe in _probes_of(run, probes)]
    for run, probe in pairs:
        alike = [one for one, _ in pairs if (one.regime, one.scores.called) == (run.regime, run.scores.called)]
        without = replace(probe, items=tuple(named_as_asked(probe.outcomes, task, KIND, run.outcomes)))
        for effect in effect_of(run, without, "image", _name(run, probe, alone=len(alike) == 1)):
            yield ImageUse(effect, _same_answers(run, probe))


def _probes_of(run: ChainRun, probes: Sequence[ChainRun]) -> list[ChainRun]:
    alike = [p for p in probes if (p.regime, p.weights) == (run.regime, run.weights)]
    return [p for p in alike if p.outcomes is run.outcomes] or alike


def _name(run: ChainRun, probe: ChainRun, *, alone: bool) -> str:
    """Return the name of the model, or of its runs where several of them have this name in one regime."""
    if alone:
        return run.scores.called
    return " - ".join(dict.fromkeys((run.scores.run, probe.scores.run)))


def _same_answers(run: ChainRun, probe: ChainRun) -> Mapping[str, float]:
    """Return stage -> share of the paired questions whose prompts state the same earlier answers in both runs."""
    mine, other = _earlier_image_use(run.outcomes), _earlier_image_use(probe.outcomes)
    steps = {item.id: item.chain_step for item in run.items if REGIME in item.tags}
    same: dict[str, list[bool]] = {}
    for id, own in own_ids(probe.outcomes, run.task, KIND, run.outcomes).items():
        if own in steps:
            same.setdefault(steps[own], []).append(mine[own] == other[id])
    return {step: sum(found) / len(found) for step, found in same.items()}


def _earlier_image_use(outcomes: Outcomes) -> dict[str, list[str]]:
    """Return record id -> the model's earlier answers in its prompt; none where these are the true ones."""
    answers = {p.record.id: p.answer for p in outcomes.predictions}
    return {p.record.id: filled_texts(p.record, answers) for p in outcomes.predictions}


# Whether the image is read at each stage of a chain, beyond what question and earlier answers give away.
NOTE_IMAGE_USE = _TEXTS["note_image_use"].format(fewest_discordant=FEWEST_DISCORDANT)


class ImageOfChains(Section):
    """Accuracy of each stage with and without the image, after earlier answers."""

    title: ClassVar[str] = "Chains: is the image read?"
    name: ClassVar[str] = "image_use"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per task; nothing unless a model was asked with and without the image after earlier answers."""
        for task, _ in every_chain(results):
            rows = [row for use in image_uses(results, task) for row in _rows(use)]
            if rows:
                yield Text(" ".join(NOTE_IMAGE_USE.split()))
                yield table(f"image_use-{task}", _HEADS["heads_image_use"], rows, f"{task}: with and without the image")


def _rows(use: ImageUse) -> Iterator[list[Cell]]:
    for stage, *cells in effect_rows(use.effect):
        yield [use.effect.model, use.effect.first, stage, *cells, use.same.get(str(stage))]


# Levels of expertise: labels of a gold set by people, and whether groups of people answer a level as X-PCR expects.
GROUPS = tuple(dict.fromkeys(group for group, _ in ENVELOPES))

NOTE_DIFFICULTY = f"""\
Questions with a level of expertise (R, A, S) that people answered. The group of a reader is the beginning of
the name: {", ".join(GROUPS)}, e.g. `answers SHEET.csv --curated CURATED --run RUN --reader resident_1`. Expected is
what X-PCR expects of the group at the level; it leaves out questions that are not answered so. Answers of several
readers to a question count one by one, and intervals are over patients. Where two or more readers have labelled a
question (above), its level is the one that more than half of them gave."""

BY_GOLD = "Share of right answers by the level that readers gave (ESA of X-PCR on the gold set)."

_ESA: Heads = ["model", "level", N, Column("accuracy", "percent"), INTERVAL]

_QUESTIONS: Heads = ["question", "level", "group", Column("answers", "count"), Column("right", "percent"), "expected"]


@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers of a group at a level: one item per reader and question."""

    group: str
    level: str
    readers: int
    items: Sequence[Item]

    @property
    def expected(self) -> tuple[float, float]:
        return ENVELOPES[self.group, self.level]

    def by_question(self) -> dict[str, list[bool]]:
        found: dict[str, list[bool]] = {}
        for item in self.items:
            found.setdefault(item.id, []).append(item.answer == item.truth)
        return found


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
        n = len(self.given)
        pairs = n * (n - 1)
        return sum(k * (k - 1) for k in Counter(self.given).values()) / pairs if pairs else None


class Difficulty(Section):
    """Labels of a gold set, and accuracy of residents, attendings and fellows by level beside what X-PCR expects."""

    title: ClassVar[str] = "Levels against readers"
    name: ClassVar[str] = "difficulty"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of labels, of groups and of questions outside; nothing without such readers and levels."""
        labels = _labels(results)
        yield from _of_labels(labels, results)
        found = list(_answers(results, {one.question: one.gold for one in labels if one.gold}))
        if not found:
            return
        yield Text(NOTE_DIFFICULTY)
        yield table("difficulty", _HEADS["groups"], list(map(_group_row, found)))
        rows = [row for answers in found for row in _outside(answers)]
        asked = {item.id for answers in found for item in answers.items}
        yield Text(f"{len({row[0] for row in rows})} of {len(asked)} questions are outside.")
        if rows:
            yield table("difficulty_outside", _QUESTIONS, rows, "Questions outside", _TEXTS["outside"])


def _is_person(outcomes: Outcomes) -> bool:
    return bool(outcomes.config.get(READER))


def _labels(results: Results) -> list[_Labels]:
    """Return the labels of every question that a person labelled; a label that cannot be read is none."""
    found: dict[str, list[Item]] = {}
    for outcomes in filter(_is_person, results.outcomes.values()):
        for item in (i for task, items in outcomes.items.items() if task.endswith(ENDING) for i in items):
            if item.status == "answered":
                found.setdefault(labelled(item.id), []).append(item)
    return [
        _Labels(
            id, some[0].tags.get("stage", ""), some[0].group, str(some[0].truth), tuple(str(i.answer) for i in some)
        )
        for id, some in found.items()
    ]


def _of_labels(labels: Sequence[_Labels], results: Results) -> Iterator[Part]:
    most = max((len(one.given) for one in labels), default=0)
    if most < 2:
        return
    yield Text(_TEXTS["labels"])
    whole = [one for one in labels if len(one.given) == most]
    stages = in_order(one.stage for one in whole if one.stage)
    named = {"all": whole} | {stage: [one for one in whole if one.stage == stage] for stage in stages}
    yield table("difficulty_kappa", _HEADS["kappas"], [_kappa_row(name, most, some) for name, some in named.items()])
    divided = sorted(labels, key=lambda one: (one.equal_pairs is None, one.equal_pairs, one.question))
    yield table(
        "difficulty_gold", _HEADS["gold"], list(map(_gold_row, divided)), "Labels of each question", _TEXTS["gold"]
    )
    gold = {one.question: one.gold for one in labels if one.gold}
    if rows := [row for name, outcomes in results.outcomes.items() for row in _esa(name, outcomes, gold)]:
        yield table("difficulty_esa", _ESA, rows, "Models by gold level", BY_GOLD)


def _kappa_row(stage: str, readers: int, some: Sequence[_Labels]) -> list[Cell]:
    agreement, kappa = fleiss_scores("level", [one.given for one in some], [one.group for one in some])
    value = kappa.value
    verdict = "no kappa: one label only" if value is None else (
        "accepted (0.70)" if value >= 0.7 else "below 0.70" if value >= 0.6 else "below 0.60: label again"
    )  # fmt: skip
    return [stage, readers, *score_cells(agreement), *score_cells(kappa)[1:], verdict]


def _gold_row(one: _Labels) -> list[Cell]:
    counts: list[Cell] = [one.given.count(name) for name in NAMES.values()]
    return [one.question, one.stage, *counts, one.equal_pairs, NAMES.get(one.gold, "none"), one.provisional]


def _esa(name: str, outcomes: Outcomes, gold: Mapping[str, str]) -> Iterator[list[Cell]]:
    """Yield the accuracy of a model at each gold level."""
    items = [item for own in outcomes.items.values() for item in own if item.id in gold]
    for level in LEVELS if not _is_person(outcomes) else ():
        own = [item for item in items if gold[item.id] == level]
        if own:
            score = share_score("esa", [i.answer == i.truth for i in own], [i.group for i in own])
            yield [name, NAMES[level], score.n, score.value, (score.low, score.high)]


def _answers(results: Results, gold: Mapping[str, str]) -> Iterator[_Answers]:
    """Yield the answers of each group at each level of which something is expected.

    Args:
        results: The runs.
        gold: Question -> level by readers, which stands before that of the record.
    """
    for group, level in ENVELOPES:
        people = [
            [i for items in outcomes.items.values() for i in items if (gold.get(i.id) or level_of(i)) == level]
            for outcomes in results.outcomes.values()
            if str(outcomes.config.get(READER) or "").casefold().startswith(group)
        ]
        own = [items for items in people if items]
        if own:
            yield _Answers(group, level, len(own), [item for items in own for item in items])


def _group_row(answers: _Answers) -> list[Cell]:
    right = [item.answer == item.truth for item in answers.items]
    score = share_score("accuracy", right, [item.group for item in answers.items])
    assert score.value is not None  # there are items
    inside = "yes" if in_envelope(score.value, *answers.expected) else "no"
    numbers: list[Cell] = [answers.readers, score.n, score.value, (score.low, score.high)]
    return [answers.group, answers.level, *numbers, _text(*answers.expected), inside]


def _outside(answers: _Answers) -> Iterator[list[Cell]]:
    for question, right in answers.by_question().items():
        share = sum(right) / len(right)
        if not in_envelope(share, *answers.expected):
            yield [question, answers.level, answers.group, len(right), share, _text(*answers.expected)]


def _text(least: float, largest: float) -> str:
    """Return an envelope in words.

    Example:
        >>> _text(0.7, 1.0), _text(0.4, 0.6), _text(0.0, 0.4)
        ('above 70 %', '40 to 60 %', 'below 40 %')
    """
    if largest == 1:
        return f"above {least:.0%}".replace("%", " %")
    return f"below {largest:.0%}".replace("%", " %") if least == 0 else f"{100 * least:.0f} to {100 * largest:.0f} %"
