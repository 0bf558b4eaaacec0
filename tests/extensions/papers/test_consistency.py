"""Each line of an independent list of recomputations, which another program wrote, against ours."""

from collections import Counter

import numpy as np

from lmod_train.extensions.papers.printed import canonical_names, find, printed
from tests.extensions.papers.recomputing import (
    BALANCE,
    EXPECTED,
    MODALITIES,
    WEIGHTS,
    checks,
    harmonic,
    one,
    recalls,
)


def test_every_line_of_the_list_is_recomputed_below():
    assert set(Counter(row["check"] for row in EXPECTED)) == {
        "average", "macro average", "F1 = 2PR/(P+R)", "sum of images", "overall = image-weighted mean",
        "same quantity printed twice", "F1 <= 2PR/(P+R)", "same model in both versions",
        "staging accuracy from Table 5 (weights 3859/390/665)", "row = constant x EP row (cells within 0.02)",
    }  # fmt: skip


def each(check):
    """One test of all rows of a check; a failing row is shown."""

    def of(test):
        def rows():
            assert checks(check)
            for row in checks(check):
                try:
                    test(row)
                except AssertionError as error:
                    raise AssertionError(f"{row}: {error}") from error

        return rows

    return of


@each("average")
def test_averages(row):
    task, metric = row["where"].split(" ")
    cells = [c for c in find(row["paper"], row["table"], task=task, metric=metric) if c.value]
    values = [float(c.value) for c in cells if c.model not in ("Random", "Average")]
    assert row["recomputed"] == f"{np.mean(values):.4f} (n={len(values)})"
    cell = one(row["paper"], row["table"], task=task, metric=metric, model="Average")
    assert cell.value == row["printed"]
    near = abs(np.mean(values) - float(cell.value)) <= 10.0**-cell.decimals
    assert near == (row["verdict"] != "DISAGREES")
    if row["verdict"] == "agrees":
        assert f"{np.mean(values):.{cell.decimals}f}" == cell.value


@each("macro average")
def test_macro_averages_of_the_cnn(row):
    cells = list(find(row["paper"], row["table"], dataset_or_subset="anatomical_recognition"))
    (macro,) = [c.value for c in cells if c.modality == "macro_avg"]
    mean = np.mean([float(c.value) for c in cells if c.modality in MODALITIES])
    assert (macro, f"{mean:.5f}") == (row["printed"], row["recomputed"])


@each("F1 = 2PR/(P+R)")
def test_f1_against_precision_and_recall(row):
    model, _, stage = row["where"].partition(" icdr_staging " if "icdr" in row["where"] else " sdrg_staging ")
    task = "icdr_staging" if "icdr" in row["where"] else "sdrg_staging" if stage else "anatomical_recognition"
    own = {"model": model, "task": task} | ({"stage_or_class": stage} if stage else {})
    p, r, f1 = (one(row["paper"], row["table"], metric=m, **own) for m in ("precision", "recall", "f1"))
    again = harmonic(p.number, r.number)
    assert (f1.value, f"{again:.4f}") == (row["printed"], row["recomputed"])
    assert (abs(again - f1.number) <= 2e-4) == (row["verdict"] == "agrees")


def test_eight_of_304_triples_of_table_5_do_not_fit_their_f1():
    triples = {}
    for cell in printed("lmod_plus"):
        if cell.table == "Table 5" and cell.number is not None:
            triples.setdefault((cell.model, cell.task, cell.stage_or_class), {})[cell.metric] = cell.number
    wrong = [
        f"{model} {task} {stage}"
        for (model, task, stage), t in triples.items()
        if abs(harmonic(t["precision"], t["recall"]) - t["f1"]) > 1e-3  # two more are off by 3e-4 and 5e-4
    ]
    assert wrong == [row["where"] for row in checks("F1 = 2PR/(P+R)") if row["paper"] == "lmod_plus"]
    assert (len(wrong), len(triples)) == (8, 304)


@each("sum of images")
def test_sums_of_images(row):
    total = sum(int(c.value) for c in find(row["paper"], row["table"], metric="num_images"))
    stated = {c.value for c in find(row["paper"], "text", metric="num_images") if c.dataset_or_subset == "LMOD"}
    assert str(total) == row["recomputed"] and stated == {row["printed"].split(" ")[0].replace(",", "")}
    assert (stated == {str(total)}) == (row["verdict"] == "agrees")


@each("same quantity printed twice")
def test_quantities_printed_twice(row):
    model, metric = row["where"].rsplit(" ", 1)
    own = {"model": model, "metric": metric, "task": "anatomical_recognition"}
    twice = one("lmod_plus", "Table 3", **own).value, one("lmod_plus", "Table 4", modality="all", **own).value
    assert twice == (row["printed"], row["recomputed"]) and twice[0] != twice[1]


def test_no_other_quantity_of_lmod_plus_is_printed_twice_with_two_values():
    named = {row["where"] for row in checks("same quantity printed twice")}
    for cell in printed("lmod_plus"):
        model = cell.model.replace("QWen", "Qwen")
        if cell.table == "Table 4" and cell.modality == "all" and f"{model} {cell.metric}" not in named:
            assert one("lmod_plus", "Table 3", model=model, task=cell.task, metric=cell.metric).value == cell.value
        if cell.table == "Table 6":
            assert one("lmod_plus", "Table 3", model=model, task=cell.task).number == cell.number


def test_only_one_f1_of_table_4_lies_above_the_harmonic_mean():
    (row,) = checks("F1 <= 2PR/(P+R)")
    above = []
    for f1 in find("lmod_plus", "Table 4", metric="f1"):
        own = {"model": f1.model, "modality": f1.modality}
        p, r = (one("lmod_plus", "Table 4", metric=m, **own).number for m in ("precision", "recall"))
        if f1.number is not None and f1.number > harmonic(p, r) + 1.5e-4:
            above.append((f"{f1.model} {f1.modality}", f1.value, f"{harmonic(p, r):.4f}"))
    assert above == [(row["where"], row["printed"], row["recomputed"])]


@each("staging accuracy from Table 5 (weights 3859/390/665)")
def test_staging_is_consistent_with_macro_recall(row):
    model, total = row["where"], sum(WEIGHTS.values())
    macro = sum(n * np.mean(recalls(model, d)) for d, n in WEIGHTS.items()) / total
    right = sum(np.dot(recalls(model, d), classes) for d, classes in BALANCE.items()) / total
    assert row["recomputed"] == f"macro recall {macro:.4f}; accuracy {right:.4f}"
    number = one("lmod_plus", "Table 3", model=model.replace("QWen", "Qwen"), task="staging_overall").number
    fits = abs(macro - number) <= 6e-4
    assert fits == (row["verdict"] == "agrees")
    assert (abs(right - number) <= 1e-3 and not fits) == (row["verdict"] == "agrees with accuracy")


@each("same model in both versions")
def test_models_of_both_versions(row):
    model, metric = row["where"].rsplit(" ", 1)
    name = canonical_names()["lmod_naacl", model]
    other = {n for (paper, n), c in canonical_names().items() if (paper, c) == ("lmod_plus", name)}
    own = {"task": "anatomical_recognition", "metric": metric}
    (later,) = [c for m in other for c in find("lmod_plus", "Table 3", model=m, **own)]
    first = one("lmod_naacl", "Table 2", model=model, **own)
    assert (first.value, later.value) == (row["printed"], row["recomputed"])
    assert (abs(first.number - later.number) <= 2.0001e-4) == (row["verdict"] == "agrees")


def test_how_many_models_fit_macro_recall():
    counts = Counter(row["verdict"] for row in checks("staging accuracy from Table 5 (weights 3859/390/665)"))
    assert counts == {"agrees": 14, "DISAGREES": 7, "agrees with accuracy": 1}
