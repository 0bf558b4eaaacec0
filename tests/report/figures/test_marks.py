from types import SimpleNamespace

from lmod_train.report.figures.marks import marks, named_with_items


class Axis(SimpleNamespace):
    def plot(self, xs, ys, *_, **__):
        self.drawn.append((list(xs), list(ys)))


ROWS = [
    {"model": m, "group": g, "n": n, "score": v, "95 % interval": (v and v - 0.1, v and v + 0.1)}
    for m, g, n, v in (("a", "IQA", 9, 0.5), ("a", "CD", 7, 0.4), ("b", "IQA", 8, 0.9), ("b", "CD", 0, None))
]


def test_marks_of_models_stand_beside_each_other_with_their_intervals():
    axis = Axis(drawn=[])
    found = list(marks(axis, ROWS, ["a", "b"], ["IQA", "CD"], "score"))
    assert [(places, values) for _, places, values in found] == [([0, 1], [0.5, 0.4]), ([0], [0.9])]
    (x, _), (low, high) = axis.drawn[0]
    assert (low, high) == (0.4, 0.6) and x < 0
    assert axis.drawn[-1][0][0] > 0 and len(axis.drawn) == 5
    assert found[0][0]["color"] != found[1][0]["color"]


def test_groups_are_named_with_the_number_of_their_items():
    assert named_with_items(ROWS, ["IQA", "CD"]) == ["IQA\nn 8-9", "CD\nn 7"]
