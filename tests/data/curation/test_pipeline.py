import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, CurationConflict, LmodError, StrictDrops
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Question
from lmod_train.data.curation import pipeline
from lmod_train.data.curation import pipeline as results
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.journal import NAME
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.world import Discs, Folders, Glaucoma, Regions, asked, mask_file, photograph, tree, truth_of

CURATE = """
import sys
import time
from pathlib import Path
from tests.data.curation.world import Discs, Folders, Glaucoma, Regions
from lmod_train.data.curation.journal import Journal
from lmod_train.data.curation.pipeline import curate
if __name__ == "__main__":
    append = Journal.append
    def slowly(self, several):
        for one in several:
            time.sleep(0.01)  # a busy machine would miss the moment
            append(self, [one])
    Journal.append = slowly
    raw, out = Path(sys.argv[1]), Path(sys.argv[2])
    curate([Discs(raw / "d"), Folders(raw / "f")], [Regions(), Glaucoma()], out, workers=int(sys.argv[3]),
           longest_side=100, progress=False)
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    root = tmp_path_factory.mktemp("raw")
    Discs.write(root / "d", 40)
    Folders.write(root / "f", 24)
    return root


def make(raw, out, **changed):
    settings = {"longest_side": 100, "workers": 1, "progress": False} | changed
    return curate([Discs(raw / "d"), Folders(raw / "f")], [Regions(), Glaucoma()], out, **settings)


@pytest.fixture(scope="module")
def curated(raw, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated") / "out"
    make(raw, out)
    return out


def test_every_record_gives_back_the_truth(curated):
    records = read_records(curated / "records" / "regions.parquet")
    assert len(records) == 40 and [r.id for r in records] == sorted(r.id for r in records)
    for record in records:
        disc, cup = truth_of(int(record.key[-3:]))
        assert {r.structure: r.box for r in record.regions} == {"optic disc": disc, "optic cup": cup}
        assert sorted(r.id for r in record.regions) == [1, 2]
        assert record.answer == ", ".join(f"{r.id}: {r.structure}" for r in record.regions)
        assert record.image == (f"images/discs/{record.key}.marked.jpg",)
        assert record.image_plain == (f"images/discs/{record.key}.jpg",)
        assert record.scale == 100 / 160 and record.licence == "CC0" and record.task_version == 1
        assert record.task_class == "tests.data.curation.world.Regions"


def test_hashes_are_of_the_image_shown_and_sizes_are_the_curated_ones(curated):
    for record in read_records(curated / "records"):
        assert record.image_sha256 == (sha256_of(curated / record.image[0]),)
        with Image.open(curated / record.image_plain[0]) as image:
            assert image.size == (100, 75)


def test_patients_stay_whole_over_all_tasks_and_classes_are_balanced(curated):
    homes, counts = {}, {}
    for record in read_records(curated / "records"):
        assert homes.setdefault((record.source, record.group), record.split) == record.split
        if record.task == "glaucoma":
            counts.setdefault(record.split, []).append(record.answer)
    for answers in counts.values():
        assert len(set(answers)) == 1 or answers.count("GLAUCOMA") == answers.count("NORMAL")
    assert len(counts["train"]) == 34  # 17 photographs with glaucoma are in train, the rarer class


def test_the_manifest_agrees_with_the_records(curated, raw):
    manifest = read_manifest(curated)
    records = read_records(curated / "records")
    for task, splits in manifest["counts"].items():
        for name, counted in splits.items():
            own = [r for r in records if (r.task, r.split) == (task, name)]
            assert counted["records"] == len(own)
            assert counted["groups"] == len({(r.source, r.group) for r in own})
    assert manifest["sources"]["folders"]["redistributable"] is False and manifest["sources"]["discs"]["files"] == 80
    assert manifest["images"]["files"] == sum(f.is_file() for f in (curated / "images").rglob("*"))
    listed = (curated / "dropped.csv").read_text(encoding="utf-8-sig")
    assert not (curated / NAME).exists() and listed.startswith("source,key,file,step")


def test_no_record_no_image(curated):
    shown = {p for r in read_records(curated / "records") for p in (*r.image, *r.image_plain)}
    assert {f.relative_to(curated).as_posix() for f in (curated / "images").rglob("*") if f.is_file()} == shown


def test_two_workers_give_the_same_bytes(raw, curated, tmp_path):
    make(raw, tmp_path / "out", workers=2)
    assert tree(tmp_path / "out") == tree(curated)


def test_a_finished_folder_is_left_alone(raw, curated, capsys):
    before = {f: f.stat().st_mtime_ns for f in curated.rglob("*")}
    assert make(raw, curated) == read_manifest(curated)
    assert {f: f.stat().st_mtime_ns for f in curated.rglob("*")} == before
    assert "nothing to do" in capsys.readouterr().err


def test_other_settings_inputs_or_folders_are_refused_by_name(raw, curated, tmp_path):
    with pytest.raises(CurationConflict, match=r"settings\.seed: 0 -> 1"):
        make(raw, curated, seed=1)
    shutil.copytree(raw, tmp_path / "raw")
    (tmp_path / "raw" / "d" / "images" / "p003.png").unlink()
    with pytest.raises(CurationConflict, match=r"inputs\.discs\.samples: 40 -> 39"):
        make(tmp_path / "raw", curated)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(BadArgument, match="out="):
        make(raw, tmp_path / "mine")


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"balance": ["nothing"]}, "balance"), ({"copies": "keep"}, "copies"), ({"longest_side": 0}, "longest_side")],
)
def test_arguments_without_sense_are_refused(raw, tmp_path, changed, named):
    with pytest.raises(BadArgument, match=named):
        make(raw, tmp_path / "out", **changed)


def test_every_drop_is_listed_and_counted_and_strict_refuses(tmp_path):
    source = Discs.write(tmp_path / "raw", 12)
    (tmp_path / "raw" / "images" / "p001.png").write_bytes(b"no image")
    (tmp_path / "raw" / "masks" / "p002.bmp").unlink()
    photograph(tmp_path / "raw" / "images" / "p003.png", 3, size=(161, 120))
    photograph(tmp_path / "raw" / "unlabelled.png", 5)
    out = tmp_path / "out"
    with pytest.raises(StrictDrops, match="image_unreadable: 1"):
        curate([source], [Regions()], out, refusal=Refusal(strict=True), workers=1, progress=False)
    manifest = curate([source], [Regions()], out, workers=1, progress=False)
    assert manifest["dropped"] == {
        "discs": {
            "boxes": {"mask_size_differs": 1, "mask_unreadable": 1},
            "read": {"image_unreadable": 1, "no_label": 1},
        }
    }
    with (out / "dropped.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = {(r["key"], r["file"], r["reason"]) for r in csv.DictReader(file)}
    assert rows == {
        ("train/p001", "images/p001.png", "image_unreadable"),
        ("train/p002", "masks/p002.bmp", "mask_unreadable"),
        ("train/p003", "masks/p003.bmp", "mask_size_differs"),
        ("unlabelled", "unlabelled.png", "no_label"),
    }
    assert len(read_records(out / "records")) == 12 - 3
    with pytest.raises(StrictDrops):
        curate([source], [Regions()], out, refusal=Refusal(strict=True), workers=1, progress=False)


def test_strict_lets_accepted_drops_pass_and_no_other(tmp_path):
    source = Discs.write(tmp_path / "raw", 6)
    for name in ("images/p001.png", "images/p002.png"):
        (tmp_path / "raw" / name).write_bytes(b"no image")
    first, second = (("discs", f"train/p00{n}", "image_unreadable") for n in (1, 2))

    def strictly(*accepted):
        options = {"workers": 1, "progress": False}
        return curate([source], [Regions()], tmp_path / "out", refusal=Refusal(True, Counter(accepted)), **options)

    for accepted in ((), (first,), (first, first)):
        with pytest.raises(StrictDrops):
            strictly(*accepted)
    assert strictly(first, second)["dropped"] == {"discs": {"read": {"image_unreadable": 2}}}
    with pytest.raises(StrictDrops):  # of a finished folder too
        strictly(second)


def test_small_boxes_are_counted_and_a_sample_without_boxes_still_serves(tmp_path):
    source = Discs.write(tmp_path / "raw", 6)
    manifest = curate(
        [source],
        [Regions(), Glaucoma()],
        tmp_path / "out",
        box_filter=BoxFilter("side", 0.2),
        workers=1,
        progress=False,
    )
    assert manifest["dropped_boxes"] == {"discs": {"optic cup": {"too_small": 6}}}
    none = curate(
        [source],
        [Regions(), Glaucoma()],
        tmp_path / "none",
        box_filter=BoxFilter("side", 1),
        balance=[],
        workers=1,
        progress=False,
    )
    assert none["counts"]["regions"] == {}
    assert sum(c["records"] for c in none["counts"]["glaucoma"].values()) == 6
    half = curate(
        [source], [Regions()], tmp_path / "half", box_filter=BoxFilter("percentile", 50), workers=1, progress=False
    )
    assert half["dropped_boxes"] == {"discs": {"optic cup": {"too_small": 6}}}  # every cup is smaller than every disc


@pytest.fixture
def copied(tmp_path):
    """Twenty photographs, most of them one and the same file under names and groups of their own."""
    source = Folders.write(tmp_path / "f", 20)
    for i in range(2, 20):
        if i % 4:
            shutil.copy(tmp_path / "f" / "normal" / "1.png", tmp_path / "f" / "normal" / f"{i}.png")
    return source


@pytest.mark.filterwarnings("ignore:split_by='image'")
def test_copies_across_splits_are_reported_and_dropped_on_demand(copied, tmp_path):
    settings = {"split_by": "image", "workers": 1, "progress": False}
    told = curate([copied], [Glaucoma()], tmp_path / "told", **settings)
    assert told["leakage"]["counts"]["exact"]["crossing_splits"] > 0 and told["leakage"]["crossing"]
    assert (tmp_path / "told" / "leakage.csv").exists()
    dropped = curate([copied], [Glaucoma()], tmp_path / "drop", copies="drop", balance=[], **settings)
    assert dropped["dropped"]["folders"]["leakage"]["copy_in_other_split"] > 0
    homes = {}
    for record in read_records(tmp_path / "drop" / "records"):
        homes.setdefault(record.image_sha256, set()).add(record.split)
    assert all(len(h) == 1 for h in homes.values())


def test_copies_within_a_source_are_one_group_of_the_split(copied, tmp_path):
    told = curate([copied], [Glaucoma()], tmp_path / "told", balance=[], workers=1, progress=False)
    assert told["leakage"]["counts"]["exact"]["crossing_splits"] == 0 < told["leakage"]["counts"]["exact"]["pairs"]
    records = read_records(tmp_path / "told" / "records")
    assert len(records) == 20 and len({r.split for r in records}) > 1
    assert {r.group for r in records} == {"normal/1", *(f"glaucoma/{i}" for i in range(0, 20, 4))}


@pytest.fixture
def turned(tmp_path):
    """Forty photographs; 30 of the normal ones are turned copies of others, and one lies in both classes."""
    source = Folders.write(tmp_path / "f", 40)
    for i in (1, 2, 3):
        with Image.open(tmp_path / "f" / "normal" / f"{i}.png") as image:
            for k, turn in enumerate((0, 1, 3) * 3):  # mirrored, upside down, by 180 degrees
                image.transpose(Image.Transpose(turn)).save(tmp_path / "f" / "normal" / f"copy{i}_{k}.png")
    shutil.copy(tmp_path / "f" / "normal" / "5.png", tmp_path / "f" / "glaucoma" / "5.png")
    return source


def test_turned_copies_are_families_and_contradictory_labels_are_dropped(turned, tmp_path):
    out = tmp_path / "out"
    told = curate([turned], [Glaucoma()], out, balance=[], ratios=(0.5, 0.2, 0.3), workers=1, progress=False)
    assert told["leakage"]["counts"]["near"]["crossing_splits"] == 0 < told["leakage"]["counts"]["near"]["pairs"]
    assert (told["families"]["families"], told["families"]["contradictory"]) == (4, 2)
    assert told["families"]["by_size"] == {"2": 1, "10": 3}
    homes = {}
    for record in read_records(out / "records"):
        number = record.key.removeprefix("normal/copy").removeprefix("normal/").split("_")[0]
        homes.setdefault(number, set()).add((record.split, record.group))
    assert all(len(homes[str(i)]) == 1 for i in (1, 2, 3)) and "5" not in homes
    with (out / "dropped.csv").open(encoding="utf-8-sig") as file:
        dropped = list(csv.DictReader(file))
    assert {(d["key"], d["reason"]) for d in dropped} == {
        ("glaucoma/5", "contradictory_labels"),
        ("normal/5", "contradictory_labels"),
    }
    with (out / "leakage.csv").open(encoding="utf-8-sig") as file:
        pairs = list(csv.DictReader(file))
    assert [p["contradiction"] for p in pairs if p["contradiction"]] == ["diagnosis: glaucoma / normal"]
    assert {p["orientation"] for p in pairs if p["kind"] == "near"} >= {"mirrored", "upside down"}


def test_the_published_split_by_image_counts_what_crosses(turned, tmp_path):
    settings = {"balance": [], "ratios": (0.5, 0.2, 0.3), "workers": 1, "progress": False}
    with pytest.warns(UserWarning, match="published protocol"):
        told = curate([turned], [Glaucoma()], tmp_path / "out", split_by="image", **settings)
    assert told["leakage"]["counts"]["near"]["crossing_splits"] > 5
    groups = {r.group for r in read_records(tmp_path / "out" / "records")}
    assert "normal/copy1_0" in groups  # as the source gives them


def test_files_csv_tells_the_raw_files(raw, curated):
    with (curated / "files.csv").open(encoding="utf-8-sig") as file:
        rows = {(r["source"], r["key"]): r for r in csv.DictReader(file)}
    assert len(rows) == 64 and {r["type"] for r in rows.values()} == {"png"}
    assert tuple(rows["discs", "train/p003"].values())[2:] == (
        "png",
        str((raw / "d" / "images" / "p003.png").stat().st_size),
        "160",
        "120",
    )


class Twice(Glaucoma):
    name = "twice"

    def ask(self, sample):
        yield Question(self.name, asked("A?"), (), "a")
        yield Question(self.name, asked("B?"), (), "b")


def test_a_task_that_asks_twice_under_one_id_is_an_error(raw, tmp_path):
    with pytest.raises(LmodError, match="variant"):
        curate([Folders(raw / "f")], [Twice()], tmp_path / "out", workers=1, progress=False)


def test_a_second_language_has_its_own_ids_in_the_same_file(raw, tmp_path):
    curate([Folders(raw / "f")], [Glaucoma(), Glaucoma("zh")], tmp_path / "out", workers=1, progress=False)
    ids = pq.read_table(tmp_path / "out" / "records" / "glaucoma.parquet").column("id").to_pylist()
    english = {i for i in ids if not i.endswith("/zh")}
    assert {i + "/zh" for i in english} == set(ids) - english and english


def test_keys_that_cannot_be_files_are_dropped(tmp_path):
    class Odd(Folders):
        def samples(self):
            from dataclasses import replace

            one, two, three, *_ = super().samples()
            yield from (replace(one, key="../../escape"), replace(two, key="a"), replace(three, key="a"))

    manifest = curate([Odd.write(tmp_path / "f", 4)], [Glaucoma()], tmp_path / "out", workers=1, progress=False)
    assert manifest["dropped"] == {"folders": {"read": {"key_repeated": 1, "key_unusable": 1}}}


@pytest.mark.parametrize(("workers", "kills"), [(2, 2), *(pytest.param(n, 3, marks=pytest.mark.slow) for n in (1, 2))])
def test_killed_at_any_moment_it_goes_on_and_ends_the_same(raw, curated, tmp_path, workers, kills):
    out = tmp_path / "out"
    rng = np.random.default_rng(workers)
    killed, lines = 0, 0
    for target in sorted(rng.integers(1, 50, size=kills).tolist()):
        process = _start(raw, out, workers)
        while process.poll() is None and _lines(out) < target:
            time.sleep(0.002)
        killed += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert _lines(out) >= lines or (out / "manifest.json").exists()  # nothing done is done again
        lines = _lines(out)
    assert killed >= 1
    process = _start(raw, out, workers)
    assert process.wait(timeout=300) == 0
    assert tree(out) == tree(curated)


def test_the_manifest_states_the_settings_of_every_task(curated):
    stated = json.loads((curated / "manifest.json").read_text())["settings"]["tasks"]
    assert sorted(stated) == sorted(f"{task.name}/{task.language}" for task in (Regions(), Glaucoma()))


@pytest.mark.parametrize(("room", "name"), [(results, "write_records"), (results, "_sweep"), (pipeline, "write_json")])
def test_stopped_while_writing_it_ends_the_same(raw, curated, tmp_path, monkeypatch, room, name):
    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(room, name, stop)
        with pytest.raises(KeyboardInterrupt):
            make(raw, tmp_path / "out")
    (tmp_path / "out" / "images" / "discs" / ".p.jpg.7.part").write_bytes(b"half")
    make(raw, tmp_path / "out")
    assert tree(tmp_path / "out") == tree(curated)


def test_images_that_a_loss_of_power_spoilt_are_made_anew(raw, curated, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results, "write_records", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        make(raw, tmp_path / "out")
    images = sorted((tmp_path / "out" / "images").rglob("*.jpg"))
    images[0].write_bytes(b"")
    images[3].write_bytes(images[3].read_bytes()[:-1] + b"x")
    images[5].unlink()
    before = {f: f.stat().st_mtime_ns for f in images[6:]}
    make(raw, tmp_path / "out")
    assert tree(tmp_path / "out") == tree(curated)
    again = [f for f, moment in before.items() if f.exists() and f.stat().st_mtime_ns != moment]
    assert len(again) <= 6, "what was whole is not made again, but for images of the same samples"


def _start(raw, out, workers):
    return subprocess.Popen([sys.executable, "-c", CURATE, str(raw), str(out), str(workers)])


def _lines(out):
    return (out / NAME).read_bytes().count(b"\n") if (out / NAME).exists() else 0


def test_workers_need_neither_torch_nor_pyarrow():
    code = "import sys, lmod_train.data.curation.prepare, lmod_train.data.curation.workers; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "pyarrow", "pandas"} & set(loaded)


def test_the_mask_is_hashed_too(tmp_path):
    source = Discs.write(tmp_path / "raw", 4)
    first = curate([source], [Regions()], tmp_path / "a", workers=1, progress=False)
    mask_file(tmp_path / "raw" / "masks" / "p000.bmp", 9)
    second = curate([source], [Regions()], tmp_path / "b", workers=1, progress=False)
    assert first["sources"]["discs"]["sha256"] != second["sources"]["discs"]["sha256"]
