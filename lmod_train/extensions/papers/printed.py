"""Printed results of the papers, one value per cell: models, numbers that cannot be, and published scores."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from statistics import median
from typing import Any

from lmod_train.core.artifacts.model_facts import STATES as OF_MODELS
from lmod_train.core.artifacts.model_facts import ModelFacts, PublishedRow, known_models
from lmod_train.core.package_data import package_data, package_table
from lmod_train.core.vocabulary.error_types import type_called
from lmod_train.report.published import Published

PAPERS = ("lmod_naacl", "lmod_v1", "lmod_plus", "xpcr", "ophthalwechat", "ophthalwechat_journal")
"""Papers with a CSV file in this folder; their names are in `lmod_train.core.artifacts.model_facts.PAPERS`."""

NO_MODEL = ("", "Random", "Average", "next-best model (unnamed)", "23 MLLMs pooled")
"""Rows of the tables that are no model's."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One cell of a table, or one number of the running text: a row of a paper's CSV file.

    Attributes:
        paper: A name of `PAPERS`.
        table: Table, or ``text`` with the place.
        model: Row of the table, as printed.
        task: Task in the paper; that of a rejection rate or a supervised baseline is in `dataset_or_subset`.
        dataset_or_subset: What the number is over.
        modality: Imaging modality, ``all``, ``macro_avg`` or empty.
        stage_or_class: Stage or class, ``overall`` or empty.
        metric: Metric.
        value: As printed, with trailing zeros; empty if no number is printed.
        unit: ``fraction``, ``percent``, ``p_value`` or ``count``.
        note: Remarks; after ``SUSPECT:``, which other printed number the cell contradicts.
    """

    paper: str
    table: str
    model: str = ""
    task: str = ""
    dataset_or_subset: str = ""
    modality: str = ""
    stage_or_class: str = ""
    metric: str = ""
    value: str = ""
    unit: str = "fraction"
    note: str = ""

    @property
    def number(self) -> float | None:
        """The value, percent as a fraction; None if no number or only a bound is printed."""
        if not self.value or self.value.startswith("<"):
            return None
        return float(Decimal(self.value) / self.scale)

    @property
    def scale(self) -> int:
        """100 if the unit is percent, otherwise 1."""
        return 100 if self.unit == "percent" else 1

    @property
    def decimals(self) -> int:
        """Number of printed decimals, in the printed unit.

        Example:
            >>> Printed("lmod_v1", "Table 3", value="12.50").decimals
            2
        """
        return len(self.value.partition(".")[2])

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit, as a fraction."""
        return 0.5 * 10.0**-self.decimals / self.scale

    def as_printed(self, value: float) -> str:
        """Return another value, a fraction, in the unit and with the decimals of this cell.

        Example:
            >>> Printed("lmod_v1", "Table 3", value="12.50", unit="percent").as_printed(0.5409)
            '54.09'
        """
        return f"{value * self.scale:.{self.decimals}f}"

    def equals(self, value: float) -> bool:
        """Return whether a value, a fraction, is this number in the printed digits, rounded or cut off.

        LMOD cuts off: 14 of 71 is printed as 19.71, and 16 of 71 as 22.53.

        Example:
            >>> cell = Printed("lmod_naacl", "Table 2", value="19.71", unit="percent")
            >>> cell.equals(14 / 71), cell.equals(15 / 76)
            (True, False)
        """
        cut = math.floor(value * self.scale * 10**self.decimals + 1e-6) / 10**self.decimals
        return self.value in (self.as_printed(value), f"{cut:.{self.decimals}f}")

    @property
    def suspicion(self) -> str:
        """Which other printed number the cell contradicts; empty if none is known."""
        return self.note.partition("SUSPECT:")[2].strip()


@cache
def printed(paper: str) -> tuple[Printed, ...]:
    """Return all printed results of a paper, in the order of its tables.

    Example:
        >>> printed("lmod_naacl")[4].value
        '50.00'
    """
    return tuple(Printed(**row) for row in read_table(paper))


def read_table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a CSV file of this folder."""
    return package_table(__file__, f"{name}.csv")


def find(paper: str, table: str, **fields: str) -> Iterator[Printed]:
    """Yield the cells of a table whose fields have the given values.

    Example:
        >>> [cell.value for cell in find("lmod_plus", "Table 3", model="GPT-4o", metric="hr")]
        ['0.9439']
    """
    for cell in printed(paper):
        if cell.table == table and all(getattr(cell, name) == value for name, value in fields.items()):
            yield cell


# Models of the papers: names as printed, and the names that runs give them.


@cache
def canonical_names() -> dict[tuple[str, str], str]:
    """Return (paper, printed name) -> the name that the model has in all papers."""
    return {(row["paper"], row["printed_name"]): row["canonical_name"] for row in read_table("model_aliases")}


@cache
def row_facts() -> dict[tuple[str, str], PublishedRow]:
    """Return (paper, printed name) -> facts about the model's row in the paper, from the shipped model configs."""
    rows = ((paper, row) for facts in known_models() for paper, row in facts.published.items())
    return {(paper, name): row for paper, row in rows for name in row.rows}


def models_of_run(name: str) -> frozenset[str]:
    """Return the models of the papers that a run's model is, by its name; empty if it is none of them.

    Known are the printed names, the names of the shipped configs, and those of the checkpoints and services in them,
    in upper or lower case, with any separators, and with folders in front. One model can have several names in the
    papers: Qwen2.5-VL-7B is printed as Qwen-7B in LMOD+.

    Example:
        >>> models_of_run("checkpoints/llava-1.5-7b-hf"), models_of_run("gpt-4o-2024-11-20"), models_of_run("cnn")
        (frozenset({'LLaVA-1.5-7B'}), frozenset({'GPT-4o'}), frozenset())
    """
    return _names().get(_key(name), frozenset())


@cache
def _names() -> dict[str, frozenset[str]]:
    """Return key of a name -> models."""
    found: dict[str, frozenset[str]] = {}
    for name, model in _named():
        found[_key(name)] = found.get(_key(name), frozenset()) | {model}
    return found


def _named() -> Iterator[tuple[str, str]]:
    for (_, name), model in canonical_names().items():
        yield from ((name, model), (model, model))
    for facts in known_models():
        for paper, row in facts.published.items():
            yield from ((name, canonical_names()[paper, row.rows[0]]) for name in _called(facts))


def _called(facts: ModelFacts) -> tuple[str, ...]:
    """Return the names under which a config and its checkpoint or service are known."""
    return (facts.name, *((facts.hub,) if facts.route != "X" else ()))


def _key(name: str) -> str:
    """Return a name without folders, provider, separators and the ending ``-hf`` of converted checkpoints."""
    last = re.split(r"/|: ", name.rstrip("/"))[-1].lower()
    return re.sub(r"[^a-z0-9]", "", last.removesuffix("-hf"))


# Rules about printed results: rows of a table whose first columns name the cells that they concern.
FIELDS = ("paper", "table", "model", "task", "dataset_or_subset", "modality", "stage_or_class", "metric")
"""Columns by which a rule names cells; a rule need not have all of them."""


def matches(rule: Mapping[str, str], cell: Printed) -> bool:
    """Return whether a rule concerns a cell: every field is empty in the rule or one of its patterns fits.

    Patterns are those of file names (``*``, ``?``), separated by ``|``.

    Example:
        >>> matches({"table": "Table 2|Table 3", "model": "LLaVA*"}, Printed("lmod_v1", "Table 3", "LLaVA-Med"))
        True
    """
    return all(_fits(rule.get(field, ""), str(getattr(cell, field))) for field in FIELDS)


def _fits(patterns: str, value: str) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns.split("|"))


def first_match(rules: Sequence[Mapping[str, str]], cell: Printed) -> Mapping[str, str] | None:
    """Return the first rule that concerns a cell, None if there is none."""
    return next((rule for rule in rules if matches(rule, cell)), None)


# State of a printed result: whether a number measured here can be the same.
STATES = OF_MODELS | {
    "other protocol": "the number was obtained in another way than any task here scores",
    "not comparable": "the number is no score of a model, or the paper does not state how it was computed",
}
"""State -> its meaning."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a printed result.

    Attributes:
        name: A key of `STATES`.
        why: Reason in a few words.
    """

    name: str
    why: str


@cache
def state_of(cell: Printed) -> State:
    """Return the state of a printed result, by the first of these that applies.

    No number is printed; the cell contradicts another printed number (``SUSPECT`` in its note); the first matching row
    of ``states.csv``; the facts about the model's row in the shipped model configs.

    Example:
        >>> cell = Printed("lmod_plus", "Table 3", "LLaVA-1.5-7B", "sex_prediction", metric="accuracy", value="0.5105")
        >>> state_of(cell).name
        'reproducible'
    """
    if not cell.value:
        return State("no numbers", cell.note or "empty cell")
    if cell.suspicion:
        return State("source inconsistent", cell.suspicion)
    rule = first_match(read_table("states"), cell)
    return State(rule["state"], rule["why"]) if rule else _of_model(cell)


def _of_model(cell: Printed) -> State:
    facts = row_facts().get((cell.paper, cell.model))
    if facts is None:
        return State("not comparable", "no facts about the model are known")
    if facts.state == "source inconsistent":
        return State(facts.otherwise, OF_MODELS[facts.otherwise])
    return State(facts.state, facts.note or OF_MODELS[facts.state])


# Scores as the papers print them, of the tasks of this package, to show beside those of runs.


@cache
def published() -> tuple[Published, ...]:
    """Return all published scores: supervised models, best and median zero-shot, and the shares of error types."""
    given = package_data(__file__, "scores.yaml")
    supervised = [score for of in given["supervised"] for score in _supervised(**of)]
    zero_shot = [score for of in given["zero_shot"] for score in _best_and_median(of)]
    return (*supervised, *zero_shot, *_error_types())


def _supervised(task: str, target: str, model: str, ours: str, note: str) -> Iterator[Published]:
    for cell in find("lmod_plus", "Table 7", dataset_or_subset=target):
        (first,) = find("lmod_naacl", "Table 4", dataset_or_subset=target, modality=cell.modality)
        macro = cell.modality == "macro_avg"
        metric = _metric(cell) if first.metric == cell.metric else f"{_metric(first)} (LMOD), {_metric(cell)} (LMOD+)"
        modality = ("macro" if macro else cell.modality) if task == "anatomy" else ""
        remark = f"mean over the five modalities; {note}" if macro else note
        where = "LMOD, Table 4; LMOD+, Table 7"
        yield Published(task, None, modality, "supervised", model, metric, ours, _number(cell), where, remark)


def _metric(cell: Printed) -> str:
    return cell.metric.replace("f1", "F1")


def _error_types() -> Iterator[Published]:
    note = "of 100 wrong replies of 23 models, sorted by GPT-4o and by hand"
    for cell in find("lmod_plus", "Table 9", metric="proportion"):
        kind = type_called(cell.stage_or_class) or cell.stage_or_class
        yield Published("glaucoma", None, "", "error type", "", kind, "", _number(cell), "LMOD+, Table 9", note)


def _best_and_median(column: Mapping[str, Any]) -> Iterator[Published]:
    metric = column.get("metric", "accuracy")
    cells = list(find(column["paper"], column["table"], task=column["target"], metric=metric))
    scores = {cell.model: _number(cell) for cell in cells if cell.value and cell.model not in NO_MODEL}
    best = max(scores, key=scores.__getitem__).replace("LLaVa", "LLaVA")
    chance, where, note = column.get("chance"), column["where"], f"zero-shot{column.get('note', '')}"
    for model, value, of in (
        (f"{best} (best)", max(scores.values()), "of_best"),
        (f"median of {len(scores)} models", median(scores.values()), "of_median"),
    ):
        said, remark = _metric(cells[0]), note + column.get(of, "")
        yield Published(column["task"], chance, "", "zero-shot", model, said, column["ours"], value, where, remark)


def _number(cell: Printed) -> float:
    number = cell.number
    assert number is not None, cell
    return number
