"""Lines, table, page and sheets of what a model sees of a curated folder."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.audit.views import SeenImage, calibrate, page, seen_images, sheets, table, write_views
from tests.extensions.audit.test_view import LLAVA, look
from tests.tabled import stored
from tests.tiny import record, write_curated

SIZES = stored(__file__, "views.SIZES")


def curated(folder: Path) -> Path:
    records = [
        record(f"glaucoma/p/{name}", image=[name], split="val", modality=modality, scale=0.5)
        for name, (modality, _) in SIZES.items()
    ]
    write_curated(folder, records)
    for name, (_, size) in SIZES.items():
        Image.new("RGB", size, (90, 60, 30)).save(folder / name)
    return folder


def line(modality: str = "CFP", kept: float = 1.0, tokens: int = 576) -> SeenImage:
    return SeenImage("x.png", modality, 100, 80, kept, 336, 252, 0.5, 0.25, 1.0, 1, tokens)


def test_images_are_measured_by_modality(tmp_path: Path):
    images = seen_images(calibrate(look(LLAVA)), curated(tmp_path), 10)
    assert [(i.image, i.modality) for i in images] == [(name, modality) for name, (modality, _) in SIZES.items()]
    assert [i.kept for i in images] == pytest.approx([0.75, 1, 62 / 128, 62 / 128], abs=0.01)
    assert [i.scale for i in images] == pytest.approx([336 / 96, 336 / 96, 336 / 62, 336 / 62], rel=0.01)
    assert [i.scale_original for i in images] == pytest.approx([i.scale / 2 for i in images], abs=1e-3)


def test_a_limit_draws_evenly_from_each_modality(tmp_path: Path):
    images = seen_images(calibrate(look(LLAVA)), curated(tmp_path), 1)
    assert [i.image for i in images] == ["a.png", "c.png"]


def test_a_size_is_measured_once(tmp_path: Path):
    counted: list[tuple[int, int]] = []

    def counting(picture: Image.Image) -> object:
        counted.append(picture.size)
        return look(LLAVA)(picture)

    calibrated = calibrate(counting)  # type: ignore[arg-type]
    images = seen_images(calibrated, curated(tmp_path), 10)
    assert len(counted) == 3 * (4 + 2 * 4), "three sizes: four plain images each, and four ramps along each axis"
    assert {*counted} == {size for _, size in SIZES.values()}
    assert [modality for modality, _ in sheets(calibrated, tmp_path, images, "m", 9)] == ["CFP", "OCT"]


def test_a_folder_without_images_is_refused(tmp_path: Path):
    folder = write_curated(tmp_path, [record("glaucoma/p/1", image=[], split="val")])
    with pytest.raises(BadArgument, match="records with images"):
        seen_images(calibrate(look(LLAVA)), folder, 10)


def test_the_table_has_means_and_ranges():
    rows = table([line(), line(kept=0.5, tokens=100), line("OCT")]).splitlines()
    assert rows[2] == "| CFP | 2 | 75 % (50 % to 100 %) | 336 x 252 | 0.50 | 0.25 | 1.00 | 1 | 338 (100 to 576) |"
    assert rows[3].startswith("| OCT | 1 | 100 % | 336 x 252 |")


def test_everything_is_written(tmp_path: Path):
    out = tmp_path / "out"
    images = write_views(look(LLAVA), curated(tmp_path), out, "llava", 10, 2)
    assert {file.name for file in out.iterdir()} == {"images.csv", "page.md", "CFP.png", "OCT.png"}
    with (out / "images.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [float(row["kept"]) for row in csv.DictReader(file)] == [image.kept for image in images]
    text = (out / "page.md").read_text(encoding="utf-8")
    assert text == page("llava", images) and "![OCT](OCT.png)" in text and table(images) in text
    with Image.open(out / "OCT.png") as sheet:
        assert sheet.width > 640
