"""A backend that reads ahead, through the one evaluation path: out of order, failing, killed, and continued."""

import json
import os
import signal
from pathlib import Path

import pytest
from lightning import Callback

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.types import Batch, Identity, Reply, StreamResponder
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import StreamBackend
from lmod_train.models.modules.frozen import Answered, Frozen, answered
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.generation import GenerationEval
from tests import forks
from tests.tiny import record, trainer, write_curated

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
RECORDS = [record(f"glaucoma/p/{i:02}", image=[f"{i}.png"], answer=WORDS[i % 2], split="val") for i in range(20)]
IDS = [r.id for r in RECORDS]
AHEAD = 6  # records that wait at once, at least


def collate(records, root):
    return Batch(records)


class Scripted(StreamBackend):
    """Lets `AHEAD` records wait, answers the last of them first, and fails or breaks down where it is written."""

    def __init__(self, fails=(), dies_after=None, die=None):
        self.collate, self.fails, self.dies_after, self.die = collate, fails, dies_after, die
        self.read, self.said, self.prepared = [], [], 0

    def prepare(self, device):
        self.prepared += 1

    def identity(self):
        return Identity()

    def respond_stream(self, batches):
        assert self.prepared
        waiting = []
        for batch in batches:
            assert len(batch), "empty batches are not handed over"
            self.read += [r.id for r in batch.records]
            waiting += batch.records
            while len(waiting) > AHEAD:
                yield self._reply(waiting.pop())
        while waiting:
            yield self._reply(waiting.pop())

    def _reply(self, one):
        if len(self.said) == self.dies_after:
            self.die()
        self.said.append(one.id)
        failed = one.id in self.fails
        return Reply(one.id, "", "error", "the server is down") if failed else Reply(one.id, one.answer)


class Watch(Callback):
    """Notes how many replies are on the disk when each one comes, and how many records had been read."""

    def __init__(self, backend):
        self.backend, self.seen = backend, []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        lines = (Path(trainer.default_root_dir) / "replies" / "rank-0.jsonl").read_text().splitlines()
        self.seen.append((len(lines), len(self.backend.said), len(self.backend.read)))


@pytest.fixture
def folder(tmp_path):
    return write_curated(tmp_path / "curated", RECORDS)


def evaluate(folder, run, backend, command="validate", **options):
    watch = Watch(backend)
    quick = trainer(run, callbacks=[GenerationEval(), watch], **options)
    data = RecordsDataModule(folder, [Glaucoma()], eval_batch_size=4, split="val")
    getattr(quick, command)(Frozen(backend), datamodule=data)
    return watch.seen, {k: float(v) for k, v in quick.callback_metrics.items()}


def saved(run):
    return {id: reply for (id, _, _), reply in read_replies(run / "replies").items()}


def test_every_record_is_answered_once_out_of_order_and_written_as_it_comes(folder, tmp_path):
    backend = Scripted()
    seen, logged = evaluate(folder, tmp_path / "run", backend)
    assert sorted(backend.said) == sorted(backend.read) == IDS and backend.said != IDS
    assert [(on_disk, given) for on_disk, given, _ in seen] == [(n, n) for n in range(1, 21)], "one at a time"
    assert seen[0][2] == 8, "two batches were read before the first reply"
    lines = (tmp_path / "run" / "replies" / "rank-0.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == backend.said
    assert logged["val/glaucoma/accuracy_strict"] == 1 and backend.prepared == 1


@pytest.mark.parametrize("command", ["test", "predict"])
def test_other_commands_read_ahead_too(folder, tmp_path, command):
    backend = Scripted()
    evaluate(folder, tmp_path / "run", backend, command)
    assert sorted(saved(tmp_path / "run")) == IDS


def test_what_failed_is_asked_again_and_nothing_else(folder, tmp_path):
    _, logged = evaluate(folder, tmp_path / "run", Scripted(fails=IDS[3:6]))
    assert logged["val/glaucoma/share_failed"] == pytest.approx(3 / 20)
    again = Scripted()
    _, logged = evaluate(folder, tmp_path / "run", again)
    assert sorted(again.read) == IDS[3:6] and logged["val/glaucoma/share_failed"] == 0
    last = Scripted()
    evaluate(folder, tmp_path / "run", last)
    assert last.read == []


class BrokenError(Exception): ...


def fails():
    raise BrokenError


def test_a_run_that_broke_down_goes_on_with_what_was_in_flight(folder, tmp_path):
    first = Scripted(dies_after=7, die=fails)
    with pytest.raises(BrokenError):
        evaluate(folder, tmp_path / "run", first)
    assert sorted(saved(tmp_path / "run")) == sorted(first.said) and len(first.said) == 7 < len(first.read)
    second = Scripted()
    _, logged = evaluate(folder, tmp_path / "run", second)
    assert sorted(second.read) == sorted(set(IDS) - set(first.said))
    assert logged == evaluate(folder, tmp_path / "whole", Scripted())[1]


def killed(folder, run):
    """In a process of its own: evaluate, and be killed before the twelfth reply."""
    evaluate(folder, run, Scripted(dies_after=11, die=lambda: os.kill(os.getpid(), signal.SIGKILL)))


def test_a_killed_process_loses_only_what_was_in_flight(folder, tmp_path):
    code = (
        "import sys, pathlib; from tests.models.backends.test_stream import killed\n"
        "killed(*map(pathlib.Path, sys.argv[1:]))"
    )
    ended = forks.run(["-c", code, folder, tmp_path / "run"], tmp_path)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-800:]
    assert len(saved(tmp_path / "run")) == 11
    rest = Scripted()
    evaluate(folder, tmp_path / "run", rest)
    assert len(rest.read) == 9 and sorted(saved(tmp_path / "run")) == IDS


def test_a_limit_counts_questions(folder, tmp_path):
    evaluate(folder, tmp_path / "run", Scripted(), limit_val_batches=5)
    assert len(saved(tmp_path / "run")) == 5


class Strange(Scripted):
    """Replies as it is written."""

    def __init__(self, ids):
        super().__init__()
        self.ids = ids

    def respond_stream(self, batches):
        next(batches)
        yield from (Reply(id, "x") for id in self.ids)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["0", "7"], "a reply to 7, which has no reply pending"),
        (["0", "0"], "a reply to 0, which has no reply pending"),
        (["0"], "ended without a reply to 1"),
        (["1", "0"], "ended without a reply to 2"),
    ],
)
def test_a_stream_that_answers_too_much_or_too_little_is_found_out(ids, message):
    batches = [Batch([record("0"), record("1")]), Batch([record("2")])]
    with pytest.raises(RuntimeError, match=f"Strange: .*{message}"):
        list(answered(Strange(ids), batches))


def test_a_record_that_was_not_read_is_not_replied_to():
    with pytest.raises(RuntimeError, match="a reply to 2, which has no reply pending"):
        list(answered(Strange(["0", "2"]), [Batch([record("0")]), Batch([record("2")])]))


def test_a_stream_backend_answers_a_single_batch_too():
    backend = Scripted()
    backend.prepare("cpu")
    assert isinstance(backend, StreamResponder)
    replies = backend.respond(Batch(RECORDS[:3]))
    assert sorted(r.id for r in replies) == IDS[:3]


def test_an_answered_record_keeps_its_reply_where_lightning_moves_it():
    moved = Answered(RECORDS[0], Reply(IDS[0], "x")).to("meta")
    assert Frozen(Scripted()).respond(moved) == [Reply(IDS[0], "x")]
    assert Frozen(Scripted()).respond(Batch([])) == []
