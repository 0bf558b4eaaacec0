import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score, recall_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Patient, Unparsed
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.grading import grading_scores
from tests.scoring.make import by_metric, item, values
from tests.tabled import stored, tabled

CLASSES = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
REASONS = ("empty", "refused", "truncated", "no_match")


def some_items(n=300, classes=CLASSES, seed=0, silent=0.2):
    rng = np.random.default_rng(seed)
    truths = rng.choice(classes, n, p=np.arange(1, len(classes) + 1) / sum(range(len(classes) + 1)))
    answers = [
        Unparsed(str(rng.choice(REASONS))) if rng.random() < silent else str(rng.choice([t, *classes])) for t in truths
    ]
    return [
        item(i, a, str(t), classes, group=str(i // 2)) for i, (a, t) in enumerate(zip(answers, truths, strict=True))
    ]


def labels(items):
    return [i.truth for i in items], ["(none)" if isinstance(i.answer, Unparsed) else i.answer for i in items]


@tabled("seed", range(5))
def test_as_scikit_learn_with_missing_answers_as_an_extra_class(seed):
    items = some_items(seed=seed)
    truths, answers = labels(items)
    got = values(classification_scores("four", items, CLASSES))
    assert got["balanced_accuracy"] == pytest.approx(recall_score(truths, answers, labels=CLASSES, average="macro"))
    assert got["macro_f1"] == pytest.approx(f1_score(truths, answers, labels=CLASSES, average="macro"))
    assert got["kappa"] == pytest.approx(cohen_kappa_score(truths, answers))
    assert got["accuracy_strict"] == np.mean([t == a for t, a in zip(truths, answers, strict=True)])
    answered = [(t, a) for t, a in zip(truths, answers, strict=True) if a != "(none)"]
    assert got["accuracy_answered"] == np.mean([t == a for t, a in answered])
    assert got["majority"] == max(truths.count(c) for c in CLASSES) / len(truths)
    assert got["chance"] == 0.25


@tabled("seed", range(3))
def test_all_answered_as_scikit_learn(seed):
    items = some_items(seed=seed, silent=0)
    truths, answers = labels(items)
    got = values(classification_scores("four", items, CLASSES))
    assert got["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truths, answers))
    assert got["macro_f1"] == pytest.approx(f1_score(truths, answers, average="macro"))
    assert got["accuracy_strict"] == got["accuracy_answered"] == got["accuracy_chance_filled"]


EVERY = {"accuracy_strict", "accuracy_answered", "accuracy_chance_filled", "balanced_accuracy", "kappa", "macro_f1"}
EVERY |= {"auroc_macro", "auprc_macro", "accuracy_likeliest", "brier"}


@tabled(
    ("measures_of", "more"),
    [
        (lambda items, classes: classification_scores("t", items, classes), set()),
        (lambda items, classes: classification_scores("t", items, classes, classes[0]), {"sensitivity", "specificity"}),
        (lambda items, classes: grading_scores("t", items, classes), {"kappa_quadratic", "macro_precision"}),
    ],
)
@tabled("classes", [("yes", "no"), CLASSES])
def test_every_metric_has_an_n_and_an_interval(measures_of, more, classes):
    rng = np.random.default_rng(0)
    items = [
        replace(i, likelihoods={c: float(rng.normal() + (c == i.truth)) for c in classes})
        for i in some_items(classes=classes)
    ]
    got = by_metric(measures_of(items, classes))
    assert set(got) >= EVERY | more
    for name in EVERY | more:
        assert got[name].n > 0 and got[name].low < got[name].value < got[name].high, name


def test_macro_f1_leaves_out_a_class_that_never_occurs_but_not_one_that_is_only_answered():
    items = [item(1, "normal", "normal", CLASSES), item(2, "glaucoma", "normal", CLASSES)]
    got = values(classification_scores("four", items, CLASSES))
    assert got["macro_f1"] == pytest.approx(f1_score(["normal"] * 2, ["normal", "glaucoma"], average="macro"))
    assert got["balanced_accuracy"] == 0.5


def test_sensitivity_and_specificity_count_missing_answers_as_wrong():
    rows = [("yes", "yes")] * 6 + [("no", "yes")] * 2 + [(Unparsed("refused"), "yes")] * 2
    rows += [("no", "no")] * 7 + [("yes", "no")] * 2 + [(Unparsed("empty"), "no")]
    items = [item(i, a, t) for i, (a, t) in enumerate(rows)]
    got = by_metric(classification_scores("g", items, ("yes", "no"), positive="yes"))
    assert (got["sensitivity"].value, got["sensitivity"].n) == (0.6, 10)
    assert (got["specificity"].value, got["specificity"].n) == (0.7, 10)
    assert got["balanced_accuracy"].value == pytest.approx(0.65)
    assert got["sensitivity"].low < 0.6 < got["sensitivity"].high


def test_sensitivity_without_positives_has_no_value():
    items = [item(i, "no", "no") for i in range(4)]
    got = by_metric(classification_scores("g", items, ("yes", "no"), positive="yes"))
    assert (got["sensitivity"].n, got["sensitivity"].value) == (0, None)
    assert (got["specificity"].n, got["specificity"].value) == (4, 1.0)


@tabled(
    ("right", "answered", "asked", "k", "printed"),
    stored(__file__, "classification.answered_accuracies_that_lmod_v1_prints_truncated"),
)
def test_answered_accuracies_that_lmod_v1_prints_truncated(right, answered, asked, k, printed):
    choices = [str(i) for i in range(k)]
    outcomes = ["0"] * right + ["1"] * (answered - right) + [Unparsed("refused")] * (asked - answered)
    items = [item(i, a, "0", choices) for i, a in enumerate(outcomes)]
    got = by_metric(classification_scores("t", items, choices))
    assert math.floor(got["accuracy_answered"].value * 1e4) / 100 == printed
    assert got["accuracy_answered"].n == answered
    assert got["accuracy_strict"].value == right / asked
    assert got["accuracy_chance_filled"].value == pytest.approx((right + (asked - answered) / k) / asked)
    assert got["share_refused"].value == pytest.approx(1 - answered / asked)


def test_status_shares_add_up_to_one():
    items = some_items()
    got = values(classification_scores("four", items, CLASSES))
    shares = {name: value for name, value in got.items() if name.startswith("share_")}
    assert set(shares) == {f"share_{s}" for s in ("answered", "unparsed", "refused", "truncated")}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["share_unparsed"] == np.mean([i.status == "unparsed" for i in items])


def test_nothing_answered_has_no_answered_accuracy():
    items = [item(i, Unparsed("refused"), "yes") for i in range(3)]
    got = by_metric(classification_scores("g", items, ("yes", "no")))
    assert (got["accuracy_answered"].n, got["accuracy_answered"].value) == (0, None)
    assert (got["accuracy_strict"].n, got["accuracy_strict"].value) == (3, 0.0)
    assert got["accuracy_chance_filled"].value == 0.5


def test_numbers_are_classes():
    items = [item(1, 2.0, 2.0, "1234"), item(2, 3.0, 4.0, "1234")]
    assert values(classification_scores("stage", items, "1234"))["accuracy_strict"] == 0.5


def test_subsets_contain_their_own_items():
    items = [item(1, "yes", "yes", modality="CFP", patient=Patient(sex="male"))]
    items += [item(2, "no", "yes", modality="OCT"), item(3, "yes", "yes", modality="OCT")]
    scores = classification_scores("g", items, ("yes", "no"))
    assert {s.subset for s in scores} == {"all", "modality=CFP", "modality=OCT"}
    assert values(scores, "modality=OCT")["accuracy_strict"] == 0.5


def test_a_perfect_rare_class_has_a_wide_interval():
    items = [item(i, "no", "no") for i in range(97)] + [item(i, "yes", "yes") for i in range(97, 100)]
    got = by_metric(classification_scores("g", items, ("yes", "no"), positive="yes"))
    assert got["accuracy_strict"].low > 0.96
    assert got["sensitivity"].low == pytest.approx(0.025 ** (1 / 3))  # Clopper & Pearson, 3 of 3
    assert got["balanced_accuracy"].low == pytest.approx(0.646, abs=1e-3)  # 1 - half of what either class may miss
    two = by_metric(classification_scores("g", items[:-1], ("yes", "no"), positive="yes"))
    assert (two["sensitivity"].low, two["balanced_accuracy"].low) == (None, None), "two patients prove nothing"


def test_an_answer_that_is_no_choice_is_an_error_with_item_and_choices():
    with pytest.raises(BadArgument, match=r"answer of 1='maybe': expected one of \('yes', 'no'\)"):
        classification_scores("g", [item(1, "maybe", "yes")], ("yes", "no"))
    with pytest.raises(BadArgument, match="positive='maybe'"):
        classification_scores("g", [item(1, "yes", "yes")], ("yes", "no"), positive="maybe")
    with pytest.raises(BadArgument, match="region_scores"):
        classification_scores("g", [item(1, {1: "disc"}, "yes")], ("yes", "no"))
    with pytest.raises(BadArgument, match="choices of 1"):
        classification_scores("g", [item(1, "yes", "yes", choices=())], ("yes", "no"))


def test_no_items_no_scores():
    assert classification_scores("g", [], ("yes", "no"), positive="yes") == []
