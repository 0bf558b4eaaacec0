"""Draw the overview image of README and documentation from a quick start folder: a phantom with boxes, and a figure.

    bash scripts/quickstart.sh
    python scripts/docs_picture.py quickstart [--out docs/images/overview.png]

Both halves show drawn eyes or scores on drawn eyes; no photograph is used.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record

HEIGHT, MARGIN, CAPTION = 440, 20, 42


def marked(curated: Path) -> Record:
    """Return the first record of a phantom with two boxes.

    Raises:
        BadArgument: There is no such record in the folder.
    """
    records = read_records(curated / "records" / "anatomy.parquet")
    found = [r for r in records if r.phantom and len(r.regions) == 2]
    if not found:
        raise BadArgument("folder", str(curated), "the quick start's, with phantoms", "bash scripts/quickstart.sh")
    return found[0]


def draw(folder: Path, out: Path) -> None:
    """Write the overview image.

    Args:
        folder: Folder written by ``scripts/quickstart.sh``.
        out: PNG file to write.
    """
    record = marked(folder / "curated")
    eye = fitted(folder / "curated" / record.image[0])
    figure = fitted(folder / "report" / "figures" / "scores.png")
    width = eye.width + figure.width + 3 * MARGIN
    sheet = Image.new("RGB", (width, HEIGHT + CAPTION + 2 * MARGIN), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(20)
    names = ", ".join(f"{r.id}: {r.structure}" for r in record.regions)
    captions = (f"A phantom; {names}", "The report: scores on phantoms")
    for picture, left, words in zip((eye, figure), (MARGIN, eye.width + 2 * MARGIN), captions, strict=True):
        sheet.paste(picture, (left, MARGIN))
        pen.text((left, HEIGHT + MARGIN + 14), words, fill="black", font=font)
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out, format="PNG", optimize=True)


def fitted(file: Path) -> Image.Image:
    """Return an image resized to the common height."""
    with Image.open(file) as picture:
        image = picture.convert("RGB")
    return image.resize((round(image.width * HEIGHT / image.height), HEIGHT), Image.Resampling.LANCZOS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/images/overview.png"))
    given = parser.parse_args(arguments)
    draw(given.folder, given.out)
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
