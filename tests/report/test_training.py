from lmod_train.report.results import Outcomes
from lmod_train.report.training import Training, training


def test_the_training_is_that_of_the_provenance_or_unknown():
    def of(config):
        return training(Outcomes((), {}, {}, None, config))

    stated = {"share": 0.1, "sources": {"a": 6, "b": 3}}
    assert of({"provenance": {"trained_on": stated}}) == Training(0.1, {"a": 6, "b": 3})
    assert of({"provenance": {"trained_on": stated}}).images == 9
    assert of({}) is of({"provenance": None}) is of({"provenance": {"trained_on": {"share": 1}}}) is None
