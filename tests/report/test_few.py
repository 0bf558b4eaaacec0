from lmod_train.report.few import LEAST, published
from lmod_train.types import Score


def score(subset, n, metric="accuracy_strict", value=0.5, task="glaucoma"):
    return Score(task, subset, metric, n, value)


def test_all_values_of_a_key_go_with_the_small_one():
    own = [score("all", 30), score("sex=male", LEAST - 1), score("sex=female", 21), score("modality=CFP", LEAST)]
    assert [s.subset for s in published(own, ["glaucoma"])] == ["all", "modality=CFP"]


def test_a_subset_of_one_class_goes_with_its_key():
    own = [score("all", 99, "majority", 1.0), score("source=a", 50, "majority", 1.0), score("source=b", 49)]
    assert [s.subset for s in published(own, ["glaucoma"])] == ["all"]


def test_a_figure_of_few_in_a_large_subset_goes_alone():
    own = [score("all", 30), score("all", 3, "sensitivity"), score("all", 0, "hr", None)]
    assert [s.metric for s in published(own, ["glaucoma"])] == ["accuracy_strict", "hr"]


def test_scores_of_open_sources_stay():
    own = [score("sex=male", 1), score("sex=male", 1, task="anatomy")]
    assert published(own, ["anatomy"]) == own[:1]
