from lmod_train.report.sections.sizes import Sizes
from tests.report.scored import scored


def test_sizes_are_those_of_the_configs_and_unknown_ones_stay_empty():
    models = ("checkpoints/Qwen2.5-VL-7B-Instruct", "llava_1_5_7b", "mine")
    (figure,) = Sizes().parts(scored({}, models))
    assert [row[1:4] for row in figure.table.rows] == [
        ("qwen2_5_vl", models[0], 8.29),
        ("llava_1_5", "llava_1_5_7b", 7.06),
        ("", "mine", None),
    ]
    assert list(Sizes().parts(scored({}, ("mine", "llava_1_5_7b")))) == []
