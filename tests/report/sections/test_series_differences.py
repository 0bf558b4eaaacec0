"""Two series of seeds are compared by the mean of each item over the seeds, paired by item and clustered by patient."""

from __future__ import annotations

import numpy as np
import pytest

from lmod_train.core.artifacts.series import seed_name
from lmod_train.report.figures.lines import lines
from lmod_train.report.paired_runs import by_question
from lmod_train.report.results import read_results
from lmod_train.report.sections.scores import differences_table, mean_merits
from lmod_train.scoring.comparison import paired_difference
from tests.report.make import classify


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three trainings of a good model, and two of a bad one on fewer items."""
    place = tmp_path_factory.mktemp("series")
    good = [classify(place / "GOOD" / seed_name(s), 3.0, seed=s) for s in range(3)]
    return good, [classify(place / "BAD" / seed_name(s), 0.0, seed=10 + s, n=40) for s in range(2)]


def test_the_difference_is_that_of_the_means_on_the_common_items(runs):
    results = read_results([*runs[0], *runs[1]])
    (row,) = [row for row in lines(differences_table(results)) if row["task"] == "glaucoma"]
    items = {name: {i.id: i for i in results.outcomes[name].items["glaucoma"]} for name in results.names}
    common = sorted(set.intersection(*map(set, items.values())))
    assert len(common) == row["n"] == 40 and (row["first"], row["second"]) == ("GOOD", "BAD")
    right = {name: np.array([own[i].answer == own[i].truth for i in common], float) for name, own in items.items()}
    good, bad = ([right[n] for n in results.names if word in n] for word in ("GOOD", "BAD"))
    gap = np.mean(good, axis=0) - np.mean(bad, axis=0)
    assert row["difference"] == pytest.approx(gap.mean()) and gap.mean() > 0.2
    low, high = row["95 % interval over patients"]
    assert 0 < low < gap.mean() < high
    groups = [items[results.names[0]][i].group for i in common]
    alone = paired_difference("glaucoma", good[0].tolist(), bad[0].tolist(), groups)
    assert high - low < alone.high - alone.low, "means over seeds differ less from item to item than single answers"


def test_one_series_alone_and_one_seed_of_another_have_no_difference(runs):
    assert not differences_table(read_results(runs[0])).rows
    assert not differences_table(read_results([*runs[0], runs[1][0]])).rows


def test_an_item_that_one_run_lacks_is_left_out(runs):
    outcomes = read_results([runs[0][0], runs[1][0]]).outcomes
    whole, part = (by_question(found.items["glaucoma"]) for found in outcomes.values())
    assert mean_merits([whole, part]).keys() == mean_merits([part]).keys() < mean_merits([whole]).keys()
