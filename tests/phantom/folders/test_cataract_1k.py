import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lmod_train.phantom.folders.cataract_1k import truths, write
from lmod_train.phantom.instruments import INSTRUMENTS

FRAMES, COCO = "Annotations/Images-and-Supervisely-Annotations", "Annotations/Coco-Annotations"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    raw = tmp_path_factory.mktemp("surgery")
    write(raw, 8, seed=1, size=128, workers=0)
    return raw / "Cataract-1K"


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def image_of(root, truth):
    return Image.open(root / FRAMES / truth.group / "img" / f"{truth.key.split('/')[1]}.png")


def test_the_folders_are_the_published_ones(drawn):
    stems = [f"case_5013/X/case5013_0{i}" for i in (1, 2, 3, 4)] + [
        f"case_5315/X/case_53153_0{i}" for i in (1, 2, 3, 4)
    ]
    assert set(files(drawn)) == {
        "phantom.json",
        *(f"{FRAMES}/{stem.replace('X', 'img')}.png" for stem in stems),
        *(f"{FRAMES}/{stem.replace('X', 'ann')}.png.json" for stem in stems),
        *(f"{COCO}/case_{case}/annotations/instances.json" for case in (5013, 5315)),
    }


def test_coco_and_supervisely_agree_and_class_names_are_the_published_ones(drawn):
    names = set()
    for case in ("case_5013", "case_5315"):
        coco = json.loads((drawn / COCO / case / "annotations" / "instances.json").read_text())
        classes = {c["id"]: c["name"] for c in coco["categories"]}
        names |= set(classes.values())
        assert [i["id"] for i in coco["images"]] == [1, 2, 3, 4]  # they collide between cases, as the real ones may
        for image in coco["images"]:
            assert (image["width"], image["height"]) == (128, 96)
            one = json.loads((drawn / FRAMES / case / "ann" / f"{image['file_name']}.json").read_text())
            rows = [a for a in coco["annotations"] if a["image_id"] == image["id"]]
            assert [
                (o["classTitle"], [v for corner in o["points"]["exterior"] for v in corner]) for o in one["objects"]
            ] == [(classes[a["category_id"]], a["segmentation"][0]) for a in rows]
            pupil = {o["classTitle"] for o in one["objects"]} & {"Pupil", "pupil1"}
            assert pupil == ({"pupil1"} if image["id"] == 2 else {"Pupil"})
    assert len(names) == 15 and {"Irrigation-Aspiration", "cornea1", "Phacoemulsification Tip"} <= names


def test_bbox_and_area_are_those_of_the_polygon(drawn):
    coco = json.loads((drawn / COCO / "case_5013" / "annotations" / "instances.json").read_text())
    for row in coco["annotations"]:
        corners = np.asarray(row["segmentation"][0]).reshape(-1, 2)
        assert row["bbox"] == pytest.approx([*corners.min(0), *np.ptp(corners, axis=0)], abs=0.01)
        fine = Image.new("L", (1280, 960))
        ImageDraw.Draw(fine).polygon([(x * 10 - 0.5, y * 10 - 0.5) for x, y in corners], fill=1)
        assert row["area"] == pytest.approx(float(np.asarray(fine).sum()) / 100, rel=0.1, abs=4)


def test_pupils_show_red_where_the_truth_has_them(drawn):
    for truth in truths(8, seed=1, size=128):
        pixels = np.asarray(image_of(drawn, truth)).astype(float)
        boxes = dict(truth.boxes)
        box, cornea = boxes["pupil"], boxes["cornea"]
        redness = pixels[..., 0] / pixels.sum(axis=2).clip(1)
        middle = redness[box.y0 + box.height // 4 : box.y1 - box.height // 4, box.x0 + 6 : box.x1 - 6]
        rim = np.concatenate(
            [redness[cornea.y0 + 4 : box.y0 - 3, box.x0 : box.x1].ravel(), redness[box.y1 + 3 : cornea.y1 - 4].ravel()]
        )
        assert np.median(middle) > np.median(rim) + 0.08
        assert cornea.x0 < box.x0 < box.x1 < cornea.x1 and cornea.y0 < box.y0 < box.y1 < cornea.y1


def test_kinds_come_as_often_as_each_other_and_lenses_in_every_second_frame():
    found = truths(200, seed=4)
    seen = Counter(name for truth in found for name, _ in truth.boxes)
    assert max(seen[k] for k in INSTRUMENTS) - min(seen[k] for k in INSTRUMENTS) <= 1
    assert seen["lens"] == 100 and seen["cornea"] == seen["pupil"] == 200
    hands = [[name for name, _ in truth.boxes if name in INSTRUMENTS] for truth in found]
    assert {len(hand) for hand in hands} == {0, 1, 2, 3} and all(len(set(hand)) == len(hand) for hand in hands)
    assert len({truth.group for truth in found}) == 30 and len({truth.key for truth in found}) == 200
    assert [truth.key for truth in found] == sorted(truth.key for truth in found)


def test_boxes_lie_in_the_image_and_scale_with_it():
    for small, large in zip(truths(12, seed=4, size=64), truths(12, seed=4, size=256), strict=True):
        assert small.key == large.key
        for (name, box), (same, wide) in zip(small.boxes, large.boxes, strict=True):
            assert name == same and 0 <= wide.x0 < wide.x1 <= 256 and 0 <= wide.y0 < wide.y1 <= 192
            for side in ("x0", "y0", "x1", "y1"):
                assert abs(getattr(box, side) * 4 - getattr(wide, side)) <= 4
