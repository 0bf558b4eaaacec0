from lmod_train.core.artifacts.scores import read_scores
from lmod_train.report.results import read_outcomes
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.region_scores import region_scores
from lmod_train.tasks.run_scores import labels, read_run_scores


def test_the_outcomes_score_to_the_very_figures_of_the_run(three):
    """One definition: what was logged is what the report's own reading of the predictions gives."""
    runs, _, curated = three
    found = read_outcomes(runs[0])
    stated = [s for _, _, s in read_scores(runs[0] / "scores.csv") if s.task != "glaucoma"]
    logged = [s for s in stated if s.metric != "share_failed"]  # of what has no reply
    again = classification_scores("four_way", found.items["four_way"], found.choices["four_way"])
    again += region_scores("anatomy", found.items["anatomy"])
    assert [(s.metric, s.n, s.value) for s in logged] == [
        (s.metric, s.n, None if s.value is None else round(s.value, 6)) for s in again
    ]
    assert found.curated == curated


def test_labels_add_the_run_only_where_the_model_is_not_enough(three):
    assert labels(read_run_scores(three[0])) == ["base (untuned)", "base (tuned)", "cnn"]
