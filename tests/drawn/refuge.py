"""Phantoms of REFUGE in the layouts of other distributors, made of the drawn folder."""

import json
import shutil

import numpy as np
from PIL import Image

from lmod_train.phantom.folders import refuge

LAYOUTS = ("challenge", "refuge2", "kaggle")
PHOTOGRAPHS = {
    "train": "REFUGE-Training400/Training400",
    "val": "REFUGE-Validation400/REFUGE-Validation400",
    "test": "REFUGE-Test400/Test400",
}
NOTES = {
    "train": "Annotation-Training400/Annotation-Training400",
    "val": "REFUGE-Validation400-GT",
    "test": "REFUGE-Test-GT",
}


def write(out, n, seed, size=384, layout="challenge"):
    refuge.write(out, n, seed, size, workers=0)
    root = out / "REFUGE"
    for part in PHOTOGRAPHS if layout != "challenge" else ():
        photographs, notes = root / PHOTOGRAPHS[part], root / NOTES[part]
        if layout == "refuge2":
            to = out / "REFUGE2" / "Train" / f"REFUGE1-{part}"
            shutil.copytree(notes, to)
            if n:
                shutil.copytree(photographs, to / photographs.name)
        else:
            _of_kaggle(
                photographs, notes, root / part, [e for e in refuge.truth(n, seed) if e[0].startswith(part)], size
            )
        shutil.rmtree(root / PHOTOGRAPHS[part].split("/")[0], ignore_errors=True)
        shutil.rmtree(root / NOTES[part].split("/")[0])
    if layout == "refuge2":
        shutil.rmtree(root)


def _of_kaggle(photographs, notes, to, eyes, size):
    for name in ("Images", "Masks"):
        (to / name).mkdir(parents=True)
    for file in photographs.rglob("*.jpg"):
        file.rename(to / "Images" / file.name)
    for file in notes.rglob("*.bmp"):
        codes = np.choose(np.asarray(Image.open(file)) // 127, [2, 1, 0]).astype(np.uint8)
        Image.fromarray(codes).save(to / "Masks" / f"{file.stem}.png")
    index = {
        str(number): {
            "ImgName": f"{key.split('/')[1]}.jpg",
            "Fovea_X": round(eye.fovea[0] * size + 0.5, 2),
            "Fovea_Y": round(eye.fovea[1] * size + 0.5, 2),
            "Size_X": size,
            "Size_Y": size,
            "Label": int(eye.diagnosis == "glaucoma"),
        }
        for number, (key, eye) in enumerate(eyes)
    }
    (to / "index.json").write_text(json.dumps(index))
