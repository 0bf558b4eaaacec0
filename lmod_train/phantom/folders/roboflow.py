"""Phantoms in the folder layout of a Roboflow export, YOLO or COCO."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from PIL import Image, ImageFilter

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.types import Box
from lmod_train.phantom.eye_photograph import SMALLEST, EyePhotograph, render
from lmod_train.phantom.shots import draw_all, note

Flavour = Literal["yolo", "coco"]

COPIES = 3
"""Number of augmented copies of a training photograph."""

_TURN = ("train", "valid", "test", "train", "train", "valid", "train", "train", "train", "train")  # 7 : 2 : 1
_COCO = "_annotations.coco.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Position of one image in an export.

    Attributes:
        family: Number of the source photograph, from 0.
        split: train, valid or test; all images of a family are in one split.
        copy: Number of the augmented copy, from 0; None for the original photograph.
    """

    family: int
    split: str
    copy: int | None


@dataclass(frozen=True, slots=True)
class Exported:
    """One image of an export.

    Attributes:
        photograph: Truth of the photograph.
        split: train, valid or test.
        stem: File name without suffix.
        objects: Class name and box in pixels of every annotated object.
        augmentation: Seed of the augmentation; None without one.
    """

    photograph: EyePhotograph
    split: str
    stem: str
    objects: tuple[tuple[str, Box], ...]
    augmentation: int | None = None

    @property
    def key(self) -> str:
        """Key of the sample as the source yields it."""
        return f"{self.split}/{self.stem}"


@dataclass(frozen=True, slots=True)
class Project:
    """Description of an export in its own files: workspace and name, classes in order, augmentation."""

    workspace: str
    name: str
    classes: tuple[str, ...]
    augmentation: str = "none"


@dataclass(frozen=True, slots=True)
class _File:
    """An image to draw, its path, and its label file (None for COCO)."""

    image: Exported
    path: Path
    label: Path | None
    classes: tuple[str, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write, the image last."""
        return (self.label, self.path) if self.label else (self.path,)


def places(n: int, copies: int = COPIES) -> Iterator[Place]:
    """Yield the positions of `n` images, family by family, about seven in ten for training.

    Only training photographs are augmented, as in Roboflow; the last family may lack copies.

    Args:
        n: Number of images, from 0.
        copies: Number of augmented copies of a training photograph; 0 exports the original.

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
    """Return the file stems of an export: number, original suffix, ``.rf.`` and 32 hexadecimal digits.

    Numbers depend neither on the order nor on the class.

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


@dataclass(frozen=True, slots=True)
class Export:
    """A dataset that is drawn as a Roboflow export.

    Attributes:
        source: Name of the source.
        folder: Name of the export's folder.
        project: Description of the export.
        images: Function of `n`, `seed` and `size` that returns the images.
    """

    source: str
    folder: str
    project: Project
    images: Callable[[int, int, int], Sequence[Exported]]

    def write(self, out: Path, n: int, seed: int, size: int = 256, flavour: Flavour = "yolo", workers: int = 2) -> None:
        """Draw `n` images into the export's folder below `out`; existing files are kept.

        Args:
            out: Folder to write below.
            n: Number of images, from 0.
            seed: Seed, from 0; the same seed writes the same files.
            size: Side of the images in pixels, from `SMALLEST`; 640 in the published datasets.
            flavour: Format of the export, see `write_export`.
            workers: Number of processes to start; 0 works in this one.

        Raises:
            BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
        """
        check(size, flavour)
        drawn: dict[str, int | float | str] = {"source": self.source, "n": n, "seed": seed}
        write_export(Path(out) / self.folder, self.images(n, seed, size), self.project, drawn, size, flavour, workers)


def write_export(
    root: Path,
    images: Sequence[Exported],
    project: Project,
    drawn: dict[str, int | float | str],
    size: int,
    flavour: Flavour = "yolo",
    workers: int = 2,
) -> None:
    """Draw an export into `root`; existing files are kept.

    Args:
        root: Folder of the export.
        images: Images to draw; may be empty.
        project: Description of the export.
        drawn: Options that a restart must repeat, with `source`, see `note`. Size and flavour are added here.
        size: Side of the images in pixels, from `SMALLEST`; 640 in published exports.
        flavour: ``yolo`` (``data.yaml`` and one label file per image) or ``coco`` (one JSON file per part).
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number or the flavour cannot be used, or the folder contains phantoms drawn with other options.
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
    """Check the options of an export.

    Raises:
        BadArgument: `size` is too small for a pupil, or the flavour is unknown.
    """
    if size < SMALLEST:
        raise BadArgument("size", size, f"at least {SMALLEST} pixels", "leave it out for 256")
    if flavour not in ("yolo", "coco"):
        raise BadArgument("flavour", flavour, "yolo or coco", "leave it out for yolo")


def augment(image: Image.Image, seed: int) -> Image.Image:
    """Return an augmented copy as in CAU001: brightness +-45 %, blur, and salt and pepper on 7 % of the pixels.

    Blur is up to 2.75 pixels in an image of 640, scaled to the image size. Four in ten copies are grey.
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
    """Return one line of a label file: class, centre, width and height as fractions of the side."""
    centre = (box.x0 + box.x1) / 2 / size, (box.y0 + box.y1) / 2 / size
    return " ".join(map(str, (kind, *centre, box.width / size, box.height / size)))


def _write_data_yaml(root: Path, project: Project) -> None:
    content = {
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
    text = yaml.safe_dump(content, sort_keys=False)
    with write_beside(root / "data.yaml") as beside:
        beside.write_text(text, encoding="utf-8")


def _write_coco(folder: Path, project: Project, images: Sequence[Exported], size: int) -> None:
    """Write the JSON file of one part, with Roboflow's placeholder at category 0."""
    above = "-".join(project.classes)
    categories = [{"id": 0, "name": above, "supercategory": "none"}]
    categories += [{"id": i, "name": c, "supercategory": above} for i, c in enumerate(project.classes, start=1)]
    objects = [(number, *thing) for number, image in enumerate(images) for thing in image.objects]
    content = {
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
    make_folder(folder)
    with write_beside(folder / _COCO) as beside:
        beside.write_text(json.dumps(content), encoding="utf-8")


def _write_readmes(root: Path, project: Project, count: int, size: int) -> None:
    """Write the two readme files of every export."""
    url = f"https://universe.roboflow.com/{project.workspace}/{project.name}"
    about = f"# {project.name}\nPhantoms in the shape of {url}\nLicense: CC BY 4.0\n"
    made = (
        f"{project.name}, version 1: phantoms drawn from known truth, not photographs of people.\n"
        f"Images: {count}, {size}x{size}. Augmentation of training images: {project.augmentation}.\n"
    )
    for name, text in (("README.dataset.txt", about), ("README.roboflow.txt", made)):
        with write_beside(root / name) as beside:
            beside.write_text(text, encoding="utf-8")
