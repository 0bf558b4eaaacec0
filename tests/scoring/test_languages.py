"""One question in two languages: random tables against statsmodels and scipy, planted tables, overall accuracy."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import mcnemar as reference

from lmod_train.core.types import Unparsed
from lmod_train.scoring.language_pairs import (
    CELLS,
    LANGUAGES,
    consistency,
    language_pairs,
    other_language_scores,
    overall_scores,
    pair_of,
)
from tests.scoring.make import item, values

OPTIONS = {"zh": ("裂孔", "前膜", "水肿", "变性"), "en": ("hole", "membrane", "edema", "degeneration")}


def asked(k, language, place, truth=0, **facts):
    """One language of a question, answered with the option at a place; None is no answer."""
    options = OPTIONS[language]
    answer = Unparsed("no_match") if place is None else options[place]
    return item(f"single/wechat/i{k}/{k}-{language}", answer, options[truth], options, language=language, **facts)


def pair(k, zh, en, **facts):
    return [asked(k, "zh", zh, **facts), asked(k, "en", en, **facts)]


def tables(n):
    rng = np.random.default_rng(18)
    for _ in range(n):
        yield rng.multinomial(rng.integers(1, 25), rng.dirichlet(np.ones(4))).tolist()


@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_tables(n):
    """Paired: exact McNemar of statsmodels, kappa of scikit-learn. Unpaired: chi-square and Fisher's test of scipy."""
    plan = {"right/right": (0, 0), "right/wrong": (0, 1), "wrong/right": (1, 0), "wrong/wrong": (1, 1)}
    for counts in tables(n):
        places = [plan[cell] for cell, n in zip(CELLS, counts, strict=True) for _ in range(n)]
        found = consistency("q", [i for k, two in enumerate(places) for i in pair(k, *two)])
        total, (a, b, c, d) = sum(counts), counts
        assert [found.cells[cell].value for cell in CELLS] == pytest.approx([n / total for n in counts])
        assert found.paired.p == pytest.approx(float(reference([[a, b], [c, d]], exact=True).pvalue), abs=1e-12)
        assert found.difference.value == pytest.approx((b - c) / total)
        kappa = cohen_kappa_score(*zip(*places, strict=True)) if len({p for two in places for p in two}) > 1 else None
        assert found.kappa.value == (None if kappa is None else pytest.approx(kappa))
        right, wrong = (a + b, a + c), (c + d, b + d)
        assert found.right == right and found.sizes == (total, total) and found.alone == 0
        if sum(right) and sum(wrong):
            chi = chi2_contingency([right, wrong], correction=False)
            assert (found.unpaired.chi_square, found.unpaired.p_chi_square) == pytest.approx((chi[0], chi[1]))
            assert found.unpaired.p_fisher == pytest.approx(fisher_exact([right, wrong])[1], abs=1e-7)
        else:
            assert found.unpaired.p == 1


def test_kappa_compares_answers_and_not_whether_they_are_right():
    found = consistency("q", [i for k in range(20) for i in pair(k, 1 + k % 2, 1 + k % 2)])
    assert found.cells["wrong/wrong"].value == 1 and found.kappa.value == 1
    missing = consistency("q", [i for k in range(20) for i in pair(k, k % 2, None if k % 2 else 0)])
    places = [("1", "none") if k % 2 else ("0", "0") for k in range(20)]
    assert missing.kappa.value == pytest.approx(cohen_kappa_score(*zip(*places, strict=True)))


def test_options_in_another_order_are_not_compared_by_place():
    same, other = pair(1, 0, 0), [asked(2, "zh", 0, truth=0), asked(2, "en", 1, truth=1)]
    found = consistency("q", [*same, *other, *pair(3, 1, 1)])
    assert found.cells["right/right"].n == 3 and found.kappa.n == 2 and found.kappa.value == 1


def test_verdicts_of_a_judge():
    """Open answers: right by verdicts; a reply without a verdict takes its pair out of the paired comparison."""
    items = [
        item(f"open/w/{k}-{language}", "x", "y", (), language=language) for k in range(6) for language in LANGUAGES
    ]
    right = {i.id: int(i.id.split("/")[2][0]) < (4 if i.language == "zh" else 3) for i in items}
    found = consistency("q", items, right)
    assert [found.cells[c].value for c in CELLS] == pytest.approx([3 / 6, 1 / 6, 0, 2 / 6])
    assert found.kappa.value == pytest.approx(cohen_kappa_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]))
    del right["open/w/0-zh"]
    left = consistency("q", items, right)
    assert (left.paired.n, left.sizes, left.alone) == (5, (5, 6), 1)


def test_intervals_are_clustered_by_patient():
    rng = np.random.default_rng(0)
    places = [(int(a), int(b)) for a, b in rng.integers(0, 2, (60, 2))]
    alone = consistency("q", [i for k, two in enumerate(places) for i in pair(k, *two)])
    twice = [i for k in range(120) for i in pair(k, *places[k // 2], group=f"patient{k // 2}")]
    found = consistency("q", twice)
    assert found.difference.value == alone.difference.value and found.paired.p < alone.paired.p
    width = found.difference.high - found.difference.low
    assert width == pytest.approx(alone.difference.high - alone.difference.low, rel=0.1)
    assert found.p_by_patient == pytest.approx(alone.p_by_patient, abs=0.02)


def test_pairs_are_found_by_id():
    items = [*pair(1, 0, 0), asked(2, "zh", 0), item("glaucoma/refuge/n01", "yes", "yes", language="en")]
    assert [(a.language, b.language, pair_of(a.id)) for a, b in language_pairs(items)] == [
        ("zh", "en", "single/wechat/i1/1")
    ]
    found = consistency("q", items)
    assert found.alone == 2 and pair_of("a/zh") == pair_of("a/b-zh-1") == ""


def test_nothing_to_compare():
    found = consistency("q", [])
    assert found.paired.p is None and found.unpaired is None and found.p_by_patient is None
    assert found.difference.value is None and found.kappa.value is None
    assert all(score.value is None and score.n == 0 for score in found.cells.values())


def test_overall_weighs_items_or_subsets():
    plan = {"binary zh": (10, 6), "binary en": (20, 15), "open zh": (40, 4)}
    items, right, subsets = [], [], []
    for subset, (n, hits) in plan.items():
        items += [item(f"{subset}{k}", "x", "x", (), group=f"p{k}") for k in range(n)]
        right += [k < hits for k in range(n)]
        subsets += [subset] * n
    found = {s.metric: s for s in overall_scores("q", items, right, subsets)}
    assert found["accuracy_overall"].value == pytest.approx(25 / 70) and found["accuracy_overall"].n == 70
    assert found["accuracy_overall_mean"].value == pytest.approx(np.mean([0.6, 0.75, 0.1]))
    for score in found.values():
        assert 0 < score.low < score.value < score.high < 1
    assert overall_scores("q", [], [], []) == []


def test_replies_in_another_language_are_counted():
    items = [asked(k, language, 0) for k in range(10) for language in LANGUAGES]
    replies = {i.id: "裂孔" if i.language == "zh" else "a hole" for i in items}
    replies |= {i.id: "a hole" for i in items[:4]}  # of two questions
    del replies[items[-1].id]
    scores = other_language_scores("q", [*items], replies)
    assert values(scores, "language=zh")["share_other_language"] == 0.2
    assert values(scores, "language=en")["share_other_language"] == 0
    assert Counter(s.n for s in scores if s.subset == "all") == {19: 1}
    assert other_language_scores("q", items, {}) == []
