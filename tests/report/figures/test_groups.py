import pytest

from lmod_train.report.figures.groups import draw_bars, draw_radar, group_figure
from lmod_train.report.figures.heat import draw_heat


@pytest.mark.parametrize(
    ("count", "round", "draw"),
    [(6, True, draw_radar), (6, False, draw_bars), (7, True, draw_heat), (7, False, draw_heat)],
)
def test_more_than_six_models_are_a_heat_map_with_chance(count, round, draw):
    rows = [["p", f"m{i}", g, 9, 0.5, (0.4, 0.6), 0.25] for i in range(count) for g in ("CFP", "OCT")]
    figure = group_figure("f", "F", "Scores", rows, round)
    assert figure.draw is draw and ("heat map" in figure.alt) == (draw is draw_heat)
    chance = [row[4] for row in figure.table.rows if row[1] == "chance"]
    assert chance == ([0.25, 0.25] if draw is draw_heat else [])
