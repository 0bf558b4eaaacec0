from lmod_train.core.tables import table
from lmod_train.report.figures.small_multiples import panels_in_grid


def test_spare_panels_are_hidden_and_a_label_is_once_in_the_legend(tmp_path):
    with panels_in_grid(table("g", ["x"], []), tmp_path, 3, 2, 1.0) as axes:
        for axis in axes:
            axis.plot([0, 1], [0, 1], label="cnn")
        figure = axes[0].figure
    assert len(axes) == 3 and [a.get_visible() for a in figure.axes] == [True, True, True, False]
    assert [t.get_text() for t in figure.legends[0].texts] == ["cnn"]
