"""Recomputation of printed numbers: by the metrics of this package where they define the number."""

import csv
from pathlib import Path

import numpy as np

from lmod_train.extensions.papers.printed import find, printed
from lmod_train.scoring.region_scores import OVERALL

EXPECTED = list(csv.DictReader(Path(__file__).with_name("consistency_checks.csv").open(encoding="utf-8")))
MEASURES = {m.name: m.value for m in OVERALL}
PLUS = {"precision": "precision", "recall": "recall", "f1": "f1_lmod_plus", "hr": "hr"}
MODALITIES = ("SS", "OCT", "SLO", "LP", "CFP")
WEIGHTS = {"OIMHS": 3859, "ICDR": 390, "SDRG": 665}
BALANCE = {"OIMHS": (19, 610, 1043, 2187), "ICDR": (78,) * 5, "SDRG": (133,) * 5}
STAGED = {"OIMHS": "mh_staging", "ICDR": "icdr_staging", "SDRG": "sdrg_staging"}
XPCR = {"EP": "Table 3", "CFP": "Table 4", "RetCam": "Table 5", "FFA": "Table 6", "ICGA": "Table 7", "OCT": "Table 8"}
STAGES = ("IQA", "AL", "LC", "DD", "SG", "CD")


def checks(kind):
    return [row for row in EXPECTED if row["check"] == kind]


def one(paper, table, **fields):
    (cell,) = find(paper, table, **fields)
    return cell


def value(paper, table, **fields):
    """The printed number in the printed unit."""
    cell = one(paper, table, **fields)
    return float(cell.value) if cell.value else None


def models(paper, table):
    found = dict.fromkeys(c.model for c in printed(paper) if c.table == table)
    return [m for m in found if m not in ("", "Random", "Average")]


def harmonic(precision, recall):
    """F1 by the definition of LMOD."""
    sums = {"precision": np.array([precision]), "recall": np.array([recall]), "images": np.array([1.0])}
    return float(MEASURES["f1_lmod_v1"](sums))


def overall(metric, values, images):
    """Mean over modalities as the metric of an anatomy task weights them."""
    total = np.array(values) * images
    kept = {"precision": total, "recall": total, "f1": total, "hr": total, "images": images, "predicted": images}
    return float(MEASURES[PLUS[metric]](kept))


def images():
    return np.array([value("lmod_plus", "Table 2", modality=m, metric="num_images") for m in MODALITIES])


def overall_cells():
    for row in checks("overall = image-weighted mean"):
        model, metric = row["where"].rsplit(" ", 1)
        own = {"model": model, "metric": metric}
        values = [value("lmod_plus", "Table 4", modality=m, **own) for m in MODALITIES]
        yield row, one("lmod_plus", "Table 4", modality="all", **own), overall(metric, values, images())


def recalls(model, dataset):
    found = find("lmod_plus", "Table 5", model=model, dataset_or_subset=dataset, metric="recall")
    return [c.number if c.number is not None else 0.0 for c in found]


def six(model, modality):
    return np.array([value("xpcr", XPCR[modality], model=model, stage_or_class=s) for s in STAGES])


def constant(base, row):
    """The ratio that most of the six cells share within 0.02, and how many do."""
    fits = [(int((np.abs(base * r - row) <= 0.02 + 1e-9).sum()), -i, r) for i, r in enumerate(row / base)]
    most = max(fits)[0]
    inside = np.abs(base * max(fits)[2] - row) <= 0.02 + 1e-9
    return most, float((row[inside] * base[inside]).sum() / (base[inside] ** 2).sum())


def x_pcr_models():
    return models("xpcr", "Table 3")
