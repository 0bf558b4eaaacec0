import numpy as np
import pytest

from lmod_train.core.tables import table
from lmod_train.extensions.dissection.sections import COLUMNS, draw_places
from tests.report.figures.drawing import drawn, models

PLACES = [
    "reply", "ceiling", "decision.4", "image.12", "image.4", "decision.12", "tower.8", "tower.4", "tower", "projector",
    "deep.1", "last layer", "best layer", "likelihoods, read", "prior corrected", "likelihood",
]  # fmt: skip
ORDERED = [
    "ceiling", "tower 4", "tower 8", "tower", "projector", "deep 1", "image 4", "decision 4", "image 12", "decision 12",
    "best layer", "last layer", "likelihoods, read", "prior corrected", "likelihood", "reply",
]  # fmt: skip


def rows(count, places=PLACES, floor=0.6):
    return [
        [m, place, 60, 0.9 - 0.02 * j - 0.1 * i, (0.8 - 0.02 * j, 0.95), 0.5, floor, 0.55 + 0.01 * i]
        for i, m in enumerate(models(count))
        for j, place in enumerate(places)
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_places_stand_in_the_order_of_the_way_with_their_scores_and_intervals(count, tmp_path, monkeypatch):
    ((axis,),) = drawn(draw_places, table("lost", COLUMNS, rows(count)), tmp_path, monkeypatch)
    assert [t.get_text() for t in axis.get_xticklabels()] == ORDERED
    stairs = [line for line in axis.lines if len(line.get_xdata()) == len(PLACES)]
    assert len(stairs) == count
    for i, line in enumerate(stairs):
        by_place = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        at = {place: ORDERED.index(place.replace(".", " ")) + 0.08 * i for place in PLACES}
        assert [by_place[at[p]] for p in PLACES] == pytest.approx(
            [0.9 - 0.02 * j - 0.1 * i for j in range(len(PLACES))]
        )
    ends = [tuple(path.vertices[:, 1]) for c in axis.collections for path in c.get_paths()]
    assert sorted(ends) == sorted([(0.8 - 0.02 * j, 0.95) for j in range(len(PLACES))] * count)
    flat = {line.get_label(): line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 2}
    expected = {"chance": 0.5, "best shortcut": 0.6}
    assert flat == {**expected, "highest probe of permuted labels": pytest.approx(0.54 + 0.01 * count)}


def test_what_a_model_is_compared_with_stands_before_it_and_no_line_leads_from_there(tmp_path, monkeypatch):
    places = [*PLACES, "untrained tower", "thumbnail", "border mask"]
    ((axis,),) = drawn(draw_places, table("lost", COLUMNS, rows(2, places)), tmp_path, monkeypatch)
    assert [t.get_text() for t in axis.get_xticklabels()] == ["border mask", "thumbnail", "untrained tower", *ORDERED]
    assert all(min(line.get_xdata()) >= 3 for line in axis.lines if len(line.get_xdata()) > 2)
    points = [line for line in axis.lines if len(line.get_xdata()) == 1]
    scores = {place: 0.9 - 0.02 * j for j, place in enumerate(places)}
    expected = [(at + 0.08 * i, scores[place] - 0.1 * i) for i in (0, 1) for at, place in enumerate(places[:-4:-1])]
    alone = sorted((float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in points)
    assert np.allclose(alone, sorted((at, score) for at, score in expected))


def test_what_is_missing_is_left_out(tmp_path, monkeypatch):
    some = rows(2, floor=None)
    some = [row for row in some if (row[0], row[1]) != (some[0][0], "ceiling")]
    some[3][3:5] = None, (None, None)
    ((axis,),) = drawn(draw_places, table("lost", COLUMNS, some), tmp_path, monkeypatch)
    lengths = sorted(len(line.get_xdata()) for line in axis.lines if len(line.get_xdata()) > 2)
    assert lengths == [len(PLACES) - 1, len(PLACES)]
    assert "best shortcut" not in {line.get_label() for line in axis.lines}


def test_the_names_of_a_large_model_s_places_are_apart(tmp_path, monkeypatch):
    """Twelve layers of a language model, a tower of 32, three deep features."""
    layers = [f"{kind}.{3 * i}" for i in range(1, 13) for kind in ("image", "decision")]
    places = [*PLACES, *layers, *(f"tower.{4 * i}" for i in range(3, 8)), "deep.2", "deep.3"]
    places = list(dict.fromkeys(places))
    ((axis,),) = drawn(draw_places, table("lost", COLUMNS, rows(1, places)), tmp_path, monkeypatch)
    assert len(axis.get_xticks()) == len(places) > 40
