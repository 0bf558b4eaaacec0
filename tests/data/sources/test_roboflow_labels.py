import json

import pytest

from lmod_train.data.sources.roboflow_labels import Annotation, LabelProblem, read_coco, read_data_yaml, read_yolo
from tests.tabled import tabled

NAMES = {0: "Iris", 3: "Pupila"}


def refused(read, *arguments):
    with pytest.raises(LabelProblem) as caught:
        read(*arguments)
    return caught.value.reason, caught.value.detail


@tabled(
    ("text", "names"),
    [
        ("names: [Iris, Ojo Der]\nnc: 2", {0: "Iris", 1: "Ojo Der"}),
        ("names:\n  0: Iris\n  2: Ojo Der", {0: "Iris", 2: "Ojo Der"}),
        ("names: {'0': Iris}", {0: "Iris"}),
        ("names: [0, 1]", {0: "0", 1: "1"}),
    ],
)
def test_names_are_a_list_or_numbered(tmp_path, text, names):
    file = tmp_path / "data.yaml"
    file.write_text(text)
    assert (read_data_yaml(file).names, read_data_yaml(file).project) == (names, "")
    file.write_text(text + "\nroboflow:\n  project: cau001\n")
    assert read_data_yaml(file).project == "cau001"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_names_keep_their_accents(tmp_path, encoding):
    (tmp_path / "data.yaml").write_bytes("names: [Córnea]".encode(encoding))
    assert read_data_yaml(tmp_path / "data.yaml").names == {0: "Córnea"}


@tabled("text", ["", "nc: 4", "names: 4", "names: []", "names: {a: b}", "names: [", "- a", "\x00\x01"])
def test_a_data_yaml_without_names_is_refused(tmp_path, text):
    (tmp_path / "data.yaml").write_text(text)
    assert refused(read_data_yaml, tmp_path / "data.yaml")[0] == "unreadable class names"


def test_boxes_and_polygons_of_yolo_lines(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("3 0.5 0.25 0.5 0.125\r\n\n0 0.1 0.2 0.3 0.2 0.3 0.4 0.1 0.4\n")
    assert read_yolo(file, NAMES) == (
        Annotation("Pupila", ((0.25, 0.1875), (0.75, 0.3125))),
        Annotation("Iris", ((0.1, 0.2), (0.3, 0.2), (0.3, 0.4), (0.1, 0.4))),
    )
    file.write_text("\n")
    assert read_yolo(file, NAMES) == ()


@tabled(
    "line",
    ["0 0.5 0.5 0.1", "0 0.5 0.5 0.1 0.1 0.9", "0 0.5 0.5 0 0.1", "0 0.5 0.5 0.1 -0.1", "x 0.5 0.5 0.1 0.1", "0",
     "0 0.5 0.5 0.1 nan", "0 0.5 inf 0.1 0.1", "-1 0.5 0.5 0.1 0.1", "0.5 0.5 0.5 0.1 0.1", "0 0,5 0,5 0,1 0,1"],
)  # fmt: skip
def test_malformed_yolo_lines_are_refused_with_their_number(tmp_path, line):
    file = tmp_path / "a.txt"
    file.write_text(f"0 0.5 0.5 0.1 0.1\n{line}\n")
    reason, detail = refused(read_yolo, file, NAMES)
    assert reason == "unreadable label" and detail.startswith("line 2: ") and "class cx cy w h" in detail


def test_a_number_without_a_name_is_an_unknown_class(tmp_path):
    (tmp_path / "a.txt").write_text("2 0.5 0.5 0.1 0.1")
    assert refused(read_yolo, tmp_path / "a.txt", NAMES) == (
        "unknown class",
        "line 1: class 2; data.yaml has 0 Iris, 3 Pupila",
    )


def coco(tmp_path, **changes):
    content = {
        "categories": [
            {"id": 0, "name": "Eyes", "supercategory": "none"},
            {"id": 1, "name": "Iris", "supercategory": "Eyes"},
            {"id": 2, "name": "Pupila", "supercategory": "Eyes"},
        ],
        "images": [
            {"id": 0, "file_name": "a.jpg", "width": 100, "height": 50},
            {"id": 1, "file_name": "b.jpg", "width": 100, "height": 50},
        ],
        "annotations": [{"id": 0, "image_id": 1, "category_id": 2, "bbox": [10, 5, 20, 10], "segmentation": []}],
    } | changes
    file = tmp_path / "_annotations.coco.json"
    file.write_text(json.dumps(content))
    return file


def test_coco_boxes_become_fractions_and_the_placeholder_is_no_class(tmp_path):
    part = read_coco(coco(tmp_path))
    assert part.names == ("Iris", "Pupila")
    assert part.photographs == {"a.jpg": (), "b.jpg": (Annotation("Pupila", ((0.1, 0.1), (0.3, 0.3))),)}


def test_coco_polygons_count_before_the_box_and_all_of_them(tmp_path):
    two = [[10, 5, 20, 5, 20, 10], [40, 5, 50, 5, 50, 20]]
    row = {"image_id": 0, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": two}
    (found,) = read_coco(coco(tmp_path, annotations=[row])).photographs["a.jpg"]
    assert (min(found.points), max(x for x, _ in found.points), max(y for _, y in found.points)) == (
        (0.1, 0.1),
        0.5,
        0.4,
    )


def test_a_first_category_that_is_a_class_stays_one(tmp_path):
    real = [{"id": 0, "name": "Iris", "supercategory": "none"}, {"id": 1, "name": "Pupila", "supercategory": "none"}]
    assert read_coco(coco(tmp_path, categories=real, annotations=[])).names == ("Iris", "Pupila")
    own = [{"id": 0, "name": "Iris", "supercategory": "Iris"}]
    assert read_coco(coco(tmp_path, categories=own, annotations=[])).names == ("Iris",)
    assert read_coco(coco(tmp_path, categories=[], annotations=[])).names == ()


@tabled("nothing", ["none", "", None])
@tabled("order", [(0, 1, 2), (2, 1, 0)])
def test_a_group_named_like_one_of_its_classes_drops_no_class(tmp_path, nothing, order):
    categories = [("cataract", nothing), ("cataract", "cataract"), ("normal", "cataract")]
    rows = [{"id": i, "name": categories[i][0], "supercategory": categories[i][1]} for i in order]
    boxes = [{"image_id": i, "category_id": i + 1, "bbox": [10, 5, 20, 10]} for i in (0, 1)]
    part = read_coco(coco(tmp_path, categories=rows, annotations=boxes))
    assert part.names == ("cataract", "normal")
    assert [[a.name for a in drawn] for drawn in part.photographs.values()] == [["cataract"], ["normal"]]


def test_a_class_above_another_that_is_not_first_stays_one(tmp_path):
    categories = [("eyes", "none"), ("iris", "eyes"), ("pupil", "iris"), ("lens", "none"), ("nucleus", "lens")]
    rows = [{"id": i, "name": name, "supercategory": above} for i, (name, above) in enumerate(categories)]
    part = read_coco(coco(tmp_path, categories=rows, annotations=[]))
    assert part.names == ("iris", "pupil", "lens", "nucleus")


@tabled(
    ("row", "reason", "message"),
    [
        ({"category_id": 0}, "unknown class", "category 0"),
        ({"category_id": 7}, "unknown class", "1 Iris, 2 Pupila"),
        ({"bbox": [1, 2, 3]}, "unreadable label", ""),
        ({"bbox": [1, 2, 0, 4]}, "unreadable label", "no area"),
        ({"bbox": None}, "unreadable label", ""),
        ({"bbox": [float("nan"), 1, 2, 3]}, "unreadable label", "finite"),
        ({"segmentation": [[1, 2, 3]]}, "unreadable label", "polygon of 3 numbers"),
    ],
)
def test_a_bad_coco_row_drops_only_its_own_photograph(tmp_path, row, reason, message):
    good = {"image_id": 0, "category_id": 1, "bbox": [1, 2, 3, 4]}
    part = read_coco(coco(tmp_path, annotations=[good, good | {"image_id": 1} | row]))
    assert len(part.photographs["a.jpg"]) == 1
    problem = part.photographs["b.jpg"]
    assert problem.reason == reason and message in problem.detail


@tabled("changes", [{"images": None}, {"categories": 3}, {"annotations": [{"image_id": 9}]}, {"images": [{"id": 0}]}])
def test_a_damaged_coco_file_is_refused(tmp_path, changes):
    assert refused(read_coco, coco(tmp_path, **changes))[0] == "unreadable label"


def test_a_truncated_coco_file_is_refused(tmp_path):
    file = coco(tmp_path)
    file.write_bytes(file.read_bytes()[:50])
    assert refused(read_coco, file)[1].startswith("not a readable COCO json file (JSONDecodeError")
