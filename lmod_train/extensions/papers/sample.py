"""The authors' sample of LMOD+ on the Hugging Face hub: images with their boxes drawn, and the types of these."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Box, Cut, Question, Region, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries
from lmod_train.data.sources.row_ids import BadRow, id_of
from lmod_train.tasks.anatomy import OPTIONS, PROMPTS, term_name
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.prompt import prompt

COLUMNS = {"image_id", "dataset", "modality", "image_type", "image", "bboxes"}

_TREE = "  <root>/data/train-00000-of-00001.parquet        (or *.parquet in <root>), with image_id, image and bboxes"


class LmodPlusSample(Source):
    """The rows of LMOD-Plus-Sample; keys are data set and image id, e.g. ``Cataract-1K/case5013_03``.

    Each row is a ready question of the task ``anatomy`` about its image as it is, in LMOD+'s words with the row's own
    type of image. The name of the source tells it apart from records of the data sets themselves. The public page shows
    rows of Cataract-1K alone, whose operation (``case5013``) is the group; the files were not at hand.

    Args:
        root: Folder of the data set.
        numbers: ``order`` states that the first of the row's boxes has the number 1 on the image, and so on. No column
            states the numbers, and no image was seen, so that it must be stated.
    """

    name = "lmod_plus_sample"
    modality = "SS+OCT+SLO+LP+CFP"
    licence = "CC BY 4.0 by its page; the data sets that its images are from keep their own licences"
    redistributable = False
    reference = "https://huggingface.co/datasets/Euanyu/LMOD-Plus-Sample"

    def __init__(self, root: Path = UNPLACED, numbers: Literal["", "order"] = "") -> None:
        super().__init__(root)
        self.numbers = numbers

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether a Parquet file of this folder, or of its folder ``data``, has the columns of the rows."""
        return any(_tables(folder))

    def verify(self) -> None:
        """Check that there is a table, and that it is stated which number each box has.

        Raises:
            SourceNotFound: There is no table.
            BadArgument: The numbers are not stated.
        """
        if not any(_tables(self.root)):
            raise SourceNotFound(self.name, self.root, "a table with image_id, image and bboxes", _TREE)
        if not self.numbers:
            expected = (
                "`order`: look at an image whether the first box of its row has the number 1, which no column states"
            )
            cure = "if so, `python -m lmod_train curate --config lmod_plus_sample --raw RAW --out CURATED`"
            raise BadArgument(f"{self.name}.numbers", self.numbers, expected, cure)

    def samples(self) -> SampleStream:
        """Yield a sample a row, in the order of the tables, and a `Dropped` for each row that cannot be used."""
        self.verify()
        first: dict[str, int] = {}
        for table in _tables(self.root):
            batches = pq.ParquetFile(table).iter_batches(16, columns=sorted(COLUMNS))
            for place, row in enumerate(row for batch in batches for row in batch.to_pylist()):
                try:
                    sample = self._sample(row, table, place)
                    if first.setdefault(sample.key, place) != place:
                        raise BadRow("same id twice", f"the id of row {first[sample.key] + 1} too")
                    yield sample
                except BadRow as error:
                    yield self._drop(
                        table, error.reason, f"row {place + 1}: {error.detail}", f"{table.name}: row {place + 1}"
                    )

    def account(self, samples: Iterable[Sample]) -> Mapping[str, Any]:
        """Return the number of images, and those that paper and project page state."""
        return {"images": {"here": len(list(samples)), "paper": 1000, "project page": 1076}}

    def _sample(self, row: Mapping[str, Any], table: Path, place: int) -> Sample:
        name, modality = id_of(row["image_id"]), str(row["modality"])
        if modality not in OPTIONS:
            raise BadRow("unknown modality", f"{modality[:60]!r}, expected one of {self.modality.replace('+', ', ')}")
        regions = tuple(_regions(row["bboxes"], _size(row["image"]), OPTIONS[modality]))
        answer = "\n".join(f"Region ID: {region.id}; Type: {option}" for region, option in regions)
        words = PROMPTS["lmod_plus"].replace("<IMAGE TYPE>", str(row["image_type"])[:200])
        choices = tuple(OPTIONS[modality])
        text = words.replace("<OPTIONS>", ", ".join(choices))
        asked = Question("anatomy", prompt(text), choices, answer, regions=tuple(region for region, _ in regions))
        key, group = f"{id_of(row['dataset'])}/{name}", name.rpartition("_")[0] or name
        cut = Cut(column="image", row=place)
        return Sample(self.name, key, modality, table, group, self.licence, cut=cut, asked=(asked,))


def _tables(folder: Path) -> Iterator[Path]:
    for file in (*entries(folder), *entries(folder / "data")):
        if file.suffix.lower() == ".parquet" and file.is_file():
            try:
                known = set(pq.read_schema(file).names) >= COLUMNS
            except (OSError, ValueError, pa.ArrowException):
                continue
            if known:
                yield file


def _size(image: Any) -> tuple[int, int]:
    try:
        with Image.open(io.BytesIO(image["bytes"])) as opened:
            return opened.size
    except (OSError, ValueError, TypeError, KeyError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadRow("unreadable image", type(error).__name__) from error


def _regions(boxes: Any, size: tuple[int, int], options: Sequence[str]) -> Iterator[tuple[Region, str]]:
    """Yield each box with its number and the option of its type; its corners are shares of the image's sides."""
    if not isinstance(boxes, list) or not boxes:
        raise BadRow("no box", f"{str(boxes)[:60]}, expected a list")
    for number, box in enumerate(boxes, 1):
        kind = str(box.get("region_type")) if isinstance(box, dict) else ""
        option = next((option for option in options if plain(option) == plain(kind) or term_name(option) == kind), None)
        corners = [box.get(name) for name in ("xmin", "ymin", "xmax", "ymax")] if option else []
        if option is None or not all(isinstance(c, float | int) and -1e-6 <= c <= 1 + 1e-6 for c in corners):
            detail = f"box {number}, {str(box)[:100]}; expected corners from 0 to 1, and one of {options}"
            raise BadRow("unusable box", detail)
        x0, y0, x1, y1 = (round(corner * size[place % 2]) for place, corner in enumerate(corners))
        if x0 >= x1 or y0 >= y1:
            raise BadRow("unusable box", f"box {number} is empty: {str(box)[:100]}")
        yield Region(term_name(option), Box(x0, y0, x1, y1), number), option
