"""Every file that is removed from a raw dataset is listed, and the rest is read; for every source and kind of file."""

import shutil
from collections import Counter
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.extension import named
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.discovery import discover
from lmod_train.data.sources.gaps import gaps
from tests.drawn import drawn_folders, drawn_sources
from tests.tabled import tabled

NAMES = [*drawn_sources()]
N = {"idrid": 24}  # a photograph with each lesion in each part
FEWER, SEED = 8, 4  # as of `eight`
NOT_READ = {"LICENSE.txt", "README.dataset.txt", "README.roboflow.txt", "ReadMe", "data_summary.csv"}
NO_LIST_NAMES_IT = {
    "eye_diseases": "dataset/*/*.jpg",  # the folders are all there is
    "idrid": "2*/*/[1-4]*/*.tif",  # a photograph without such a lesion has no mask of it
}


@pytest.fixture(scope="module")
def raw(eight, tmp_path_factory):
    """A folder for each source, with phantoms in the source's own layout."""
    raw = tmp_path_factory.mktemp("raw") / "raw"
    shutil.copytree(eight, raw)
    for name, n in N.items():
        shutil.rmtree(raw / f"of {name}")
        named(drawn_folders()[name]).write(raw / f"of {name}", n, SEED, size=64, workers=0)
    return raw


def source_in(folder):
    (source,) = discover(folder).sources
    return source


def read(source):
    """Return samples by key and drops of one reading."""
    read = list(source.samples())
    samples = {item.key: item for item in read if isinstance(item, Sample)}
    return samples, [item for item in read if isinstance(item, Dropped)]


def folders_below(folder):
    for sub in (p for p in entries(folder) if p.is_dir()):
        yield sub
        yield from folders_below(sub)


def parts_of(root, name):
    """Yield every folder below a root, and of each folder the middle file of every kind."""
    cases = root / "multimodal_cases"  # no list names the cases of X-PCR
    yield from (p for p in folders_below(root) if p.name not in NOT_READ and not p.is_relative_to(cases))
    kinds = {}
    for file in (p for p in files_below(root) if p.name not in NOT_READ):
        kinds.setdefault((file.parent, file.suffix), []).append(file)
    for files in kinds.values():
        file = files[len(files) // 2]
        if not PurePosixPath(file.relative_to(root).as_posix()).match(NO_LIST_NAMES_IT.get(name, "nothing")):
            yield file


def shown_in(sample, place):
    """Return whether an image of a sample is a file or below a folder, or in the folder of its case."""
    files = [sample.image] if sample.image else [image.path for image in sample.shared_images]
    return any(f.is_relative_to(place) or (f.parent == place.parent and sample.shared_images) for f in files)


@contextmanager
def without(place: Path):
    hidden = place.with_name(f".{place.name}")  # hidden files are clutter
    place.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(place)


@tabled("name", NAMES)
def test_complete_phantoms_have_no_gaps(raw, name):
    samples, dropped = read(source_in(raw / f"of {name}"))
    n = N.get(name, FEWER)
    assert len(samples) == len(named(drawn_folders()[name]).truths(n, SEED)) >= n
    seeded = {"brset": {"missing photograph", "unreadable label"}, "ophthalwechat": {"missing image"}}  # as really
    assert {d.reason for d in dropped} == seeded.get(name, set())


@tabled("name", NAMES)
def test_every_removed_file_is_listed_and_the_rest_is_read(raw, name):
    source = source_in(raw / f"of {name}")
    samples, before = read(source)
    unlisted, lost = [], []
    for place in parts_of(source.root, name):
        where = place.relative_to(source.root).as_posix()
        everything = all(shown_in(sample, place) for sample in samples.values())
        with without(place):
            found = [s.name for s in discover(raw / f"of {name}").sources]
            if not found and everything:
                continue  # the command line lists the folder as not recognised
            try:
                left, dropped = read(source)
            except SourceNotFound:
                unlisted += [] if found == [name] else [where]  # the command line lists it, and goes on with the others
                continue
        new = Counter(dropped) - Counter(before)
        if not any(d.reason.startswith("missing ") for d in new) or new.total() > max(4, N.get(name, FEWER) // 3):
            unlisted.append((where, [(d.key, d.reason) for d in new]))
        kept = {key for key, sample in samples.items() if not shown_in(sample, place)}
        lost += [(where, key) for key in sorted(kept - left.keys())]
        assert found == [name], where
    assert unlisted == [] and lost == []


def test_a_group_without_any_is_one_entry_and_others_one_each():
    groups = {f"{part}/{n}": part for part in ("a/x", "a/y", "b") for n in range(3)}
    held = {"a/x/0", "b/0", "b/1", "b/2"}
    assert gaps(groups, held) == {"a/x/1": ["a/x/1"], "a/x/2": ["a/x/2"], "a/y": ["a/y/0", "a/y/1", "a/y/2"]}
    assert gaps(groups, held - {"a/x/0"}) == {"a": [key for key in groups if key[0] == "a"]}
    assert gaps(groups, set()) == {"all": list(groups)}
    assert gaps({"only": ""}, set()) == {"only": ["only"]} and gaps({}, set()) == {}
