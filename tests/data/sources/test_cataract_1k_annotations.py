import json

import pytest

from lmod_train.core.types import Outline
from lmod_train.data.sources.cataract_1k import Frame, UnreadableAnnotations, read_coco, read_supervisely
from tests.tabled import tabled

STRUCTURES = {"lens": "lens", "slit knife": "slit knife", "gauge": ""}
SQUARE = [[1, 2], [5, 2], [5, 8]]


def coco(path, annotations, categories=((7, "Lens"), (3, "Slit_Knife"), (4, "gauge"))):
    path.write_text(
        json.dumps(
            {
                "images": [{"id": 1, "file_name": "A\\img\\X_01.PNG"}, {"id": 2, "file_name": "x_02.png"}],
                "annotations": [{"image_id": image, "category_id": kind, **rest} for image, kind, rest in annotations],
                "categories": [{"id": number, "name": name} for number, name in categories],
            }
        )
    )
    return read_coco(path, STRUCTURES)


def test_coco_frames_are_matched_by_file_name_and_classes_by_name(tmp_path):
    flat, box = {"segmentation": [1, 2, 5, 2, 5, 8]}, {"segmentation": {"counts": [4]}, "bbox": [1, 1, 2, 3]}
    sheet = coco(tmp_path / "a.json", [(1, 7, flat), (1, "3", box), (2, 4, flat)])
    square = tuple((float(x), float(y)) for x, y in SQUARE)
    knife = Outline("slit knife", ((1.0, 1.0), (3.0, 4.0)))
    assert sheet.frames == {"x_01.png": Frame((Outline("lens", square), knife)), "x_02.png": Frame()}
    assert sheet.names == {"x_01.png": "X_01.PNG", "x_02.png": "x_02.png"} and sheet.problems == []


def test_a_class_left_out_on_purpose_may_be_unreadable_and_an_unknown_one_may_not(tmp_path):
    whole = {"segmentation": [[1, 2, 5, 2]]}
    sheet = coco(
        tmp_path / "a.json",
        [(1, 7, whole), (1, 4, {}), (2, 7, whole), (2, 9, whole)],
        [(7, "Lens"), (4, "Gauge"), (9, "Hook")],
    )
    assert [o.structure for o in sheet.frames["x_01.png"].outlines] == ["lens"]
    assert (sheet.frames["x_02.png"].outlines, sheet.frames["x_02.png"].reason) == ((), "unknown class")


def test_supervisely_objects_are_polygons_or_corners(tmp_path):
    file = tmp_path / "x.png.json"
    corners = {"classTitle": "SLIT KNIFE", "geometryType": "rectangle", "points": {"exterior": [[0, 1], [4, 9.5]]}}
    polygon = {"classTitle": "Lens", "points": {"exterior": SQUARE, "interior": [[[2, 3]]]}}
    file.write_text(json.dumps({"objects": [polygon, corners]}))
    first, second = read_supervisely(file, STRUCTURES).outlines
    assert first == Outline("lens", ((1.0, 2.0), (5.0, 2.0), (5.0, 8.0)))
    assert second == Outline("slit knife", ((0.0, 1.0), (4.0, 9.5)))


@tabled("exterior", [[], [[1, 2]], [[1, 2], [3]], [[1, 2], [3, True]], [[1, 2], "x"], None])
def test_invalid_points_are_reported(tmp_path, exterior):
    (tmp_path / "x.json").write_text(
        json.dumps({"objects": [{"classTitle": "Lens", "points": {"exterior": exterior}}]})
    )
    frame = read_supervisely(tmp_path / "x.json", STRUCTURES)
    assert frame.outlines == () and frame.reason == "unreadable annotation"
    assert frame.detail.startswith("Lens: unnamed geometry without points.exterior")


def test_the_error_of_a_missing_file_has_only_its_name(tmp_path):
    for read in (read_coco, read_supervisely):
        with pytest.raises(UnreadableAnnotations, match="not a readable json file") as caught:
            read(tmp_path / "away.json", STRUCTURES)
        assert "away.json" in str(caught.value) and str(tmp_path) not in str(caught.value)
