"""The clinic's folder: ``grades.csv`` with a row a photograph, and photographs."""

import random
from pathlib import Path

from PIL import Image

from lmod_train import Sample, SampleStream, Source, SourceNotFound, read_sheet


class RetinaGrades(Source):
    """One photograph a row; the label ``clinic_grade`` is none, mild or severe."""

    name = "retina_grades"
    modality = "CFP"
    licence = "CC0-1.0"
    redistributable = True
    reference = "https://example.org/grades"
    _TREE = "  <root>/grades.csv\n  <root>/photographs/*.png"

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        return (folder / "grades.csv").is_file() and (folder / "photographs").is_dir()

    def verify(self) -> None:
        if not self.found_in(self.root):
            raise SourceNotFound(self.name, self.root, "grades.csv or photographs/", self._TREE)

    def samples(self) -> SampleStream:
        self.verify()
        for row in read_sheet(self.root / "grades.csv", "photograph"):
            file, labels = self.root / "photographs" / row["photograph"], {"clinic_grade": row["grade"]}
            yield Sample(self.name, file.stem, self.modality, file, row["patient"], self.licence, labels=labels)


def write(out: Path, n: int, seed: int) -> None:
    """Draw the folder: noise, and the more red the worse the grade."""
    (out / "grades" / "photographs").mkdir(parents=True)
    rows = ["photograph,patient,grade"]
    for i in range(n):
        image = Image.frombytes("RGB", (16, 16), random.Random(f"{seed} {i}").randbytes(768)).resize((128, 128))
        image.paste((220, 20, 20), (0, 0, 40 * (i % 3), 128))
        image.save(out / "grades" / "photographs" / f"{i}.png")
        rows.append(f"{i}.png,patient {i // 2},{('none', 'mild', 'severe')[i % 3]}")
    (out / "grades" / "grades.csv").write_text("\n".join(rows), encoding="utf-8")
