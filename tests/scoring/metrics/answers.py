"""Answers drawn at random, a task that counts how often it scores, and every metric by its published definition."""

from __future__ import annotations

import random
from dataclasses import replace

from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, recall_score

from lmod_train.core.types import Box, Prediction, Region, Reply, Unparsed
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from tests.scoring.make import record

STRUCTURES = ("optic disc", "optic cup", "fovea", "lens")
YES, NO = Glaucoma.choices
MISSING = (Unparsed("refused"), Unparsed("no_match"), Unparsed("ambiguous"))


class Counted(Glaucoma):
    """Counts over how many predictions it is asked to score."""

    def __init__(self):
        self.calls = []

    def score(self, predictions):
        self.calls.append(len(predictions))
        return super().score(predictions)


def eyes(count=23, seed=0):
    """Return (answers, truths) of regions: names confused, ids that do not exist, ids left out, and no answer."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        truth = {i: rng.choice(STRUCTURES) for i in range(1, rng.randint(1, 5) + 1)}
        answer = {
            i: s if rng.random() < 0.6 else rng.choice(STRUCTURES) for i, s in truth.items() if rng.random() < 0.9
        }
        answer |= {i: rng.choice(STRUCTURES) for i in range(7, 7 + rng.randint(0, 2))}
        pairs.append((rng.choice(MISSING) if number % 7 == 3 or not answer else answer, truth))
    return [list(side) for side in zip(*pairs, strict=True)]


def words(count=31, seed=0, choices=(YES, NO)):
    """Return (answers, truths) of words, one answer in eight missing."""
    rng = random.Random(seed)
    truths = [rng.choice(choices) for _ in range(count)]
    right = [t if rng.random() < 0.7 else rng.choice(choices) for t in truths]
    return [rng.choice(MISSING) if rng.random() < 1 / 8 else a for a in right], truths


def predictions(answers, truths, choices=(YES, NO)):
    """Return predictions of the glaucoma task, or of anatomy where the truths are regions; ids as they are numbered."""
    found = []
    for number, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        if isinstance(truth, dict):
            lines = "\n".join(f"Region ID: {i}; Type: {s}" for i, s in truth.items())
            boxes = [Region(s, Box(0, 0, 9, 9), i) for i, s in truth.items()]
            made = record(f"{number:03}", lines, task="anatomy", choices=STRUCTURES, regions=boxes)
        else:
            made = record(f"{number:03}", truth, task="glaucoma", choices=choices)
        found.append(Prediction(made, Reply(made.id, str(answer)), answer))
    return found


def relabelled(found, task):
    return [replace(p, record=replace(p.record, task=task)) for p in found]


def anatomy():
    return Anatomy(options={"CFP": list(STRUCTURES)})


def of_regions(answers, truths):
    """Return the metrics of LMOD, section 3.2, and LMOD+, section 3.3, in plain Python."""
    precisions, recalls, f1s, resistances = [], [], [], []
    for answer, truth in zip(answers, truths, strict=True):
        given = {} if isinstance(answer, Unparsed) else answer
        right = len([i for i in given if i in truth and given[i] == truth[i]])
        precision = right / len(given) if given else 0.0
        recall = right / len(truth)
        precisions.append(precision)
        recalls.append(recall)
        f1s.append(2 * precision * recall / (precision + recall) if precision + recall else 0.0)
        if given:
            resistances.append(1 - len([i for i in given if i not in truth]) / len(given))
    mean = [sum(values) / len(values) for values in (precisions, recalls, f1s, resistances)]
    v1 = 2 * mean[0] * mean[1] / (mean[0] + mean[1])
    missing = [a.reason for a in answers if isinstance(a, Unparsed)]
    return {
        "precision": mean[0],
        "recall": mean[1],
        "f1_lmod_plus": mean[2],
        "hr": mean[3],
        "f1_lmod_v1": v1,
        "share_refused": missing.count("refused") / len(answers),
        "share_unparsed": (len(missing) - missing.count("refused")) / len(answers),
    }


def of_words(answers, truths, positive=YES, classes=(YES, NO)):
    """Return the metrics of classes, by scikit-learn."""
    given = ["-" if isinstance(a, Unparsed) else a for a in answers]
    pairs = [(a, t) for a, t in zip(given, truths, strict=True) if a != "-"]
    right, missing = sum(a == t for a, t in pairs), given.count("-")
    seen = [c for c in classes if c in given or c in truths]
    return {
        "accuracy_strict": accuracy_score(truths, given),
        "accuracy_answered": accuracy_score([t for _, t in pairs], [a for a, _ in pairs]),
        "accuracy_chance_filled": (right + missing / len(classes)) / len(truths),
        "sensitivity": recall_score(truths, given, labels=[positive], average="macro"),
        "specificity": recall_score(truths, given, labels=[c for c in classes if c != positive], average="micro"),
        "macro_f1": f1_score(truths, given, labels=seen, average="macro"),
        "kappa_quadratic": cohen_kappa_score(
            [t for _, t in pairs], [a for a, _ in pairs], labels=list(classes), weights="quadratic"
        ),
    }
