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

from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.types import Box
from lmod_train.phantom.eye_photograph import EyePhotograph, augment, render
from lmod_train.phantom.shots import Files, draw_all, note, save

Flavour = Literal["yolo", "coco"]

COPIES = 3
"""Number of augmented copies of a training photograph."""

_TURN = ("train", "valid", "test", "train", "train", "valid", "train", "train", "train", "train")  # 7 : 2 : 1
_COCO = "_annotations.coco.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Position of one image in an export."""

    family: int
    split: str
    copy: int | None


@dataclass(frozen=True, slots=True)
class Exported:
    """One image of an export."""

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


def places(n: int, copies: int = COPIES) -> Iterator[Place]:
    """Yield the positions of `n` images, family by family, about seven in ten for training."""
    family = 0
    while n > 0:
        split = _TURN[family % len(_TURN)]
        made: list[int | None] = list(range(copies)) if split == "train" and copies else [None]
        yield from (Place(family, split, copy) for copy in made[:n])
        n -= len(made)
        family += 1


def stems(source: str, seed: int, found: Sequence[Place]) -> list[str]:
    """Return the file stems of an export: number, original suffix, ``.rf.`` and 32 hexadecimal digits."""
    families = 1 + max((place.family for place in found), default=-1)
    rng = np.random.default_rng([seed, families])
    numbers, endings = rng.permutation(families).tolist(), rng.choice(["png", "jpg", "jpeg"], families).tolist()
    named = [(f"{numbers[place.family] + 1}_{endings[place.family]}", place.copy) for place in found]
    hashes = [hashlib.sha256(f"{source} {seed} {name} {copy}".encode()).hexdigest()[:32] for name, copy in named]
    return [f"{name}.rf.{digits}" for (name, _), digits in zip(named, hashes, strict=True)]


@dataclass(frozen=True, slots=True)
class Export:
    """A dataset that is drawn as a Roboflow export."""

    source: str
    folder: str
    project: Project
    images: Callable[[int, int, int], Sequence[Exported]]

    def write(self, out: Path, n: int, seed: int, size: int = 256, flavour: Flavour = "yolo", workers: int = 2) -> None:
        """Draw `n` images into the export's folder below `out`; existing files are kept."""
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
    """Draw an export into `root`; existing files are kept."""
    note(root, {**drawn, "size": size, "flavour": flavour})
    _write_readmes(root, project, len(images), size)
    if flavour == "yolo":
        _write_data_yaml(root, project)
        places: tuple[tuple[str, str], ...] = (("labels", "txt"), ("images", "jpg"))
    else:
        for split in dict.fromkeys(image.split for image in images):
            _write_coco(root / split, project, [image for image in images if image.split == split], size)
        places = (("", "jpg"),)
    files = [tuple(root / i.split / folder / f"{i.stem}.{kind}" for folder, kind in places) for i in images]
    draw_all(files, images, partial(_draw, size=size, classes=project.classes), str(drawn["source"]), workers)


def _draw(files: Files, image: Exported, size: int, classes: tuple[str, ...]) -> None:
    """Write the label file, if there is one, and the image of one drawing, the image last."""
    for label in files[:-1]:
        lines = "\n".join(_yolo_line(classes.index(name), box, size) for name, box in image.objects)
        with write_beside(label) as beside:
            beside.write_text(lines, encoding="utf-8")
    picture = render(image.photograph, size)
    save(picture if image.augmentation is None else augment(picture, image.augmentation), files[-1])


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
