"""The checks of training records, of their images and of the balance of answers."""

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.types import Message, Part
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.doctor.data import FLAT, SHOWN, balance, is_blank, looked_at, problems, records
from lmod_train.training.doctor.subject import Subject
from tests.tiny import hashed, record
from tests.tiny import write_curated as written

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


def made(n, rare=0):
    """Return `n` records, the last `rare` of them with the second answer."""
    return [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i >= n - rare]) for i in range(n)]


def write_curated(folder, asked):
    return written(folder, asked, side=40)


def subject(folder, asked, images=0, **data):
    """Return the subject of records whose images are the files that are there now."""
    present = [hashed(folder, r) if all((folder / n).is_file() for n in r.image) else r for r in asked]
    held = SimpleNamespace(images=Curated(folder), training=lambda: present)
    return Subject({"data": data}, data=held, images=images)


def test_sound_records_are_counted(tmp_path):
    (only,) = records(subject(write_curated(tmp_path, made(3)), made(3)))
    assert (only.level, only.what) == ("ok", "3 records, 3 images decoded, 0% without an image")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (replace(record(), image=()), "1 image placeholder(s) for 0 image(s)"),
        (replace(record(image=["a.png", "b.png"]), image=("a.png",)), "2 image placeholder(s) for 1 image(s)"),
        (record(answer=" \n"), "no reference answer"),
        (replace(record(), messages=()), "turns none"),
        (
            replace(record(image=()), messages=(Message("user", (Part("text", "a"),)),) * 2),
            "turns user, user; expected user and assistant alternating",
        ),
    ],
    ids=["places", "several", "answer", "none", "turns"],
)
def test_a_record_that_is_not_well_formed_is_reported(broken, message):
    assert any(message in problem for problem in problems(broken))
    assert problems(record()) == problems(record(image=["a.png", "b.png"])) == []


def test_earlier_turns_and_a_system_message_are_valid():
    turns = [Message(role, (Part("text", role),)) for role in ("system", "user", "assistant", "user")]
    assert problems(replace(record(image=()), messages=tuple(turns))) == []


def test_images_that_cannot_be_read_fail_and_the_first_are_listed(tmp_path):
    asked = made(8)
    write_curated(tmp_path, asked)
    for i in range(7):
        (tmp_path / f"{i}.png").unlink()
    seen = looked_at(Curated(tmp_path), [f"{i}.png" for i in range(8)]).values()
    assert sum(bool(one.unread) for one in seen) == 7 and not any(one.blank or one.small for one in seen)
    (failed,) = records(subject(tmp_path, asked))
    assert failed.level == "fail" and failed.what.startswith("7 images that cannot be read")
    assert failed.what.endswith(f"and {7 - SHOWN} more")


@pytest.mark.parametrize(("suffix", "side"), [("jpg", 900), ("png", 90)])
def test_what_an_image_shows_is_that_of_its_whole_decoding(tmp_path, suffix, side):
    random = np.random.default_rng(0)
    drawn = {}
    for most in range(2 * FLAT + 6):  # one colour with differences of up to `most`, wholly and in a speck alone
        pixels = np.full((side + 200, side, 3), 100, np.uint8)
        speck = pixels.copy()
        pixels += random.integers(0, most + 1, pixels.shape, dtype=np.uint8)
        speck[side // 2, side // 3] += 12 * most
        drawn |= {f"{most}.{suffix}": pixels, f"speck-{most}.{suffix}": speck}
    drawn[f"small.{suffix}"] = random.integers(0, 255, (31, 500, 3), np.uint8)
    for name, pixels in drawn.items():
        Image.fromarray(pixels).save(tmp_path / name, quality=95, subsampling=0)
    whole = (tmp_path / f"5.{suffix}").read_bytes()
    (tmp_path / f"cut.{suffix}").write_bytes(whole[: len(whole) * 9 // 10])
    seen = looked_at(Curated(tmp_path), [*drawn, f"cut.{suffix}"])
    for name in drawn:
        picture, one = Curated(tmp_path).rgb(name), seen[name]
        assert (one.blank, one.small) == (is_blank(picture), "small" in name) and not one.unread, name
        assert one.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert {True, False} == {one.blank for one in seen.values()} and "cannot be read" in seen[f"cut.{suffix}"].unread


def test_only_the_configured_number_of_images_is_opened_and_reported(tmp_path):
    asked = made(8)
    write_curated(tmp_path, asked)
    (tmp_path / "1.png").unlink()
    (only,) = records(subject(tmp_path, asked, images=4))  # 0, 2, 4, 6
    assert (only.level, only.what) == ("ok", "8 records, 4 of 8 images decoded, 0% without an image")
    assert [f.level for f in records(subject(tmp_path, asked, images=9))] == ["fail"]


def test_replayed_conversations_are_checked_too(tmp_path):
    own, general = tmp_path / "own", tmp_path / "general"
    for folder in (own, general):
        folder.mkdir()
    write_curated(own, made(2))
    write_curated(general, [record("conversation/g/1", task="conversation", image=["talk.png"])])
    (general / "talk.png").write_bytes(b"no picture")
    data = RecordsDataModule(own, [Glaucoma()], replay=0.5, replay_from=general)
    data.setup("fit")
    (failed,) = records(Subject({}, data=data))
    assert failed.level == "fail" and "talk.png" in failed.what


def test_no_records_fail_and_no_images_warn(tmp_path):
    assert [f.level for f in records(subject(tmp_path, []))] == ["fail"]
    assert [f.level for f in records(subject(tmp_path, [record(image=())]))] == ["ok", "warn"]


@pytest.mark.parametrize(("rare", "drawn", "level"), [(1, "none", "warn"), (1, "class", "ok"), (5, "none", "ok")])
def test_a_majority_answer_warns_unless_classes_are_drawn_evenly(tmp_path, rare, drawn, level):
    (only,) = balance(subject(tmp_path, made(10, rare), balance=drawn))
    assert only.level == level
    if level == "warn":
        assert only.what == "glaucoma: 90% 'glaucoma'" and "--data.balance class" in only.cure


def test_a_majority_answer_of_a_task_without_choices_warns_though_classes_are_drawn_evenly(tmp_path):
    asked = [replace(r, choices=()) for r in made(10, 1)]
    (only,) = balance(subject(tmp_path, asked, balance="class"))
    assert only.level == "warn" and only.what == "glaucoma: 90% 'glaucoma'" and "the task has no classes" in only.cure


@pytest.mark.parametrize(("blank", "level"), [(0, None), (1, "warn"), (2, "warn"), (3, "fail"), (20, "fail")])
@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_images_of_one_colour_are_reported(tmp_path, blank, level, suffix):
    asked = [record(f"glaucoma/p/{i}", image=[f"{i}.{suffix}"]) for i in range(20)]
    write_curated(tmp_path, asked)
    for i in range(blank):
        Image.new("RGB", (40, 40), (9 * i, 40, 200)).save(tmp_path / f"{i}.{suffix}")
    found = [f for f in records(subject(tmp_path, asked)) if "single colour" in f.what]
    assert [f.level for f in found] == ([level] if level else [])
    assert not found or found[0].what.startswith(f"{blank} of 20 images")


@pytest.mark.parametrize(("small", "level"), [(0, None), (2, None), (3, "warn"), (20, "warn")])
def test_thumbnails_are_reported(tmp_path, small, level):
    asked = made(20)
    write_curated(tmp_path, asked)
    for i in range(small):
        Image.linear_gradient("L").resize((31, 90)).save(tmp_path / f"{i}.png")
    found = [f for f in records(subject(tmp_path, asked)) if "lower than" in f.what]
    assert [f.level for f in found] == ([level] if level else [])


def test_files_that_are_not_those_that_were_curated_fail(tmp_path):
    asked = made(3)
    write_curated(tmp_path, asked)
    examined = subject(tmp_path, asked)
    files = [tmp_path / f"{i}.png" for i in range(3)]
    content = [file.read_bytes() for file in files]
    for file, other in zip(files, [*content[1:], content[0]], strict=True):
        file.write_bytes(other)
    (failed,) = records(examined)
    assert failed.level == "fail" and failed.what.startswith("3 images that are not the files that were curated")
    assert "0.png (record glaucoma/p/0)" in failed.what


@pytest.mark.parametrize(("n", "drawn", "warned"), [(50, "class", True), (40, "class", False), (50, "none", False)])
def test_a_record_that_is_repeated_more_than_twenty_times_an_epoch_warns(tmp_path, n, drawn, warned):
    found = [f for f in balance(subject(tmp_path, made(n, 1), balance=drawn)) if "times an epoch" in f.what]
    assert [f.what for f in found] == ["glaucoma, NON-GLAUCOMA: each of 1 records is drawn 25 times an epoch"] * warned
