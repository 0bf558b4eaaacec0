"""A small world of known truth: two sources and three tasks of the tests' own, importable by worker processes."""

import hashlib
import io
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.types import Box, Dropped, MaskFile, Message, Part, Question, Region, Sample
from lmod_train.data.sources.base import Source
from lmod_train.tasks.base import Task

INVERTED = {"background": (255,), "optic disc": (0, 128), "optic cup": (0,)}
USUAL = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
WIDTH, HEIGHT = 160, 120


def photograph(path, seed, size=(WIDTH, HEIGHT)):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(seed, size, Image.registered_extensions()[path.suffix]))


@cache  # most tests have the same photographs
def encoded(seed, size, kind):
    rng, held = np.random.default_rng(seed), io.BytesIO()
    coarse = rng.integers(0, 256, size=(9, 12, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(held, kind)
    return held.getvalue()


def truth_of(number):
    """Disc and cup of photograph `number`."""
    x, y = 20 + 3 * (number % 20), 15 + 2 * (number % 15)
    return Box(x, y, x + 40, y + 36), Box(x + 12, y + 10, x + 30, y + 27)


def mask_file(path, number):
    disc, cup = truth_of(number)
    pixels = np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)
    pixels[disc.y0 : disc.y1, disc.x0 : disc.x1] = 128
    pixels[cup.y0 : cup.y1, cup.x0 : cup.x1] = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


class Discs(Source):
    """Photographs with disc and cup masks, two a patient, every third patient with glaucoma."""

    name, modality, licence, redistributable, reference = "discs", "CFP", "CC0", True, "none"

    @classmethod
    def found_in(cls, folder):
        return (folder / "masks").is_dir()

    @classmethod
    def write(cls, root: Path, n: int):
        for i in range(n):
            photograph(root / "images" / f"p{i:03}.png", i)
            mask_file(root / "masks" / f"p{i:03}.bmp", i)
        return cls(root)

    def verify(self):
        assert self.root.is_dir()

    def samples(self):
        for image in sorted((self.root / "images").iterdir()):
            number = int(image.stem[1:])
            patient = number // 2
            yield Sample(
                source=self.name,
                key=f"train/{image.stem}",
                modality=self.modality,
                image=image,
                group=f"patient-{patient}",
                licence=self.licence,
                labels={"diagnosis": "glaucoma" if patient % 3 == 0 else "normal"},
                masks=(MaskFile(self.root / "masks" / f"{image.stem}.bmp", (INVERTED, USUAL)),),
            )
        if (self.root / "unlabelled.png").exists():
            yield Dropped(self.name, "unlabelled", str(self.root / "unlabelled.png"), "read", "no_label")


class Folders(Source):
    """Photographs with a label and no mask, one a patient."""

    name, modality, licence, redistributable, reference = "folders", "CFP", "ODbL", False, "none"

    @classmethod
    def found_in(cls, folder):
        return (folder / "normal").is_dir()

    @classmethod
    def write(cls, root: Path, n: int, seed: int = 1000):
        for i in range(n):
            photograph(root / ("glaucoma" if i % 4 == 0 else "normal") / f"{i}.png", seed + i)
        return cls(root)

    def verify(self):
        assert self.root.is_dir()

    def samples(self):
        for image in sorted(self.root.rglob("*.png")):
            key = f"{image.parent.name}/{image.stem}"
            labels = {"diagnosis": image.parent.name}
            yield Sample(self.name, key, self.modality, image, key, self.licence, labels)


def asked(text):
    return (Message("user", (Part("image"), Part("text", text))),)


class Regions(Task):
    name, version, choices = "regions", 1, ("optic cup", "optic disc")

    def ask(self, sample):
        if sample.regions:
            answer = ", ".join(f"{r.id}: {r.structure}" for r in sample.regions)
            yield Question(self.name, asked("What?"), self.choices, answer, marked=True, regions=sample.regions)

    def parse(self, reply, record):
        raise NotImplementedError

    def score(self, predictions):
        raise NotImplementedError


class Glaucoma(Task):
    name, version, choices = "glaucoma", 3, ("GLAUCOMA", "NORMAL")

    def __init__(self, language="en"):
        self.language = language

    def ask(self, sample):
        if "diagnosis" in sample.labels:
            answer = sample.labels["diagnosis"].upper()
            yield Question(self.name, asked("Glaucoma?"), self.choices, answer, language=self.language, stratum=answer)

    def parse(self, reply, record):
        raise NotImplementedError

    def score(self, predictions):
        raise NotImplementedError


def tree(folder):
    """Every file of a folder with the hash of its bytes."""
    return {
        f.relative_to(folder).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest()
        for f in sorted(folder.rglob("*"))
        if f.is_file()
    }


def region(structure, *box):
    return Region(structure, Box(*box))
