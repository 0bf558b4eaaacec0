"""The command ``retina-grades count``."""

from collections import Counter
from pathlib import Path

from lmod_train import read_records


def count(curated: Path) -> None:
    """Count the grades of a curated folder.

    Args:
        curated: Folder written by `curate`.
    """
    counts = Counter(record.answer for record in read_records(curated / "records" / "clinic_grade.parquet"))
    print(", ".join(f"{grade} {n}" for grade, n in sorted(counts.items())))
