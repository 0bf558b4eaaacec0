"""Sections on whether a model looks: changed images, no image, and classifiers that use shortcuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from lmod_train.core.artifacts.shortcuts import Shortcut, read_shortcuts
from lmod_train.core.removal import ALL
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Estimate, Heads, N, table
from lmod_train.extensions.looking.results import COLUMNS, Look, draw_strip, looks_of, one_eye, stated
from lmod_train.extensions.looking.scores import NOTHING, REDRAWN, SMALL, Effect, Finding, Judged, asked_of, enough
from lmod_train.extensions.looking.task import Grounding
from lmod_train.report.contents import Figure, Part, Remark, Text, heads, noted, texts
from lmod_train.report.figures.qualitative import MODELS
from lmod_train.report.probe_curves import read_probes
from lmod_train.report.probes import Probed, probed
from lmod_train.report.results import Results, read_results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import GROUNDING
from lmod_train.report.thumbnails import licences
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.items import Item
from lmod_train.scoring.share import share_score
from lmod_train.scoring.status import chance_of

_TEXTS, _HEADS = texts(__file__), heads(__file__)

LEAK = 0.1
"""Accuracy above chance that the interval of the classifier of filled crops must exclude."""

RULES = _TEXTS["rules"].format(f"{100 * SMALL:.0f}")


class Looking(Section):
    """Verdict, changes and effects of each task, true answer and model, a strip of one eye, and the probes."""

    title: ClassVar[str] = "Does it look?"
    name: ClassVar[str] = "looking"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield verdicts, tables and strips of the grounding audit, and what is left without the image."""
        looks = looks_of(results)
        if looks:
            found = {name: look.judged for name, look in looks.items()}
            yield from _verdicts(found, _evidence(results))
            yield from _leaks(results)
            yield from map(Remark, _checks(found))
            yield from _tables(found)
            yield from _strips(results, looks)
        yield from WithoutImage().parts(results)


def verdict_lines(run: Path, trusted: Sequence[str]) -> str:
    """Return the verdicts on a run of the audit, a line for each true answer."""
    found = {name: look.judged for name, look in looks_of(read_results([run], None, tuple(trusted))).items()}
    verdicts = [_line(name, one) for name, several in found.items() for one in several]
    return "\n".join(["Does it look?", *verdicts, *_checks(found)])


def _line(name: str, one: Judged) -> str:
    """Return a verdict in a line, with what it rests on or why there is none."""
    why = _next(one) if one.verdict == "cannot be told" else stated(one)
    verdict = f"{name}: {_task(one.finding)}, {one.finding.truth} (n {one.finding.n}): {one.verdict}"
    return f"{verdict}; {why}" if why else verdict


def _evidence(results: Results) -> dict[str, str]:
    """Return task -> the structures whose removal counts as that of the evidence; none for tasks not installed."""
    tasks = {name: task for own in results.outcomes.values() for name, task in own.tasks.items()}
    named = {name: task.evidence for name, task in tasks.items() if isinstance(task, Grounding)}
    return {name: ", ".join(own).replace(ALL, "all that is annotated") for name, own in named.items()}


def _verdicts(found: Mapping[str, Sequence[Judged]], evidence: Mapping[str, str]) -> Iterator[Part]:
    rows: list[list[Cell]] = [
        [_task(one.finding), one.finding.truth, name, one.finding.n, one.verdict, _next(one)]
        for name, several in found.items()
        for one in several
    ]
    yield Text(_TEXTS["note"])
    told = [f"{name.removesuffix(GROUNDING)}: {own or 'none'}" for name, own in sorted(evidence.items())]
    note = [RULES, *([f"What was removed as the evidence: {'; '.join(told)}."] if told else [])]
    yield table("looking", _HEADS["verdicts"], rows, "Verdicts", " ".join(" ".join(note).split()))


def _task(found: Finding) -> str:
    return found.task.removesuffix(GROUNDING)


def _next(one: Judged) -> str:
    """Return why it cannot be told, what could have been shown, and what to do next."""
    if one.verdict != "cannot be told":
        return _TEXTS[one.verdict]
    if one.widest is None or one.detectable is None:
        return one.why
    n, needed = one.widest.n, enough(one.widest, one.detectable)
    effect = f"an effect of {100 * one.detectable:.0f} points" if one.detectable < 1 else "no effect"
    shown = f"{one.why}; these {n} questions would have shown {effect}"
    return f"{shown}; ask about {needed:,} for {100 * SMALL:.0f} points" if needed > n else shown


def _leaks(results: Results) -> Iterator[Remark]:
    """Yield a remark on each task whose filled crops may tell the answer."""
    folders = dict.fromkeys(folder for folder in results.images.values() if folder)
    rows = [row for folder in folders for row in read_shortcuts(folder) if row.shortcut.startswith("filled_crop.")]
    truths = {t: {str(i.truth) for i in items} for tasks in results.items.values() for t, items in tasks.items()}
    for row in (row for row in rows if row.task in truths):
        chance = 1 / max(2, len(truths[row.task]))
        fill, task = row.shortcut.partition(".")[2], row.task.removesuffix(GROUNDING)
        if row.high is None:
            yield Remark(f"{task}: too few patients to test whether the fill ({fill}) tells the answer.")
        elif row.high > chance + LEAK:
            yield Remark(
                f"{task}: that the fill ({fill}) tells the answer cannot be excluded: a classifier of the filled crops "
                f"alone reaches a balanced accuracy of {_stated(row)}, chance is {chance:.2f}."
            )


def _checks(found: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    """Yield how often each model's answer changes to the fact that phantoms were redrawn with: a check of verdicts."""
    for name, several in found.items():
        own = [(_task(one.finding), one.finding.truth, one.finding.obeys) for one in several]
        each = [f"{task}, {truth}: {_percent(effect)} of {effect.n}" for task, truth, effect in own if effect.n]
        any_change = [
            f"{100 * (one.finding.changes[REDRAWN].value or 0):.0f} %" for one in several if one.finding.obeys.n
        ]
        if each:
            pairs = "Phantoms redrawn with only the asked fact changed"
            at_all = f"it changes in {' and '.join(any_change)}"
            yield f"{pairs}, {name} changes its answer to that fact: {'; '.join(each)} ({at_all})."


def _percent(effect: Effect) -> str:
    value, low, high = (None if end is None else 100 * end for end in (effect.value, effect.low, effect.high))
    return f"{value:.0f} %" + (f" ({low:.0f}-{high:.0f} %)" if low is not None and high is not None else "")


def _stated(row: Shortcut) -> str:
    return f"{row.value:.2f} ({row.low:.2f} to {row.high:.2f}, n = {row.n})"


def _tables(found: Mapping[str, Sequence[Judged]]) -> Iterator[Part]:
    changes: list[list[Cell]] = []
    effects: list[list[Cell]] = []
    for name, own in ((name, own) for name, several in found.items() for own in several):
        one = own.finding
        lead: list[Cell] = [_task(one), one.truth, name]
        changes.append([*lead, "as_is_again (floor)", *_cells(one.floor), None])
        for shown, effect in one.changes.items():
            changes.append([*lead, shown, *_cells(effect), _signed(one.margins.get(shown))])
        for fill, effect in one.specific.items():
            grounded = NOTHING if own.default else one.grounded[fill]  # removal cannot show it for this truth
            effects.append([*lead, fill, *_cells(effect), _estimate(grounded), *_answers(one)])
        if not one.specific:
            effects.append([*lead, "", None, None, None, None, *_answers(one)])
    yield table("looking_changes", _HEADS["changes"], changes, "Changes of the answer")
    yield table("looking_effects", _HEADS["effects"], effects, "Does the evidence count?")


def _answers(found: Finding) -> list[Cell]:
    """Return what holds for all fills: follow, stay, following and recall."""
    return [*map(_estimate, (found.follow, found.stay)), *_ends(found.following), *_ends(found.recall)]


def _ends(effect: Effect) -> list[Cell]:
    return [effect.value, (effect.low, effect.high)]


def _cells(effect: Effect) -> list[Cell]:
    return [effect.n, effect.value, (effect.low, effect.high)]


def _estimate(effect: Effect) -> Estimate:
    return Estimate(effect.value, effect.low, effect.high, effect.n)


def _signed(effect: Effect | None) -> Cell:
    return effect.value if effect else None


def _strips(results: Results, looks: Mapping[str, Look]) -> Iterator[Part]:
    """Yield a figure a task: one eye in its variants, with the answers of the first models beneath."""
    for task in dict.fromkeys(task for look in looks.values() for task in look.items):
        names = [name for name, look in looks.items() if look.items.get(task)][:MODELS]
        records = {p.record.id: p.record for name in names for p in results.outcomes[name].predictions}
        rows = one_eye({name: asked_of(looks[name].items[task]) for name in names}, records)
        if not rows:
            continue
        shown = [record for record in records.values() if set(record.image) & {row[2] for row in rows}]
        curated = next((results.images[name] for name in names if results.images[name]), None)
        stay = [f"{one.source} ({one.licence})" for one in licences(curated, shown) if one.stays]
        note = f"must stay on this machine: {', '.join(stay)}" if stay else ""
        title = f"{task.removesuffix(GROUNDING)}: one eye in its variants; orange: the answer changed"
        if note:
            yield Remark(note)
        drawn = table(f"looking-{task}", COLUMNS, rows, "; ".join(filter(None, (title, note))))
        alt = f"{title}. Below each image are the answers of the models."
        yield Figure(drawn.name, title, alt, drawn, partial(draw_strip, curated=curated), photographs=True)


# What is left of the scores without the image.
class WithoutImage(Section):
    """Accuracy with the image, without it, and with exchanged images, from probes of the same questions."""

    title: ClassVar[str] = "Without the image"
    name: ClassVar[str] = "blind"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of the probes and of the training's last probe; none without probes."""
        asked = [(name, found) for name, run in results.outcomes.items() for found in probed(run)]
        rows = [_row(found, name) for name, found in asked]
        stages = [_row(found.at(stage), name, stage) for name, found in asked for stage in found.stages]
        words = {(r.task, r.split): r for r in results.shortcuts if r.shortcut == "words" and r.metric == "accuracy"}
        if rows:
            blind = [[task, split, row.n, row.value, (row.low, row.high)] for (task, split), row in words.items()]
            heads = _HEADS["blind"]
            yield from noted(
                _TEXTS["note_blind"],
                table("without_image", heads, rows),
                table("without_image_stages", [*heads[:2], "stage", *heads[2:]], stages, "Chains, stage by stage"),
                table("words_alone", _HEADS["words"], blind, "A classifier that reads the question alone"),
            )
        yield from _training(results)


def _row(found: Probed, name: str, stage: str = "") -> list[Cell]:
    names: list[Cell] = [found.task, name, *([stage] if stage else []), found.kind]
    return [*names, *_cells_blind(found)]


def _cells_blind(found: Probed) -> list[Cell]:
    """Return n, both accuracies, their difference with its interval, the share of abstentions, and chance."""
    items, both = found.items, found.pairs
    refused = share_score("refused", [i.status == "refused" for i in items], [i.group for i in items]).value
    if found.kind == "foreign" or not all(item.choices for item in items):
        return [len(items), None, None, None, None, refused, None]
    chance = chance_of(item.choices for item in items)
    if not both:
        return [len(items), None, _mean(_right(items)), None, None, refused, chance]
    own, without = _right([one for one, _ in both]), _right([other for _, other in both])
    gap = paired_difference(found.task, own, without, [one.group for one, _ in both])
    return [len(both), _mean(own), _mean(without), gap.value, (gap.low, gap.high), refused, chance]


def _right(items: Sequence[Item]) -> list[float]:
    return [float(item.answer == item.truth) for item in items]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _training(results: Results) -> Iterator[Part]:
    """Yield the last probe of each run that was trained with tripwires."""
    rows: list[list[Cell]] = []
    for name, run in zip(results.names, results.runs, strict=True):
        for probe in read_probes(run.path)[-1:]:
            signs = [probe.get(sign) for sign in ("right", "right_shuffled", "lost_without_picture")]
            rows.append([name, probe.get("step"), probe.get("n"), *signs])
    title = "Exchanged images in training"
    yield from noted(_TEXTS["training"], table("exchanged_images", _HEADS["training"], rows, title))


# Scores of shortcut classifiers, beside which the scores of models are read.
class Shortcuts(Section):
    """Scores of classifiers that do not use the medical content of the images, from ``audit.csv``."""

    title: ClassVar[str] = "Shortcut baselines"
    name: ClassVar[str] = "shortcuts"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of the classifiers for the tasks and splits of the runs; nothing if there are none."""
        rows = [[r.task, r.shortcut, r.split, r.metric, r.n, r.value, (r.low, r.high)] for r in results.shortcuts]
        columns: Heads = ["task", "shortcut", "split", "metric", N, SCORE, INTERVAL]
        yield from noted(_TEXTS["note_shortcuts"], table("shortcuts", columns, rows))
