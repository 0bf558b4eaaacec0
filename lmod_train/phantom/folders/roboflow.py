"""Phantoms in the folder shape of a Roboflow export, in YOLO or COCO flavour."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from PIL import Image, ImageFilter

from lmod_train.errors import BadArgument
from lmod_train.files import write_beside
from lmod_train.phantom.eye_photograph import SMALLEST, EyePhotograph, render
from lmod_train.phantom.shots import draw_all, note
from lmod_train.types import Box

Flavour = Literal["yolo", "coco"]

COPIES = 3
"""Augmented copies of a training photograph."""

_TURN = ("train", "valid", "test", "train", "train", "valid", "train", "train", "train", "train")  # 7 : 2 : 1
_COCO = "_annotations.coco.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one image of an export stands.

    Attributes:
        family: Number of the source photograph, from 0.
        split: train, valid or test; a family is whole in one.
        copy: Which augmented copy, from 0; None for the photograph as it was taken.
    """

    family: int
    split: str
    copy: int | None


@dataclass(frozen=True, slots=True)
class Exported:
    """One image of an export.

    Attributes:
        photograph: What is drawn.
        split: train, valid or test.
        stem: File name without ending.
        objects: Class name and box of every annotated object, in pixels.
        augmentation: Seed of the augmentation, None for none.
    """

    photograph: EyePhotograph
    split: str
    stem: str
    objects: tuple[tuple[str, Box], ...]
    augmentation: int | None = None

    @property
    def key(self) -> str:
        """As the source yields it."""
        return f"{self.split}/{self.stem}"


@dataclass(frozen=True, slots=True)
class Project:
    """What an export says about itself: where it comes from, its classes in order, how it was augmented."""

    workspace: str
    name: str
    classes: tuple[str, ...]
    augmentation: str = "none"


@dataclass(frozen=True, slots=True)
class _File:
    """An image to draw, where, and its label file, None in COCO flavour."""

    image: Exported
    path: Path
    label: Path | None
    classes: tuple[str, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """What is written, the image last."""
        return (self.label, self.path) if self.label else (self.path,)


def places(n: int, copies: int = COPIES) -> Iterator[Place]:
    """Yield the places of `n` images: families in turn, about seven of ten for training.

    As Roboflow does it, only training photographs are augmented; the last family may lack copies.

    Args:
        n: Images, 0 or more.
        copies: Augmented copies of a training photograph; 0 exports it as it was taken.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(p.family, p.split, p.copy) for p in places(5)][1:]
        [(0, 'train', 1), (0, 'train', 2), (1, 'valid', None), (2, 'test', None)]
    """
    if n < 0:
        raise BadArgument("n", n, "0 or more images", "give a number from 0")
    family = 0
    while n > 0:
        split = _TURN[family % len(_TURN)]
        made: list[int | None] = list(range(copies)) if split == "train" and copies else [None]
        yield from (Place(family, split, copy) for copy in made[:n])
        n -= len(made)
        family += 1


def stems(source: str, seed: int, found: Sequence[Place]) -> list[str]:
    """Return the file stems of an export: number, original ending, ``.rf.`` and 32 hexadecimal digits.

    Numbers follow neither the order nor the class.

    Example:
        >>> [stem.partition(".rf.")[0] for stem in stems("cau001", 0, list(places(3)))]
        ['1_jpg', '1_jpg', '1_jpg']
    """
    families = 1 + max((place.family for place in found), default=-1)
    rng = np.random.default_rng([seed, families])
    numbers, endings = rng.permutation(families).tolist(), rng.choice(["png", "jpg", "jpeg"], families).tolist()
    named = [(f"{numbers[place.family] + 1}_{endings[place.family]}", place.copy) for place in found]
    hashes = [hashlib.sha256(f"{source} {seed} {name} {copy}".encode()).hexdigest()[:32] for name, copy in named]
    return [f"{name}.rf.{digits}" for (name, _), digits in zip(named, hashes, strict=True)]


def write_export(
    root: Path,
    images: Sequence[Exported],
    project: Project,
    drawn: dict[str, int | float | str],
    size: int,
    flavour: Flavour = "yolo",
    workers: int = 2,
) -> None:
    """Draw an export into `root`; what is there already stays.

    Args:
        root: Folder of the export.
        images: What to draw; none is fine.
        project: What the export says about itself.
        drawn: What a restart must agree with, see `note`; `source` among it. Size and flavour are added here.
        size: Pixels a side, from `SMALLEST`; 640 in the real exports.
        flavour: ``yolo`` (``data.yaml`` and a label file an image) or ``coco`` (a json a part).
        workers: Processes to start; 0 works in this one.

    Raises:
        BadArgument: A number or the flavour cannot be used, or the folder holds phantoms of other numbers.
    """
    check(size, flavour)
    note(root, {**drawn, "size": size, "flavour": flavour})
    _write_readmes(root, project, len(images), size)
    if flavour == "yolo":
        _write_data_yaml(root, project)
        files = [
            _File(
                image,
                root / image.split / "images" / f"{image.stem}.jpg",
                root / image.split / "labels" / f"{image.stem}.txt",
                project.classes,
            )
            for image in images
        ]
    else:
        for split in dict.fromkeys(image.split for image in images):
            _write_coco(root / split, project, [image for image in images if image.split == split], size)
        files = [_File(image, root / image.split / f"{image.stem}.jpg", None, project.classes) for image in images]
    draw_all(files, partial(_draw, size=size), str(drawn["source"]), workers)


def check(size: int, flavour: str = "yolo") -> None:
    """Check what an export is drawn with.

    Raises:
        BadArgument: `size` is too small for a pupil, or the flavour is unknown.
    """
    if size < SMALLEST:
        raise BadArgument("size", size, f"at least {SMALLEST} pixels", "leave it out for 256")
    if flavour not in ("yolo", "coco"):
        raise BadArgument("flavour", flavour, "yolo or coco", "leave it out for yolo")


def augment(image: Image.Image, seed: int) -> Image.Image:
    """Return an augmented copy as CAU001 has them: brightness +-45 %, blur, and 7 % of pixels salt or pepper.

    Blur is up to 2.75 pixels of 640, scaled to the image. Four of ten lose their colour, as the real copies do.
    """
    rng = np.random.default_rng(seed)
    gain, blur, grey = rng.uniform(0.55, 1.45), rng.uniform(0, 2.75) * image.width / 640, rng.random() < 0.4
    changed = image.filter(ImageFilter.GaussianBlur(blur))
    pixels = np.clip(np.asarray(changed.convert("L").convert("RGB") if grey else changed) * gain, 0, 255)
    chance = rng.random(pixels.shape[:2])
    pixels[chance < 0.035] = 0
    pixels[chance > 0.965] = 255
    return Image.fromarray(pixels.astype(np.uint8))


def _draw(file: _File, size: int) -> None:
    """Write the label file and the image of one drawing, the image last."""
    if file.label:
        lines = "\n".join(_yolo_line(file.classes.index(name), box, size) for name, box in file.image.objects)
        with write_beside(file.label) as beside:
            beside.write_text(lines, encoding="utf-8")
    picture = render(file.image.photograph, size)
    if file.image.augmentation is not None:
        picture = augment(picture, file.image.augmentation)
    with write_beside(file.path) as beside:
        picture.save(beside, format="JPEG", quality=92)


def _yolo_line(kind: int, box: Box, size: int) -> str:
    """Return class, centre, width and height in fractions of the side."""
    centre = (box.x0 + box.x1) / 2 / size, (box.y0 + box.y1) / 2 / size
    return " ".join(map(str, (kind, *centre, box.width / size, box.height / size)))


def _write_data_yaml(root: Path, project: Project) -> None:
    said = {
        "train": "../train/images",
        "val": "../valid/images",
        "test": "../test/images",
        "nc": len(project.classes),
        "names": list(project.classes),
        "roboflow": {
            "workspace": project.workspace,
            "project": project.name,
            "version": 1,
            "license": "CC BY 4.0",
            "url": f"https://universe.roboflow.com/{project.workspace}/{project.name}/dataset/1",
        },
    }
    text = yaml.safe_dump(said, sort_keys=False)
    with write_beside(root / "data.yaml") as beside:
        beside.write_text(text, encoding="utf-8")


def _write_coco(folder: Path, project: Project, images: Sequence[Exported], size: int) -> None:
    """Write the json of one part, with Roboflow's placeholder at category 0."""
    above = "-".join(project.classes)
    categories = [{"id": 0, "name": above, "supercategory": "none"}]
    categories += [{"id": i, "name": c, "supercategory": above} for i, c in enumerate(project.classes, start=1)]
    objects = [(number, *thing) for number, image in enumerate(images) for thing in image.objects]
    said = {
        "info": {"description": "Phantoms drawn from known truth", "version": "1"},
        "licenses": [{"id": 1, "name": "CC BY 4.0", "url": "https://creativecommons.org/licenses/by/4.0/"}],
        "categories": categories,
        "images": [
            {"id": number, "license": 1, "file_name": f"{image.stem}.jpg", "height": size, "width": size}
            for number, image in enumerate(images)
        ],
        "annotations": [
            {
                "id": number,
                "image_id": image,
                "category_id": project.classes.index(name) + 1,
                "bbox": [box.x0, box.y0, box.width, box.height],
                "area": box.area,
                "segmentation": [],
                "iscrowd": 0,
            }
            for number, (image, name, box) in enumerate(objects)
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    with write_beside(folder / _COCO) as beside:
        beside.write_text(json.dumps(said), encoding="utf-8")


def _write_readmes(root: Path, project: Project, count: int, size: int) -> None:
    """Write the two texts that lie beside every export, in words of our own."""
    url = f"https://universe.roboflow.com/{project.workspace}/{project.name}"
    about = f"# {project.name}\nPhantoms in the shape of {url}\nLicense: CC BY 4.0\n"
    made = (
        f"{project.name}, version 1: phantoms drawn from known truth, not photographs of people.\n"
        f"Images: {count}, {size}x{size}. Augmentation of training images: {project.augmentation}.\n"
    )
    for name, text in (("README.dataset.txt", about), ("README.roboflow.txt", made)):
        with write_beside(root / name) as beside:
            beside.write_text(text, encoding="utf-8")
