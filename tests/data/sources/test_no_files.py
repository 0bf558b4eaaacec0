"""A folder, link or pipe in place of a file is listed; for every source, folder and kind of file."""

import os
import shutil
from pathlib import Path

import pytest

from lmod_train.core.errors import LmodError
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.clutter import files_below
from lmod_train.data.sources.discovery import discover
from tests.drawn import drawn_sources
from tests.tabled import tabled

WORDS = ("readme", "phantom.json", "license", "data_desc")
KINDS = {"folder": Path.mkdir, "pipe": os.mkfifo, "link to itself": lambda path: path.symlink_to(path.name)}


@pytest.fixture(scope="module", params=[*drawn_sources()])
def source(request, eight, tmp_path_factory):
    raw = shutil.copytree(eight / f"of {request.param}", tmp_path_factory.mktemp("raw") / "raw")
    (found,) = discover(raw).sources
    return found


def one_of_each(root):
    """Return one file of each folder and ending, without readme files."""
    files = [p for p in files_below(root) if not p.name.lower().startswith(WORDS)]
    return list({(p.parent, p.suffix): p for p in files}.values())


def read(source):
    """Return all samples and drops of a source, read again."""
    return list(source.at(source.root).samples())


def names(source, file, whole):
    """Return whether a line of what is left out, or a sample whose files are read later, names a file; or none does."""
    try:
        items = read(source)
    except LmodError as error:
        return file.name in str(error)
    if items == whole:  # a file that is not read cannot be missed
        return True
    samples = [s for s in items if isinstance(s, Sample)]
    files = {p for s in samples for p in (s.image, *(m.path for m in s.masks), *(i.path for i in s.shared_images))}
    lines = [d for d in items if isinstance(d, Dropped)]
    named = [(Path(d.file).name, *d.key.split("/"), d.detail) for d in lines]
    return file in files or any(file.name in " ".join(texts) for texts in named)


@tabled("kind", KINDS)
def test_it_is_listed(source, kind, tmp_path):
    silent, whole = [], read(source)
    for file in one_of_each(source.root):
        kept = shutil.move(file, tmp_path / "kept")
        KINDS[kind](file)
        if not names(source, file, whole):
            silent.append(file.relative_to(source.root).as_posix())
        file.rmdir() if file.is_dir() else file.unlink()
        shutil.move(kept, file)
    assert not silent
