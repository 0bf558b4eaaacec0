import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Sample
from lmod_train.data.curation import pipeline as cluster
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.journal import NAME
from lmod_train.data.curation.pipeline import cluster_crew, curate
from lmod_train.data.curation.versions import versions
from lmod_train.data.curation.workers import run
from tests.data.curation.probe import Without
from tests.data.curation.world import Discs, Folders, Glaucoma, Regions, tree

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    """The scheduler of two worker processes on this machine."""
    from dask import config

    with (
        config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", silence_logs=50
        ) as two,
    ):
        yield two.scheduler_address


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    root = tmp_path_factory.mktemp("raw")
    Discs.write(root / "d", 24)
    Folders.write(root / "f", 12)
    (root / "d" / "images" / "p003.png").write_bytes(b"no image")
    (root / "d" / "masks" / "p004.bmp").unlink()
    return root


def make(out, **changed):
    settings = {"longest_side": 64, "box_filter": BoxFilter("percentile", 10), "progress": False} | changed
    return curate([Discs(Path("d")), Folders(Path("f"))], [Regions(), Glaucoma(), Without()], out, **settings)


def test_a_cluster_gives_the_same_bytes_as_this_machine(raw, address, tmp_path, monkeypatch):
    monkeypatch.chdir(raw)  # relative roots: the workers' working directory is another
    make(tmp_path / "here", workers=1)
    shutil.rmtree(raw / "there", ignore_errors=True)
    make(Path("there"), scheduler=address)
    one, other = (read_manifest(folder) for folder in (tmp_path / "here", raw / "there"))
    assert {n: s.pop("root") for m in (one, other) for n, s in m["sources"].items()}["discs"] == str(raw / "d")
    assert one == other and one["dropped"]["discs"] == {
        "boxes": {"mask_unreadable": 1},
        "read": {"image_unreadable": 1},
    }
    here, there = (tree(folder) for folder in (tmp_path / "here", raw / "there"))
    here.pop("manifest.json"), there.pop("manifest.json")
    assert here == there and len(here) > 40


def sample(file):
    return Sample("s", file.stem, "CFP", file, "g", "CC0")


def lengths(samples):
    return [len(s.key) for s in samples]


def die(samples):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def beacon(tmp_path):
    (tmp_path / NAME).write_text("{}")
    return tmp_path / NAME


def test_workers_that_do_not_see_the_folders_are_an_error_and_not_a_drop(address, beacon, tmp_path):
    files = [tmp_path / f"{i}.png" for i in range(20)]
    with cluster_crew(address, beacon) as crew:
        found = [n for part in run(lengths, list(map(sample, files)), crew) for n in part]
        assert sorted(found) == [1] * 10 + [2] * 10
        beacon.rename(tmp_path / "elsewhere")
        with pytest.raises(LmodError, match=r"does not see .*journal.*\nNext: give every worker"):
            list(run(lengths, [sample(files[0])], crew))
    files[7].write_bytes(b"x")
    missing = cluster.Done([1], "node7", (str(files[7]),))
    with pytest.raises(LmodError, match=r"node7 does not see .*7\.png, which is there on this machine"):
        cluster._taken(missing)
    assert cluster._taken(cluster.Done([1], "node7", (str(files[8]),))) == [1], "missing here too: a drop as ever"


def enter(address, beacon):
    with cluster_crew(address, beacon, timeout=1):
        raise AssertionError("it should not have come to this")


def test_a_scheduler_that_does_not_answer_is_said(beacon):
    with pytest.raises(BadArgument, match=r"tcp://127\.0\.0\.1:9.* within 1 s.*\n.*`dask scheduler`"):
        enter("tcp://127.0.0.1:9", beacon)
    with pytest.raises(BadArgument, match="scheduler='nonsense://x'"):
        enter("nonsense://x", beacon)


def test_a_cluster_without_workers_is_said(beacon):
    none = distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50)
    with none, pytest.raises(BadArgument, match="dask worker"):
        enter(none.scheduler_address, beacon)


def test_without_the_extra_its_name_is_given(beacon, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadArgument, match=r"pip install lmod-train\[cluster\]"):
        enter("tcp://x:1", beacon)


def test_workers_of_other_versions_are_refused(address, beacon, monkeypatch):
    monkeypatch.setattr(cluster, "versions", lambda: versions() | {"pillow": "0.1"})
    with pytest.raises(LmodError, match=r'other versions.*pillow: "0\.1" -> '):
        enter(address, beacon)


def test_a_dead_worker_says_how_to_go_on(address, beacon, tmp_path):
    with pytest.raises(LmodError, match="what is done is kept"), cluster_crew(address, beacon) as crew:
        list(run(die, [sample(tmp_path / "a.png")], crew))
