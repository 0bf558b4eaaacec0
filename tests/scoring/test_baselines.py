"""What guesses reach has one definition: all consumers show one number for the same records."""

from itertools import product

import numpy as np
import pytest

from lmod_train.core.types import Score
from lmod_train.extensions.ophthalwechat.results import language_tables
from lmod_train.report.results import Outcomes
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.closed import closed_scores
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import best_constant, chance_of, majority_of
from lmod_train.tasks.headline import headline_rows
from lmod_train.tasks.run_scores import RunScores
from tests.tabled import tabled

OPTIONS = {"zh": ("对", "错", "不知道"), "en": ("true", "false", "not known")}


def asked(seed, n=40, shuffled=False):
    """Questions in two languages whose options may stand in another order from question to question."""
    rng, items = np.random.default_rng(seed), []
    skill = rng.dirichlet([1, 1, 1], size=2)
    for k in range(n):
        language = ("zh", "en")[int(rng.random() < 0.4)]
        order = rng.permutation(3) if shuffled else np.arange(3)
        choices = tuple(OPTIONS[language][i] for i in order)
        truth = rng.choice(choices, p=skill[int(language == "en")])
        id = f"single_choice_question/s/{k}-{language}"
        items.append(Item(id, "answered", choices[0], str(truth), choices, f"p{k // 2}", language=language))
    return items


def by_hand(items):
    """Best share over all constant answers: a text or a place in each language."""
    found = 0
    for language, options in OPTIONS.items():
        own = [i for i in items if i.language == language]
        texts = [sum(i.truth == text for i in own) for text in options]
        places = [sum(i.choices[place] == i.truth for i in own) for place in range(3)]
        found += max([*texts, *places], default=0)
    return found / len(items)


@tabled(("seed", "shuffled"), product(range(4), [False, True]))
def test_every_consumer_shows_the_same_numbers(seed, shuffled):
    items, task = asked(seed, shuffled=shuffled), "single_choice_question"
    scores = closed_scores(task, items)
    run = RunScores(None, "run", "model", tuple(scores))
    rows = _languages(run, Outcomes((), {task: items}, {task: ()}, None))
    shown = [(row["chance"], row["majority"]) for row in rows if row["majority"] is not None]
    for row, language in zip(shown, ("zh", "en"), strict=True):
        own = [item for item in items if item.language == language]
        assert row == pytest.approx((1 / 3, by_hand(own)))
        assert majority_of(own).mean() == pytest.approx(by_hand(own))
    (line,) = headline_rows([run])
    sizes = [sum(i.language == language for i in items) for language in ("zh", "en")]
    assert by_hand(items) == pytest.approx(np.average([majority for _, majority in shown], weights=sizes))
    assert (line.chance, line.majority) == pytest.approx((1 / 3, by_hand(items)))
    assert line.chance == pytest.approx(chance_of(i.choices for i in items))


def _languages(run, outcomes):
    (found,) = language_tables(run, outcomes)
    return [dict(zip([c.head for c in found.columns], row, strict=True)) for row in found.rows]


@tabled("seed", range(4))
def test_fixed_choices_and_own_options_have_one_majority(seed):
    items = [item for item in asked(seed) if item.language == "en"]
    fixed, own = classification_scores("q", items, OPTIONS["en"]), closed_scores("q", items)
    values = [{s.metric: s.value for s in scores if s.subset == "all"} for scores in (fixed, own)]
    for name in ("chance", "majority", "accuracy_strict"):
        assert values[0][name] == pytest.approx(values[1][name])
    assert all(s.low is None for s in [*fixed, *own] if isinstance(s, Score) and s.metric in ("chance", "majority"))


def test_a_constant_place_or_text_may_be_the_best():
    places = [Item(str(k), "answered", "x", f"t{k}", ("x", f"t{k}")) for k in range(6)]
    assert majority_of(places).mean() == 1, "always the second option"
    numbers = [Item(str(k), "answered", 2.0, float(k % 2), ("0", "1")) for k in range(4)]
    assert majority_of(numbers).mean() == 0.5
    assert best_constant([], []).size == 0 and chance_of([("a",), ()]) is None
