"""Draw the pictures the small base learns from: eyes of no diagnosis, each finding drawn independently of the others.

A base that knows the tasks would make its own zero-shot row meaningless. So cup, lesions and haze vary freely and
together here, and no picture carries a diagnosis. Seeds start at 2**48; phantoms of demos and tests stay below.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tqdm import tqdm

from lmod_train.phantom.fundus import Eye, draw_eye, render

FIRST_SEED = 2**48
SIDE = 240


@lru_cache(maxsize=4)
def eye_of(index: int) -> Eye:
    """Return the truth of picture `index`: cup-to-disc ratio 0.2 to 0.85, lesions in half, haze in two fifths."""
    rng = np.random.default_rng([FIRST_SEED, index])
    lesions = rng.random() < 0.5
    eye = draw_eye(FIRST_SEED + index, "diabetic retinopathy" if lesions else "normal")
    ratio = rng.uniform(0.2, 0.85)
    radii = (eye.disc_radii[0] * ratio * rng.uniform(0.88, 1.0), eye.disc_radii[1] * ratio)
    angle, slack = rng.uniform(0, 2 * np.pi), rng.uniform(0, 0.5) * (1 - ratio)
    cup = (
        eye.disc[0] + slack * eye.disc_radii[0] * float(np.cos(angle)),
        eye.disc[1] + slack * eye.disc_radii[1] * float(np.sin(angle)),
    )
    haze = rng.uniform(0, 0.08) if rng.random() < 0.6 else rng.uniform(0.25, 1.0)
    return replace(eye, cup=cup, cup_radii=radii, cup_to_disc=ratio, haze=float(haze))


def picture(index: int) -> np.ndarray:
    """Return picture `index`, uint8 (SIDE, SIDE, 3)."""
    return np.asarray(render(eye_of(index), SIDE))


def main() -> None:
    """Draw `--n` pictures into one memory-mapped array."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the .npy file to write")
    parser.add_argument("--n", type=int, default=12000)
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    beside = arguments.out.with_suffix(".part")
    pictures = np.lib.format.open_memmap(beside, "w+", np.uint8, (arguments.n, SIDE, SIDE, 3))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        drawn = pool.map(picture, range(arguments.n), chunksize=32)
        for index, image in enumerate(tqdm(drawn, total=arguments.n, desc="pictures")):
            pictures[index] = image
    pictures.flush()
    beside.rename(arguments.out)  # only a complete file is taken for done


if __name__ == "__main__":
    main()
