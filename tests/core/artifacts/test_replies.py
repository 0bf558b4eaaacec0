"""The reply file: what was said is there after every kill, and nothing damaged passes."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lmod_train.core import raw
from lmod_train.core.artifacts import replies
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import Reply
from tests.tabled import tabled

REPLY = Reply(
    id="a", reply='视盘 "quoted"\r\n\u2028\t{"a": 1}', finish_reason="length", error="", rendered="<s>USER: 图\n",
    step=120, tokens_in=700, tokens_out=12, seconds=0.125, model="small_base", settings='{"max_new_tokens": 64}',
    likelihoods={"视盘": -0.25, "视杯": -1.5}, asked="ef",
)  # fmt: skip


def append(file: Path, *several: Reply) -> None:
    replies_file = replies.ReplyFile(file)
    replies_file.append(several)
    replies_file.close()


def test_replies_come_back_as_they_went(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", REPLY, replace(REPLY, id="b", likelihoods={}))
    append(tmp_path / "rank-1.jsonl", replace(REPLY, id="c", error="timeout", finish_reason="error"))
    found = replies.read_replies(tmp_path)
    assert list(found) == [("a", 120, "ef"), ("b", 120, "ef"), ("c", 120, "ef")]
    assert found["a", 120, "ef"] == REPLY
    assert found["c", 120, "ef"].error == "timeout"
    lines = (tmp_path / "rank-0.jsonl").read_bytes().split(b"\n")
    assert len(lines) == 3 and json.loads(lines[0]) == asdict(REPLY) and "视盘".encode() in lines[0]


def test_no_folder_is_no_reply(tmp_path: Path):
    assert replies.read_replies(tmp_path / "nowhere") == {}


def test_the_last_line_of_a_key_wins_and_steps_are_apart(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", Reply("a", "old"), Reply("a", "tuned", step=9), Reply("a", "new"))
    append(tmp_path / "rank-1.jsonl", Reply("b", "b"))
    append(tmp_path / "rank-0.jsonl", Reply("a", "newest"))
    found = replies.read_replies(tmp_path)
    assert {key: r.reply for key, r in found.items()} == {
        ("a", 0, ""): "newest",
        ("a", 9, ""): "tuned",
        ("b", 0, ""): "b",
    }


@tabled("cut", [1, 2, 20, 10_000])
def test_a_torn_last_line_is_passed_over_and_cut_before_the_next(cut: int, tmp_path: Path):
    """A kill in the middle of a write; a cut of 1 takes the newline only, and then the reply is still whole."""
    file = tmp_path / "rank-0.jsonl"
    append(file, Reply("a", "first"), Reply("b", "视盘"))
    whole = file.read_bytes()
    start = whole.find(b"\n") + 1
    file.write_bytes(whole[: max(len(whole) - cut, start)])
    kept = {("a", 0, ""), ("b", 0, "")} if cut == 1 else {("a", 0, "")}
    assert set(replies.read_replies(tmp_path)) == kept
    append(file, Reply("c", "third"))
    assert set(replies.read_replies(tmp_path)) == kept | {("c", 0, "")}
    assert file.read_bytes() == b"".join(
        replies.reply_line(r).encode()
        for r in (Reply("a", "first"), Reply("b", "视盘"), Reply("c", "third"))
        if (r.id, 0, "") in kept | {("c", 0, "")}
    )


def test_a_character_torn_in_two_is_a_torn_line(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", Reply("a", "x"))
    with (tmp_path / "rank-0.jsonl").open("ab") as file:
        file.write('{"id": "b", "reply": "视'.encode()[:-1])
    assert set(replies.read_replies(tmp_path)) == {("a", 0, "")}


@tabled("damaged", [b'{"id": "b", "rep', b"[1, 2]", b'{"reply": "no id"}', b'{"id": [1], "reply": "x"}', b"\xff\xfe"])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(damaged: bytes, tmp_path: Path):
    file = tmp_path / "rank-3.jsonl"
    lines = [replies.reply_line(Reply(i, "x")).encode() for i in "ac"]
    file.write_bytes(lines[0] + damaged + b"\n" + lines[1])
    with pytest.raises(ArtifactError, match=r"rank-3.jsonl: line 2 is not a reply") as refused:
        replies.read_replies(tmp_path)
    assert str(refused.value).endswith("Next: delete line 2")


def test_a_field_that_no_reply_has_is_refused(tmp_path: Path):
    (tmp_path / "rank-0.jsonl").write_text('{"id": "a", "reply": "YES", "more": 1}\n')
    with pytest.raises(ArtifactError, match=r"line 1 is not a reply \(.*'more'"):
        replies.read_replies(tmp_path)


def test_what_was_asked_keeps_replies_apart(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", Reply("a", "old"), Reply("a", "now", asked="x"), Reply("a", "then", asked="y"))
    found = replies.read_replies(tmp_path)
    assert {key: r.reply for key, r in found.items()} == {
        ("a", 0, ""): "old",
        ("a", 0, "x"): "now",
        ("a", 0, "y"): "then",
    }


def test_a_failure_displaces_no_reply_whichever_file_comes_last(tmp_path: Path):
    """Two processes failed on one record each; the run went on with one process, which answers both into its file."""
    append(tmp_path / "rank-0.jsonl", Reply("a", "", "error", "down"), Reply("a", "yes"), Reply("b", "no"))
    append(tmp_path / "rank-1.jsonl", Reply("b", "", "error", "down"), Reply("c", "", "error", "one"))
    append(tmp_path / "rank-2.jsonl", Reply("c", "", "error", "two"))
    found = replies.read_replies(tmp_path)
    assert [(r.reply, r.error) for r in found.values()] == [("yes", ""), ("no", ""), ("", "two")]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "MOST_LINE", 2**20)


@pytest.mark.usefixtures("short")
@tabled("place", [0, 1, 2])
def test_a_line_that_is_too_long_is_named_and_never_held_whole(place: int, tmp_path: Path):
    lines = [replies.reply_line(Reply(i, "x")).encode() for i in "ab"]
    lines.insert(place, replies.reply_line(Reply("c", "y" * 2**26)).encode())
    (tmp_path / "rank-0.jsonl").write_bytes(b"".join(lines))
    del lines
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match=rf"line {place + 1} is not a reply \(more than 1,048,576 bytes\)"):
            replies.read_replies(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("short")
@tabled("left", [b"x" * 2**26, b'{"id": "b"', b""])
def test_a_run_goes_on_behind_a_last_line_that_was_not_finished(left: bytes, tmp_path: Path):
    first, second = Reply("a", "first"), Reply("b", "second")
    (tmp_path / "rank-0.jsonl").write_bytes(replies.reply_line(first).encode() + left)
    assert list(replies.read_replies(tmp_path).values()) == [first]
    tracemalloc.start()
    append(tmp_path / "rank-0.jsonl", second)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert list(replies.read_replies(tmp_path).values()) == [first, second] and peak < 2**23


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", REPLY)
    (tmp_path / "rank-1.jsonl").mkdir()
    with pytest.raises(ArtifactError, match=r"rank-1\.jsonl: a folder, expected a file\nNext: move this folder out of"):
        replies.read_replies(tmp_path)
