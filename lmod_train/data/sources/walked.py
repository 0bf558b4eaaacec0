"""Base class of the sources that sort all files of their folders first, and then yield photographs one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from lmod_train.core.types import Dropped, Sample, SampleStream
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.clutter import files_below
from lmod_train.data.sources.spelling import plain_name

DISC_AND_CUP: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)},  # 1 is the rim: the disc is rim and cup
    {"background": (0,), "optic disc": (128, 255), "optic cup": (255,)},
)
"""Codings of masks of disc and cup, in which copies of ORIGA and G1020 circulate."""

_COPIES = ("_cropped", "_square")


class Found(Protocol):
    """The files that one pass over the folders has found."""

    dropped: list[Dropped]


FoundT = TypeVar("FoundT", bound=Found)


class WalkedSource(Source, Generic[FoundT]):
    """A source of photographs whose masks, tables and outlines are found by one pass over all files."""

    @abstractmethod
    def _walk(self) -> FoundT:
        """Return the files below the root, sorted by kind.

        Raises:
            SourceNotFound: There is no photograph; the message prints the expected tree.
        """

    @abstractmethod
    def _photographs(self, found: FoundT) -> Iterable[tuple[str, Path]]:
        """Yield key and file of every photograph, in the order of the samples; keys may repeat."""

    @abstractmethod
    def _sample(self, key: str, file: Path, found: FoundT) -> Sample:
        """Return the sample of one photograph."""

    @abstractmethod
    def _gaps(self, taken: Mapping[str, Sample], found: FoundT) -> Iterator[Dropped]:
        """Yield an entry for everything that is missing, given the samples by key."""

    def verify(self) -> None:
        """Check that there is at least one photograph.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        self._walk()

    def samples(self) -> SampleStream:
        """Yield the photographs in a fixed order, then a `Dropped` for each unused file and each gap.

        Raises:
            SourceNotFound: As `verify`.
        """
        found = self._walk()
        files: dict[str, Path] = {}
        taken: dict[str, Sample] = {}
        for key, file in self._photographs(found):
            if self._keep_first(files, key, file, found.dropped):
                taken[key] = self._sample(key, file, found)
                yield taken[key]
        yield from found.dropped
        yield from self._gaps(taken, found)


def files_with_folders(base: Path | None) -> Iterator[tuple[Path, list[str]]]:
    """Yield every file below a folder with the plain names of its folders, outermost first; nothing for None.

    The copies that Kaggle derives from the images, in folders ``*_Cropped`` and ``*_Square``, are skipped: their pixels
    do not match masks and outlines.
    """
    if base is None:
        return
    for file in files_below(base):
        folders = [plain_name(name) for name in file.relative_to(base).parts[:-1]]
        if not any(name.endswith(_COPIES) for name in folders):
            yield file, folders
