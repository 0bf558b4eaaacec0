from lmod_train.report.subset_rows import subset_rows
from tests.report.scored import scored


def test_rows_of_one_key_and_metric():
    held = scored({("sex=male", "f1"): 0.2, ("sex=male;age=60+", "f1"): 0.3, ("age=60+", "f1"): 0.4, ("sex=x", "k"): 1})
    assert list(subset_rows(held, "t", "sex", "f1", "p")) == [["p", "a", "male", 30, 0.2, (None, None), None]]
    assert list(subset_rows(held, "t", "sex", "f1", "p", among=["female"])) == []
