import json

import pytest

from lmod_train.core.types import Box, Outline
from lmod_train.data.curation.boxes import box_of
from lmod_train.data.sources.g1020 import UnreadableShapes, outlines_of, read_labelme, shapes_of
from tests.tabled import tabled

NAMES = {"disc": "optic disc", "cup": "optic cup", "discloc": ""}


def shapes(tmp_path, *rows):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"shapes": [{"label": label, "points": points} for label, points in rows]}))
    return shapes_of(read_labelme(path))


def test_shapes_become_one_outline_per_structure_in_order_of_the_names(tmp_path):
    found = shapes(tmp_path, ("cup", [[1, 2], [3, 4.5]]), (" Disc", [[0, 0], [9, 9]]), ("cup", [[5, 5], [6, 7]]))
    assert outlines_of(found, NAMES) == (
        Outline("optic disc", ((0.0, 0.0), (9.0, 9.0))),
        Outline("optic cup", ((1.0, 2.0), (3.0, 4.5), (5.0, 5.0), (6.0, 7.0))),
    )


def test_a_structure_without_shape_has_no_outline(tmp_path):
    found = shapes(tmp_path, ("disc", [[0, 0], [9, 9]]), ("discLoc", [[0, 0], [10, 10]]))
    assert [outline.structure for outline in outlines_of(found, NAMES)] == ["optic disc"]


def test_a_circle_has_the_corners_of_its_box_and_other_types_their_own(tmp_path):
    points = [[50, 40], [53, 44]]
    read = {}
    for kind in ("circle", " Circle", "rectangle", "polygon", None):
        path = tmp_path / "x.json"
        path.write_text(json.dumps({"shapes": [{"label": "disc", "points": points, "shape_type": kind}]}))
        ((_, read[kind]),) = shapes_of(read_labelme(path))
    assert read["circle"] == read[" Circle"] == ((45.0, 35.0), (55.0, 45.0))
    assert read["rectangle"] == read["polygon"] == read[None] == ((50.0, 40.0), (53.0, 44.0))
    (outline,) = outlines_of([("disc", read["circle"])], NAMES)
    assert box_of(outline, (100, 100)) == Box(45, 35, 55, 45)


@tabled(
    ("content", "message"),
    [
        (b'{"shapes": [', "not a readable json file"),
        (b"\xff\xfe\x00", "not a readable json file"),
        (b"[" * 100_000, "not a readable json file"),
        (b"[]", "no list of shapes"),
        (b'{"shapes": {}}', "no list of shapes"),
        (b'{"shapes": [{"label": "cup"}]}', "shape 1 has no label or no corners"),
        (b'{"shapes": [{"label": "cup", "points": [[1, 2, 3], [1, 2]]}]}', "shape 1 has no label or no corners"),
        (b'{"shapes": [{"label": "cup", "points": [["a", 2], [1, 2]]}]}', "shape 1 has no label or no corners"),
        (b'{"shapes": [{"label": "cup", "points": [[1, 2]]}]}', r"shape 1 \(cup\) has 1 corners"),
        (b'{"shapes": [7]}', "shape 1 has no label or no corners"),
        (
            b'{"shapes": [{"label": "cup", "shape_type": "linestrip", "points": [[1, 2], [3, 4], [5, 6]]}]}',
            r"shape 1 \(cup\) is of type 'linestrip', expected polygon, rectangle, circle",
        ),
        (b'{"shapes": [{"label": "cup", "shape_type": "mask", "points": [[1, 2], [3, 4]]}]}', "is of type 'mask'"),
        (b'{"shapes": [{"label": "cup", "shape_type": "circle", "points": [[1, 2], [1, 2]]}]}', "a circle of 2 points"),
        (b'{"shapes": [{"label": "cup", "shape_type": "circle", "points": [[1, 2]]}]}', "a circle of 1 points"),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, message):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(UnreadableShapes, match=message):
        shapes_of(read_labelme(tmp_path / "x.json"))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UnreadableShapes, match="FileNotFoundError"):
        shapes_of(read_labelme(tmp_path / "x.json"))


def test_unknown_labels_and_no_structure_at_all_are_refused(tmp_path):
    with pytest.raises(UnreadableShapes, match="unknown label 'cupp', expected disc, cup, discloc"):
        outlines_of(shapes(tmp_path, ("cupp", [[0, 0], [9, 9]])), NAMES)
    for rows in ([], [("discLoc", [[0, 0], [9, 9]])]):
        with pytest.raises(UnreadableShapes, match="no outline of disc, cup"):
            outlines_of(shapes(tmp_path, *rows), NAMES)
