"""General conversations make the share of training that they should, and are not evaluated."""

from dataclasses import replace

import pytest

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.data.datamodules.records import read_conversations, replayed
from tests.tiny import record, write_curated


def talk(i, split="train", image=()):
    fields = {"task": "conversation", "modality": "", "choices": (), "split": split}
    return record(f"conversation/general/{i:02}", image=image, answer=f"It is number {i}.", **fields)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5])
def test_the_share_is_of_the_whole_epoch(share):
    n = replayed(1900, share)
    assert n / (1900 + n) == pytest.approx(share, abs=1e-3)


def test_little_is_one_and_nothing_is_none():
    assert replayed(3, 0.05) == 1 and replayed(0, 0.5) == 0 and replayed(100, 0) == 0
    for share in (1, -0.1, float("nan")):
        with pytest.raises(BadArgument, match=r"(?s)data.replay=.*0.05 to 0.2"):
            replayed(10, share)


def test_training_conversations_are_read_with_their_images(tmp_path):
    others = [talk(1, "val"), talk(2, image=["eye.png"]), talk(0), record("glaucoma/phantom/1")]
    folder = write_curated(tmp_path / "general", others)
    read = read_conversations(folder)
    assert [r.id[-2:] for r in read] == ["00", "02"]
    assert read[0].image == () and read[1].image == (str(folder / "eye.png"),)


def test_the_images_with_and_without_marks_stay_apart_and_every_one_is_found(tmp_path):
    marked, plain = ["a.marked.png", "b.png"], ("a.png", "b.png")
    folder = write_curated(tmp_path / "general", [replace(talk(0, image=marked), image_plain=plain)])
    (read,) = read_conversations(folder)
    assert read.image == tuple(str(folder / name) for name in marked)
    assert read.image_plain == tuple(str(folder / name) for name in plain)


def test_a_folder_without_conversations_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="curate"):
        read_conversations(tmp_path)
    folder = write_curated(tmp_path, [talk(1, "val"), record()])
    with pytest.raises(BadArgument, match=r"(?s)data.replay_from=.*lmod_train import"):
        read_conversations(folder)
