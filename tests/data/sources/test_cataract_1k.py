import json
import shutil
from dataclasses import replace

import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Dropped, Outline, Sample
from lmod_train.data.curation.boxes import read_boxes
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.sources.cataract_1k import Cataract1K
from lmod_train.phantom.folders import cataract_1k as phantom

N, SEED, SIZE = 9, 3, 64
FRAMES, COCO = "Annotations/Images-and-Supervisely-Annotations", "Annotations/Coco-Annotations"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    raw = tmp_path_factory.mktemp("surgery")
    phantom.write(raw, N, SEED, size=SIZE, workers=0)
    return raw / "Cataract-1K"


@pytest.fixture
def copy(drawn, tmp_path):
    return shutil.copytree(drawn, tmp_path / "any name")


def samples(root, **options):
    return {s.key: s for s in Cataract1K(root, **options).samples() if isinstance(s, Sample)}


def drops(root, **options):
    return sorted((d.file, d.reason) for d in Cataract1K(root, **options).samples() if isinstance(d, Dropped))


def missing(root):
    return [(d.reason, d.key, d.extent) for d in Cataract1K(root).samples() if isinstance(d, Dropped)]


def details(root):
    return [d.detail for d in Cataract1K(root).samples() if isinstance(d, Dropped)]


def instances(root, case="case_5013"):
    return root / COCO / case / "annotations" / "instances.json"


def change(file, edit):
    """Let `edit` change a json file in place."""
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize("annotations", ["coco", "supervisely"])
def test_boxes_read_are_the_boxes_drawn(drawn, annotations):
    found, truths = samples(drawn, annotations=annotations), phantom.truths(N, SEED, SIZE)
    assert list(found) == [t.key for t in truths] and len({t.group for t in truths}) == 3
    for truth in truths:
        sample = found[truth.key]
        sized, problem = read_boxes(replace(sample, size=open_image(sample).image.size))
        assert problem == () and (sample.group, sample.labels, sample.patient) == (truth.group, {}, truth.patient)
        assert [(r.structure, r.box) for r in sized.regions] == list(truth.boxes)
    assert drops(drawn, annotations=annotations) == []


def test_the_case_whose_files_have_another_number_is_read(drawn):
    odd = [s for s in samples(drawn).values() if s.group == "case_5315"]
    assert [s.key for s in odd] == [f"case_5315/case_53153_0{i}" for i in (1, 2, 3)]
    assert all(s.outlines for s in odd)


def test_categories_are_matched_by_name_as_their_ids_differ_between_cases(drawn):
    ids = [
        {c["name"]: c["id"] for c in json.loads(instances(drawn, case).read_text())["categories"]}
        for case in ("case_5013", "case_5315")
    ]
    assert ids[0] != ids[1] and ids[0].keys() == ids[1].keys() and len(ids[0]) == 15


@pytest.mark.parametrize("frames", ["Images_and_Supervisely_Annotations", "Images%20and Supervisely-Annotations"])
def test_spellings_and_depths_of_the_folders_give_the_same(drawn, copy, tmp_path, frames):
    same = {key: s.outlines for key, s in samples(drawn).items()}
    (copy / FRAMES).rename(copy / "Annotations" / frames)
    assert {key: s.outlines for key, s in samples(copy).items()} == same
    flat = shutil.move(copy / "Annotations", tmp_path / "flat")
    doubled = shutil.copytree(flat, tmp_path / "x" / "x")
    beside = shutil.copytree(flat, tmp_path / "beside" / "Annotations").parent
    (beside / "Annotations" / frames).rename(beside / frames)
    for root in (flat, doubled, doubled.parent, beside):
        assert Cataract1K.found_in(root), root
        assert {key: s.outlines for key, s in samples(root).items()} == same, root
        assert drops(root) == []


def test_doubled_folders_inside_are_read(drawn, copy):
    for folder in (copy / FRAMES, copy / COCO, copy / FRAMES / "case_5013", copy / COCO / "case_5013"):
        inner = shutil.move(folder, copy / "away")
        folder.mkdir()
        shutil.move(inner, folder / folder.name)
        if folder in (copy / FRAMES, copy / COCO):
            assert {k: s.outlines for k, s in samples(copy).items()} == {
                k: s.outlines for k, s in samples(drawn).items()
            }
            shutil.move(folder / folder.name, copy / "away")
            folder.rmdir()
            shutil.move(copy / "away", folder)
    assert {k: s.outlines for k, s in samples(copy).items()} == {k: s.outlines for k, s in samples(drawn).items()}
    assert drops(copy) == []


def test_clutter_is_ignored_and_strays_are_listed(drawn, copy):
    for name in ("__MACOSX/x.png", "index.html", "case_5013/img/case5013_01.png:Zone.Identifier", "meta.json"):
        (copy / FRAMES / name).parent.mkdir(exist_ok=True)
        (copy / FRAMES / name).write_bytes(b"")
    assert drops(copy) == [] and samples(copy).keys() == samples(drawn).keys()
    case = copy / FRAMES / "case_5013"
    shutil.copy(case / "img" / "case5013_01.png", case / "img" / "case5013_01.jpg")
    for name in ("case_5013/notes.txt", "case_5013/img/more/x.png", "case_5013/ann/y.txt", "others/z.png"):
        (copy / FRAMES / name).parent.mkdir(exist_ok=True)
        (copy / FRAMES / name).write_bytes(b"")
    (copy / COCO / "case_5013" / "old.json").write_text("{}")
    assert drops(copy) == sorted(
        [
            (f"{FRAMES}/case_5013/notes.txt", "stray file"),
            (f"{FRAMES}/case_5013/img/more/x.png", "stray file"),
            (f"{FRAMES}/case_5013/ann/y.txt", "stray file"),
            (f"{FRAMES}/others/z.png", "stray file"),
            (f"{COCO}/case_5013/old.json", "stray file"),
            (f"{FRAMES}/case_5013/img/case5013_01.jpg", "same key twice"),
        ]
    )


def test_a_second_copy_of_the_frames_is_listed(drawn, copy):
    shutil.copytree(copy / FRAMES, copy / "Images_and_Supervisely_Annotations")
    assert drops(copy) == [(FRAMES, "another copy")]
    assert samples(copy).keys() == samples(drawn).keys()


def test_supervisely_is_used_without_coco_and_the_other_way_round(drawn, copy):
    both = {key: s.outlines for key, s in samples(drawn).items()}
    shutil.rmtree(copy / COCO / "case_5013")
    change(
        instances(copy, "case_5014"), lambda c: c["images"].pop(0)
    )  # its annotations are then without an image, and listed
    (copy / FRAMES / "case_5315" / "ann" / "case_53153_01.png.json").unlink()
    assert {key: s.outlines for key, s in samples(copy).items()} == both
    assert missing(copy) == [
        ("annotation without image", f"{COCO}/case_5014/annotations/instances.json", "part"),
        ("missing COCO annotation", "case_5013", "part"),
        ("missing COCO annotation", "case_5014/case5014_01", "part"),
        ("missing Supervisely annotation", "case_5315/case_53153_01", "part"),
    ]
    shutil.rmtree(copy / COCO)
    assert [key for key, s in samples(copy).items() if not s.outlines] == ["case_5315/case_53153_01"]
    assert missing(copy) == [
        ("missing COCO annotation", "all", "part"),
        ("missing Supervisely annotation", "case_5315/case_53153_01", "part"),
    ]


@pytest.mark.parametrize("annotations", ["coco", "supervisely"])
def test_an_annotation_of_another_size_than_its_frame_is_not_used(copy, annotations):
    whole = samples(copy, annotations=annotations)
    file = whole["case_5013/case5013_02"].image
    with Image.open(file) as image:
        size, smaller = image.size, (image.width // 2, image.height // 2)
        image.resize(smaller).save(file)
    found = samples(copy, annotations=annotations)
    assert [key for key in whole if found[key].outlines != whole[key].outlines] == ["case_5013/case5013_02"]
    assert found["case_5013/case5013_02"].outlines == ()
    (dropped,) = [d for d in Cataract1K(copy, annotations=annotations).samples() if isinstance(d, Dropped)]
    assert (dropped.key, dropped.reason, dropped.extent) == ("case_5013/case5013_02", "size differs", "part")
    assert "{}x{}".format(*size) in dropped.detail and "{}x{}".format(*smaller) in dropped.detail


def test_the_option_selects_the_annotations(copy):
    change(instances(copy), lambda c: c["annotations"].clear())
    note = copy / FRAMES / "case_5013" / "ann" / "case5013_02.png.json"
    change(note, lambda c: c.update(objects=c["objects"][:1]))
    note.rename(note.with_name("case5013_02.json"))  # as older exports name it
    by_coco, by_supervisely = samples(copy), samples(copy, annotations="supervisely")
    assert by_coco["case_5013/case5013_02"].outlines == ()
    assert [o.structure for o in by_supervisely["case_5013/case5013_02"].outlines] == ["cornea"]
    assert drops(copy) == [(f"{COCO}/case_5013/annotations/instances.json", "no annotation")] * 3
    assert drops(copy, annotations="supervisely") == []
    with pytest.raises(BadArgument, match="annotations='json'"):
        Cataract1K(copy, annotations="json")


def test_pupil1_is_a_pupil_by_default_and_cornea1_stays(copy):
    for file in (copy / COCO).rglob("instances.json"):
        text = file.read_text()
        assert '"pupil1"' in text
        file.write_text(text.replace('"Lens"', '"x"').replace('"cornea1"', '"Lens"').replace('"Cornea"', '"cornea1"'))

    def structures(**options):
        return {o.structure for s in samples(copy, **options).values() for o in s.outlines}

    anatomy = {"cornea", "cornea1", "pupil", "pupil1", "lens"}
    assert structures(aliases={"x": ""}) & anatomy == {"cornea1", "pupil"}
    assert structures(aliases={"x": "lens", "pupil1": "pupil1"}) & anatomy == {"cornea1", "pupil", "pupil1", "lens"}
    assert structures(aliases={"X": "lens", "Cornea1": "cornea"}) & anatomy == {"cornea", "pupil", "lens"}
    with pytest.raises(BadArgument, match=r"aliases\['x'\]='iol'"):
        Cataract1K(copy, aliases={"x": "iol"})


def test_a_frame_with_an_unknown_class_has_no_outline_and_is_listed(drawn, copy):
    change(instances(copy), lambda c: [k.update(name="Hook") for k in c["categories"] if k["name"] == "Lens"])
    lensed = [t.key for t in phantom.truths(N, SEED, SIZE) if t.group == "case_5013" and "lens" in dict(t.boxes)]
    bare = [key for key, s in samples(copy).items() if not s.outlines]
    assert bare == lensed and 0 < len(bare) < 3
    place = f"{COCO}/case_5013/annotations/instances.json"
    assert drops(copy) == [(place, "unknown class")] * len(bare)
    assert all(
        "'Hook'" in d and "aliases" in d and key.split("/")[1] in d for key, d in zip(bare, details(copy), strict=True)
    )
    assert samples(copy, aliases={"hook": "lens"}) == {
        key: replace(s, image=copy / s.image.relative_to(drawn)) for key, s in samples(drawn).items()
    }


def outline_of(copy, **changes):
    """Return the first outline of a frame whose first annotation is changed."""
    change(instances(copy), lambda c: c["annotations"][0].update(changes))
    found = samples(copy)["case_5013/case5013_01"].outlines
    return found[0] if found else None


@pytest.mark.parametrize("segmentation", [{"counts": "abc", "size": [4, 4]}, [], None])
def test_without_polygons_the_bbox_is_used(copy, segmentation):
    outline = outline_of(copy, segmentation=segmentation, bbox=[3, 4.5, 10, 2])
    assert outline == Outline("cornea", ((3.0, 4.5), (13.0, 6.5)))
    assert drops(copy) == []


def test_several_polygons_of_an_annotation_are_one_outline_and_two_annotations_are_two(copy):
    outline = outline_of(copy, segmentation=[[1, 2, 3, 2, 3, 4], [9, 9, 12, 9, 12, 15]])
    assert outline == Outline("cornea", ((1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (9.0, 9.0), (12.0, 9.0), (12.0, 15.0)))
    change(instances(copy), lambda c: c["annotations"].append(c["annotations"][0]))
    names = [o.structure for o in samples(copy)["case_5013/case5013_01"].outlines]
    assert names.count("cornea") == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"segmentation": [], "bbox": None}, "Cornea: no polygon, and bbox is None"),
        ({"segmentation": [[1, 2, 3]]}, "Cornea: segmentation of 3 values"),
        ({"segmentation": [[1, 2, "x", 4]]}, "Cornea: segmentation of 4 values"),
        ({"category_id": 99}, "class None, expected"),
    ],
)
def test_an_annotation_that_cannot_be_read_drops_the_outlines_of_its_frame_only(drawn, copy, changes, message):
    assert outline_of(copy, **changes) is None
    assert drops(copy) == [(f"{COCO}/case_5013/annotations/instances.json", "unreadable annotation")]
    assert message in details(copy)[0] and "case5013_01.png" in details(copy)[0]
    assert sum(not s.outlines for s in samples(copy).values()) == 1 and len(samples(copy)) == N


def test_ids_and_names_that_are_not_unique_or_not_there_are_listed(copy):
    def edit(content):
        content["images"][1]["id"] = content["images"][0]["id"]
        content["images"].append({"id": 77, "file_name": "case_5013/img/case5013_99.png"})
        content["images"].append({"id": 78})

    lost = sum(a["image_id"] == 2 for a in json.loads(instances(copy).read_text())["annotations"])
    change(instances(copy), edit)
    shutil.copytree(copy / COCO / "case_5014", copy / COCO / "case_9999")
    stray = copy / FRAMES / "case_5014" / "ann" / "case5014_88.png.json"
    stray.write_text("{}")
    dropped = [(d.reason, d.detail) for d in Cataract1K(copy).samples() if isinstance(d, Dropped)]
    assert dropped == [
        ("unreadable annotation", "case5013_01.png: 2 images have the id 1"),
        ("unreadable annotation", "case5013_02.png: 2 images have the id 1"),
        ("annotation without image", "image 78 has no file_name"),
        ("annotation without image", f"{lost} annotations of image 2, which is not listed"),
        ("missing folder", "there are annotations, but no folder of frames"),
        ("missing frame", "it is annotated"),
        ("missing frame", "it is annotated"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable json file"),
        (b'{"images": [', "not a readable json file"),
        (b"[" * 100_000, "not a readable json file"),
        (b"[]", "expected a COCO file with lists of images, annotations and categories, found a list"),
        (b'{"images": [], "annotations": {}}', "found keys annotations, images"),
        (b'{"images": [1], "annotations": [], "categories": []}', "found keys annotations, categories, images"),
    ],
)
def test_a_damaged_coco_file_is_listed_and_the_supervisely_files_are_used(drawn, copy, content, message):
    instances(copy).write_bytes(content)
    assert drops(copy) == [(f"{COCO}/case_5013/annotations/instances.json", "unreadable annotation")]
    assert message in details(copy)[0]
    assert [s.outlines for s in samples(copy).values()] == [s.outlines for s in samples(drawn).values()]


def test_a_damaged_supervisely_file_is_listed_and_the_rest_is_read(copy):
    notes = copy / FRAMES / "case_5013" / "ann"
    shutil.rmtree(copy / COCO)
    (notes / "case5013_01.png.json").write_text('{"objects"')
    (notes / "case5013_02.png.json").write_text('{"objects": 3}')
    mask = {"classTitle": "Lens", "geometryType": "bitmap", "bitmap": {}}
    change(notes / "case5013_03.png.json", lambda c: c["objects"].append(mask))
    place = f"{FRAMES}/case_5013"
    assert drops(copy) == sorted(
        [
            *((f"{place}/ann/case5013_0{i}.png.json", "unreadable annotation") for i in (1, 2, 3)),
            (FRAMES, "missing COCO annotation"),
        ]
    )
    assert any("Lens: bitmap without points.exterior" in d for d in details(copy))
    assert sum(bool(s.outlines) for s in samples(copy).values()) == N - 3


def test_a_byte_order_mark_and_other_letters_are_read(copy):
    text = instances(copy).read_text().replace('"images"', '"info": {"by": "Müller"}, "images"', 1)
    for encoding in ("utf-8-sig", "cp1252"):
        instances(copy).write_text(text, encoding=encoding)
        assert drops(copy) == []


def test_annotations_alone_or_a_file_in_place_of_the_frames_are_not_the_source(copy):
    shutil.rmtree(copy / FRAMES)
    assert Cataract1K.found_in(copy), "its annotations are there"
    with pytest.raises(SourceNotFound, match="the folder of the frames, sorted into cases is missing"):
        Cataract1K(copy).verify()
    (copy / FRAMES).write_bytes(b"")
    shutil.rmtree(copy / COCO)
    assert not Cataract1K.found_in(copy)
