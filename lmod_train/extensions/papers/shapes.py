"""Tables of the papers in their own shape: rows, columns, and which printed cells stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.extensions.papers.printed import Printed, printed
from lmod_train.report.contents import texts

_TEXTS = texts(__file__)


Line = tuple[str, str]
"""A line of a model: its head, and the metric of its cells; both empty if a model has one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a table.

    Attributes:
        head: Its head.
        cell: The fields that its cells have in common; empty fields differ between rows.
    """

    head: str
    cell: Printed


@dataclass(frozen=True, slots=True)
class Shape:
    """A table of a paper.

    Attributes:
        name: Name of the table in a report.
        title: Title, with the paper and the number.
        places: Its columns.
        lines: Lines of each model.
        note: What is not printed, or needed to interpret the numbers.
        unit: Unit of columns without a printed number.
    """

    name: str
    title: str
    places: tuple[Place, ...]
    lines: tuple[Line, ...] = (("", ""),)
    note: str = ""
    unit: str = "fraction"

    def models(self) -> list[str]:
        """Return the rows of the table, in the printed order."""
        return list(dict.fromkeys(cell.model for place in self.places for cell in _cells(place.cell)))

    def at(self, place: Place, line: Line, model: str = "") -> Printed:
        """Return the printed cell of a row and column; one without a value if none is printed there.

        Args:
            place: The column.
            line: The line of the model.
            model: The row, as printed; empty for a row of a run, whose unit and digits are those of the column.
        """
        wanted = replace(place.cell, metric=line[1] or place.cell.metric, model=model)
        found = next(_cells(wanted), None)
        if found is None:
            return replace(wanted, unit=self.unit)
        return found if model else replace(wanted, unit=found.unit)


def _cells(wanted: Printed) -> Iterator[Printed]:
    fields = ("task", "dataset_or_subset", "modality", "stage_or_class", "metric")
    given = {name: getattr(wanted, name) for name in fields if getattr(wanted, name)}
    rows = _rows(wanted.paper, wanted.table)
    for cell in rows.get(wanted.model, ()) if wanted.model else (cell for row in rows.values() for cell in row):
        if all(getattr(cell, name) == value for name, value in given.items()):
            yield cell


@cache
def _rows(paper: str, table: str) -> dict[str, list[Printed]]:
    """Return the cells of a table by model, in the printed order."""
    found: dict[str, list[Printed]] = {}
    for cell in printed(paper):
        if cell.table == table:
            found.setdefault(cell.model, []).append(cell)
    return found


def _columns(paper: str, table: str, heads: dict[str, dict[str, str]]) -> tuple[Place, ...]:
    return tuple(Place(head, Printed(paper, table, **fields)) for head, fields in heads.items())


def _anatomy(hr: str = "hr") -> dict[str, dict[str, str]]:
    metrics = {"anatomy precision": "precision", "anatomy recall": "recall", "anatomy F1": "f1", "anatomy HR": hr}
    return {head: {"task": "anatomical_recognition", "modality": "all", "metric": m} for head, m in metrics.items()}


def _of(task: str, metric: str = "accuracy", **fields: str) -> dict[str, str]:
    return {"task": task, "metric": metric, **fields}


MODALITIES = ("SS", "OCT", "SLO", "LP", "CFP")

_LMOD = _anatomy() | {"glaucoma": _of("glaucoma_diagnosis"), "macular hole stage": _of("mh_staging")}

_V1 = _LMOD | {"anatomy HR": _anatomy("ppv")["anatomy HR"], "age": _of("age_prediction"), "sex": _of("sex_prediction")}

_PLUS = _anatomy() | {
    "binary diagnosis": _of("binary_diagnosis"),
    "multi-class diagnosis": _of("multiclass_diagnosis"),
    "staging": _of("staging_overall"),
    "sex": _of("sex_prediction"),
    "age": _of("age_prediction"),
}

_REJECTED = {
    head: _of("rejection_rate", "rejection_rate", dataset_or_subset=task)
    for head, task in (
        ("age", "age_prediction"),
        ("sex", "sex_prediction"),
        ("macular hole stage", "mh_staging"),
        ("glaucoma", "glaucoma_diagnosis"),
    )
}

_MODALITY = {
    ("overall" if m == "all" else m): _of("anatomical_recognition", "", modality=m) for m in ("all", *MODALITIES)
}

_SETS = (("OIMHS", "mh_staging", "1234"), ("ICDR", "icdr_staging", "01234"), ("SDRG", "sdrg_staging", "01234"))

_STAGES = {
    f"{name} {stage}": _of(task, "", dataset_or_subset=name, stage_or_class=f"stage {stage}")
    for name, task, stages in _SETS
    for stage in stages
}

_ERRORS = (
    "Misinterpreted Visual Features",
    "Inconsistent Reasoning",
    "Absent Visual Processing",
    "Text Generation Failures",
    "Medical Knowledge Errors",
)


def _supervised(metric: str) -> dict[str, dict[str, str]]:
    def column(target: str, modality: str = "", kind: str = metric) -> dict[str, str]:
        return _of("supervised_baseline", kind, dataset_or_subset=target, modality=modality)

    anatomy = {f"anatomy {m}": column("anatomical_recognition", m) for m in ("macro_avg", *MODALITIES)}
    others = {"glaucoma": "glaucoma_diagnosis", "macular hole stage": "mh_staging"}
    return anatomy | {head: column(target, kind="accuracy") for head, target in others.items()}


_PRF = (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))

_UNREAD = "A run that names no region has precision, recall and F1 of 0; the paper prints N/A for VILA-8B."

_STAGE_NAMES = ("IQA", "AL", "LC", "DD", "SG", "CD")


def _of_stages(modality: str) -> dict[str, dict[str, str]]:
    return {stage: _of(stage.lower(), modality=modality, stage_or_class=stage) for stage in _STAGE_NAMES}


_BY_MODALITY = "In percent. Most rows are the same model's row of another modality times a constant."

_XPCR = {
    **{stage: _of(stage.lower(), "swa", stage_or_class=stage) for stage in _STAGE_NAMES},
    "stages, mean": _of("chain", "swa_mean"),
    **{level: _of("chain", "esa", stage_or_class=level) for level in ("resident", "attending", "specialist")},
    "levels, mean": _of("chain", "esa_mean"),
    **{metric.upper(): _of("chain", metric) for metric in ("ccr", "ece", "uas")},
}


def _wechat(task: str, heads: Mapping[str, str], metrics: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return columns of OphthalWeChat: for each head its metrics; heads map to subsets, or to the end of a task."""
    return {
        " ".join(filter(None, (head, name))) or "accuracy": _of(task.format(subset.lower().replace("-", "_")), metric,
                                                   dataset_or_subset=subset)
        for head, subset in heads.items()
        for name, metric in metrics.items()
    }  # fmt: skip


_AGAINST = {"": "accuracy", "P": "p_value_vs_reference"}

_OVERALL = {"overall": "overall", "CN": "chinese", "EN": "english"}

_CLOSED = {f"{kind} {lang}": f"{kind}_{lang}" for kind in ("Binary", "Single-choice") for lang in ("CN", "EN")}

_WECHAT = {
    "a": _wechat("vqa_overall", _OVERALL, _AGAINST)
    | {"CN against EN P": _of("vqa_overall", "p_value_cn_vs_en", dataset_or_subset="chinese_vs_english")},
    "b": _wechat("vqa_{}", _CLOSED, _AGAINST),
    "c": _wechat("vqa_open_cn", {"": "Open-ended_CN"}, _AGAINST | {"BLEU-1": "bleu1", "BERTScore": "bertscore"}),
    "d": _wechat("vqa_open_en", {"": "Open-ended_EN"}, _AGAINST | {"BLEU-1": "bleu1", "BERTScore": "bertscore"}),
    "journal": _wechat("vqa_overall", _OVERALL, {"": "accuracy"})
    | _wechat("vqa_{}", {"Binary EN": "Binary_EN", "Single-choice EN": "Single-choice_EN"}, {"": "accuracy"})
    | {f"Open-ended {lang}": _of(f"vqa_open_{lang.lower()}", dataset_or_subset=f"Open-ended_{lang}")
       for lang in ("CN", "EN")},
}  # fmt: skip

_SPLIT = "Precision, recall and F1 of one stage against the others."

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("lmod_table_2", "LMOD, Table 2: overall performance", _columns("lmod_naacl", "Table 2", _LMOD),
              note="Anatomy as fractions, accuracies in percent. HR is printed as HC. " + _UNREAD),
        Shape("lmod_table_4", "LMOD, Table 4: supervised classifiers",
              _columns("lmod_naacl", "Table 4", _supervised("f1")), note=_TEXTS["supervised"], unit="percent"),
        Shape("lmod_table_7", "LMOD, Table 7: p values of age groups",
              _columns("lmod_naacl", "Table 7", {"p value": _of("subgroup_age_p", "p_value")}), note=_TEXTS["no_test"],
              unit="p_value"),
        Shape("lmod_table_8", "LMOD, Table 8: p values of sexes",
              _columns("lmod_naacl", "Table 8", {"p value": _of("subgroup_sex_p", "p_value")}), note=_TEXTS["no_test"],
              unit="p_value"),
        Shape("lmod_figure_5", "LMOD, Figure 5: anatomy F1 by source of fundus photographs",
              _columns("lmod_naacl", "text 4.3 (Figure 5)",
                       {s: _of("anatomical_recognition", "f1", dataset_or_subset=s, modality="CFP")
                        for s in ("REFUGE", "IDRiD", "ORIGA", "G1020")}),
              note="The text states two of the twenty numbers that the figure draws."),
        Shape("lmod_v1_table_3", "LMOD, first version, Table 3: overall performance",
              _columns("lmod_v1", "Table 3", _V1),
              note="Anatomy as fractions, accuracies in percent. HR is printed as PPV. " + _UNREAD),
        Shape("lmod_v1_table_4", "LMOD, first version, Table 4: rejection rates",
              _columns("lmod_v1", "Table 4", _REJECTED), unit="percent"),
        Shape("lmod_plus_table_3", "LMOD+, Table 3: overall performance", _columns("lmod_plus", "Table 3", _PLUS),
              note="HR is printed as HC. The stages of runs are in Table 5 and Figure 5, set by set."),
        Shape("lmod_plus_table_4", "LMOD+, Table 4: anatomy by modality", _columns("lmod_plus", "Table 4", _MODALITY),
              (*_PRF, ("HR", "hr"))),
        Shape("lmod_plus_table_5", "LMOD+, Table 5: staging by stage", _columns("lmod_plus", "Table 5", _STAGES), _PRF,
              note=_SPLIT),
        Shape("lmod_plus_table_6", "LMOD+, Table 6: demographics",
              _columns("lmod_plus", "Table 6", {k: _PLUS[k] for k in ("sex", "age")})),
        Shape("lmod_plus_table_7", "LMOD+, Table 7: supervised classifiers",
              _columns("lmod_plus", "Table 7", _supervised("accuracy")), note=_TEXTS["supervised"]),
        Shape("lmod_plus_table_9", "LMOD+, Table 9: types of 100 sampled errors",
              _columns("lmod_plus", "Table 9",
                       {e: _of("error_type_share", "", stage_or_class=e) for e in _ERRORS}),
              (("errors", "count"), ("percent", "proportion")), note=_TEXTS["sorted"], unit="count"),
        Shape("lmod_plus_figure_3", "LMOD+, Figure 3: binary diagnosis by condition",
              _columns("lmod_plus", "text (Figure 3)",
                       {f.condition: _of("binary_diagnosis", dataset_or_subset=f.short) for f in FINDINGS}),
              note="The text states two of the 276 accuracies that the figure draws.", unit="percent"),
        Shape("lmod_plus_figure_5", "LMOD+, Figure 5: staging by set",
              _columns("lmod_plus", "Figure 5", {s: _of(t, dataset_or_subset=s) for s, t, _ in _SETS}),
              note="The accuracies that the figure draws are not printed."),
        Shape("lmod_plus_figure_6", "LMOD+, Figure 6: ICDR by stage",
              _columns("lmod_plus", "Table 5", {k: v for k, v in _STAGES.items() if k.startswith("ICDR")}), _PRF,
              note="The figure draws ten rows of Table 5. " + _SPLIT),
        Shape("xpcr_table_2", "X-PCR, Table 2: stages, levels and chains", _columns("xpcr", "Table 2", _XPCR),
              note=_TEXTS["chains"], unit="percent"),
        *(Shape(f"xpcr_table_{number}", f"X-PCR, Table {number} of the supplement: stages on {modality}",
                _columns("xpcr", f"Table {number}", _of_stages(modality)), note=_BY_MODALITY, unit="percent")
          for number, modality in enumerate(("EP", "CFP", "RetCam", "FFA", "ICGA", "OCT"), 3)),
        Shape("ophthalwechat_table_1a", "OphthalWeChat, Table 1 A: overall",
              _columns("ophthalwechat", "Table 1A", _WECHAT["a"]), note=_TEXTS["wechat_p"]),
        Shape("ophthalwechat_table_1b", "OphthalWeChat, Table 1 B: closed questions",
              _columns("ophthalwechat", "Table 1B", _WECHAT["b"]), note=_TEXTS["wechat_p"]),
        Shape("ophthalwechat_table_1c", "OphthalWeChat, Table 1 C: open questions in Chinese",
              _columns("ophthalwechat", "Table 1C", _WECHAT["c"]), note=_TEXTS["wechat_open"]),
        Shape("ophthalwechat_table_1d", "OphthalWeChat, Table 1 D: open questions in English",
              _columns("ophthalwechat", "Table 1D", _WECHAT["d"]), note=_TEXTS["wechat_open"]),
        Shape("ophthalwechat_journal", "OphthalWeChat, journal version: abstract",
              _columns("ophthalwechat_journal", "Abstract", _WECHAT["journal"]), note=_TEXTS["wechat_journal"]),
    )
}  # fmt: skip
"""Name -> table. Of LMOD+, Figure 4 draws the multi-class accuracies of Table 3 by the size of the models."""
