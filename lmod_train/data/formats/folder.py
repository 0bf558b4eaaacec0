"""The folder an export writes: there as a whole or not at all, with its images, its licences and what was left out."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Literal, Self

from lmod_train.core.artifacts.leaving import source_of
from lmod_train.core.artifacts.pseudonyms import key_in, keyed_hash
from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError
from lmod_train.core.escaping import for_markdown
from lmod_train.core.files import link_or_copy, make_folder
from lmod_train.core.lock import new_folder, refuse_filled
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Dropped, Record
from lmod_train.data.curation.manifest_files import write_dropped
from lmod_train.data.formats.chosen_records import Selection, licence_table

Images = Literal["copy", "link", "none"]

NOTICE: str = package_data(__file__, "texts.yaml")["notice"]
NAMES: str = package_data(__file__, "texts.yaml")["names"]


def exported_name(image: str, key: bytes = b"") -> str:
    """Return the path of an image in an export: below its source, under a hash of its path in the curated folder.

    Args:
        image: The path.
        key: Key of the hash (`lmod_train.core.artifacts.pseudonyms`); empty for images that may be passed on.

    Example:
        >>> exported_name("images/eye_diseases/cataract/1_right.jpg")
        'images/eye_diseases/1f164a836c9a1af8.jpg'
    """
    return str(PurePosixPath("images", source_of(image), _hash(image, key)).with_suffix(PurePosixPath(image).suffix))


def exported_id(id: str, key: bytes = b"") -> str:
    """Return the id of a record in an export: task and source, and a hash of the id, which holds the raw file name.

    `answers` knows a record by either.

    Example:
        >>> exported_id("four_way/eye_diseases/cataract/1_right")
        'four_way/eye_diseases/029e28dfd22dd91f'
    """
    return "/".join((*id.split("/")[:2], _hash(id, key)))


def exported_chain(chain: str, key: bytes = b"") -> str:
    """Return the name of a chain in an export: its source and a hash; empty for none."""
    return f"{chain.partition('/')[0]}/{_hash(chain, key)}" if chain else ""


def _hash(name: str, key: bytes) -> str:
    return keyed_hash(key, name) if key else hashlib.sha256(name.encode()).hexdigest()[:16]


class ExportFolder:
    """A new folder for one format; used in a ``with`` block, at whose end it appears.

    Args:
        out: Must not exist, or be empty.
        selection: What is exported.
        images: ``copy`` them, ``link`` to them (symbolic and relative, for the same machine; hard links where a name
            must not be told), or ``none``: paths stay relative to the curated folder.

    Attributes:
        out: Where the folder appears.
        path: Where to write while the block runs.
        written: Records written, counted by the format.
        key: Key of the hashes in names and ids; empty if every source may be passed on.

    Raises:
        BadArgument: `out` holds something.
        FolderBusy: Another process writes to it.
    """

    def __init__(self, out: Path, selection: Selection, images: Images = "copy") -> None:
        refuse_filled(out, "--out")
        self.out, self._selection, self.images = out, selection, images
        self._writing, self._curated = new_folder(out, "--out"), Curated(selection.curated)
        self.path = out
        self.written = 0
        self.key = b"" if all(s.redistributable for s in selection.licences) else key_in([selection.curated])[0]
        self.left_out: list[Dropped] = []
        self._placed: set[str] = set()

    def __enter__(self) -> Self:
        self.path = self._writing.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.left_out:
            write_dropped(self.path / "dropped.csv", self.left_out, {})
        if kind is None and not all(one.redistributable for one in self._selection.licences):
            named = NAMES if self.images == "none" else ""
            self.write_text("NOTICE", NOTICE + named + licence_table(self._selection.licences) + "\n")
        if kind is None:
            self._count()
        self._writing.__exit__(kind, error, trace)

    def _count(self) -> None:
        """Count the images that were placed, before the folder appears and its records are stated as written.

        Raises:
            ArtifactError: Some are not there.
        """
        lost = [name for name in map(self.name, sorted(self._placed)) if not (self.path / name).is_file()]
        if lost:
            problem = f"{len(lost)} of {len(self._placed)} images are not there after they were written, e.g. {lost[0]}"
            cure = "find out what removes files there, and export again, or to another disk: `--out DIR`"
            raise ArtifactError(self.out, f"{problem}; nothing was exported", cure)

    def name(self, image: str) -> str:
        """Return the path of an image in this folder."""
        return exported_name(image, self.key)

    def place(self, record: Record) -> list[str]:
        """Bring the images that a record shows into the folder, each once, and return their paths.

        Region questions show the image with the numbered boxes. Names are hashes: raw names and folders may give the
        answer away (``cataract/1_right``, ``g0001``), and other tools show file names to models and people.

        Raises:
            ArtifactError: An image is missing.
        """
        if self.images == "none":
            return list(record.image)
        for name in record.image:
            if name in self._placed:
                continue
            target = self.path / self.name(name)
            make_folder(target.parent)
            bare, as_stored = self._curated.bare(name)
            if self.images == "link" and as_stored and self.key:  # a symbolic link would tell the name
                link_or_copy(self._curated.file(name), target)
            elif self.images == "link" and as_stored:
                source = self._curated.file(name)
                target.symlink_to(os.path.relpath(source.resolve(), target.parent.resolve()))
            else:
                target.write_bytes(bare)
            self._placed.add(name)
        return [self.name(name) for name in record.image]

    def pixels(self, record: Record) -> list[tuple[str, bytes]]:
        """Return path and file bytes of each image that a record shows; none where images are not exported."""
        if self.images == "none":
            return []
        return [(self.name(name), self._curated.bytes(name)) for name in record.image]

    def leave_out(self, record: Record, reason: str, detail: str) -> None:
        """Count and list a record that the format cannot hold."""
        images = ", ".join(map(self.name, record.image))
        self.left_out.append(Dropped(record.source, exported_id(record.id, self.key), images, "export", reason, detail))

    def write_text(self, name: str, text: str) -> None:
        """Write a text file into the folder."""
        (self.path / name).write_text(text, encoding="utf-8")

    def describe(self, title: str, how: str, front: str = "") -> None:
        """Write README.md: how the folder is read, what is in it, and the licence of every source."""
        of = self._selection.counts.items()
        counts = [f"- {for_markdown(f'{task}: {split} {n} ({source})')}" for (task, split, source), n in of]
        pieces = [f"# {title}", how.strip(), "## Records", "\n".join(counts), "## Sources", *self._licences()]
        self.write_text("README.md", front + "\n\n".join(pieces) + "\n")

    def _licences(self) -> list[str]:
        own = not all(one.redistributable for one in self._selection.licences)
        notice = ["This folder must not be passed on; see NOTICE."] if own else []
        return [*notice, licence_table(self._selection.licences)]
