"""Read the sources, and know their inputs again at the next start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmod_train.errors import BadArgument
from lmod_train.sources.base import Source
from lmod_train.types import Dropped, Sample


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the sources hold.

    Attributes:
        samples: Sorted by source and key.
        dropped: What the sources left out, and samples whose key cannot serve.
        listing: For each source the number of samples and a fingerprint of all that a source tells, with the size of
            every file in bytes. A file changed in place without changing its size is not noticed.
    """

    samples: list[Sample]
    dropped: list[Dropped]
    listing: dict[str, Any]


def read_sources(sources: Sequence[Source]) -> Inputs:
    """Verify every source and list its samples.

    Raises:
        SourceNotFound: A layout is not as expected.
        BadArgument: Two sources have one name, or together they hold no sample.
    """
    names = [s.name for s in sources]
    if len(set(names)) < len(names):
        raise BadArgument("sources", names, "each source once", "curate the second copy into another folder")
    samples: dict[tuple[str, str], Sample] = {}
    dropped: list[Dropped] = []
    listing: dict[str, Any] = {}
    for source in sorted(sources, key=lambda s: s.name):
        source.verify()
        told = list(source.samples())
        for item in told:
            problem = item if isinstance(item, Dropped) else _unusable(item, samples)
            if problem is not None:
                dropped.append(problem)
            elif isinstance(item, Sample):
                samples[item.source, item.key] = item
        lines = sorted(json.dumps(_told(item, source.root), sort_keys=True, ensure_ascii=False) for item in told)
        digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        listing[source.name] = {"samples": sum(isinstance(i, Sample) for i in told), "listing_sha256": digest}
    if not samples:
        raise BadArgument(
            "sources", names, "at least one readable sample", "look into the folders named by their roots"
        )
    return Inputs([samples[place] for place in sorted(samples)], dropped, listing)


def relative(file: str | Path, root: Path | None) -> str:
    """Return a path relative to its source's root, with forward slashes; as it is where it lies elsewhere.

    Example:
        >>> relative("raw/refuge/a.jpg", Path("raw"))
        'refuge/a.jpg'
    """
    path = Path(file)
    if root is not None and file and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.as_posix() if file else ""


def _unusable(sample: Sample, known: Mapping[tuple[str, str], Sample]) -> Dropped | None:
    def drop(reason: str, detail: str) -> Dropped:
        return Dropped(sample.source, sample.key, str(sample.image), "read", reason, detail)

    if (sample.source, sample.key) in known:
        return drop("key_repeated", f"also the key of {known[sample.source, sample.key].image.name}")
    parts = sample.key.split("/")
    if (
        any(p in ("", ".", "..") for p in parts)
        or any(c in sample.key for c in "\\\0")
        or parts[-1].endswith(".marked")
    ):
        return drop("key_unusable", "keys become paths: no empty, dot or backslash part, no ending .marked")
    return None


def _told(item: Sample | Dropped, root: Path) -> dict[str, Any]:
    if isinstance(item, Dropped):
        return {**asdict(item), "file": relative(item.file, root)}
    row = asdict(item)
    row["image"] = _file(item.image, root)
    row["masks"] = [
        {"file": _file(m.path, root), "codings": [dict(c) for c in m.codings], "cut": asdict(m.cut)} for m in item.masks
    ]
    row["labels"] = dict(item.labels)
    return row


def _file(path: Path, root: Path) -> list[Any]:
    return [relative(path, root), path.stat().st_size if path.exists() else None]
