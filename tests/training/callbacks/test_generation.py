"""The one evaluation path: replies on disk as they come, asked once, and one figure wherever it is read."""

import json
from dataclasses import replace

import pytest
import torch
from lightning import Callback

from lmod_train.core.artifacts.records import read_run_records
from lmod_train.core.artifacts.replies import read_replies, reply_line
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.types import Batch, Identity, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import Backend
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import PROMPT, Glaucoma
from lmod_train.tasks.rescore import rescore
from lmod_train.tasks.ways import Ways
from lmod_train.training.callbacks.generation import GenerationEval
from tests import forks
from tests.tiny import record, trainer, write_curated
from tests.training.callbacks import two_ranks

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
RECORDS = [
    record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=WORDS[i % 2], split="val" if i < 7 else "train")
    for i in range(9)
]
SAID = ["GLAUCOMA", "GLAUCOMA", "no idea", "NON-GLAUCOMA", "GLAUCOMA", "NON-GLAUCOMA", "GLAUCOMA"]
RIGHT = 5  # of the seven


class Counting(Backend):
    """Says `SAID`, counts what it is asked, and fails or breaks down where it is told."""

    def __init__(self, fails=(), breaks_at=None, who=None):
        self.who = who or Identity()
        self.collate = lambda records, root: Batch(records)
        self.asked, self.fails, self.breaks_at = [], fails, breaks_at

    def prepare(self, device): ...

    def identity(self):
        return self.who

    def respond(self, batch):
        if self.breaks_at is not None and len(self.asked) >= self.breaks_at:
            raise KilledError
        self.asked += [int(r.id[-1]) for r in batch.records]
        return [self._reply(r.id) for r in batch.records]

    def _reply(self, id):
        number = int(id[-1])
        if number in self.fails:
            return Reply(id, "", "error", "the server is down")
        return Reply(id, SAID[number], model="counting")


class KilledError(Exception): ...


@pytest.fixture
def folder(tmp_path):
    return write_curated(tmp_path / "curated", RECORDS)


def validate(folder, run, backend, command="validate"):
    quick = trainer(run, callbacks=[GenerationEval()])
    data = RecordsDataModule(folder, [Glaucoma()], eval_batch_size=2, split="val")
    getattr(quick, command)(Frozen(backend), datamodule=data)
    return {k: float(v) for k, v in quick.callback_metrics.items()}


def replies(run):
    return read_replies(run / "replies")


def test_the_value_logged_is_the_value_of_scores_csv(folder, tmp_path):
    logged = validate(folder, tmp_path / "run", Counting())
    rescore(tmp_path / "run")
    written = {
        f"val/{s.task}/{s.metric}": s.value
        for _, _, s in read_scores(tmp_path / "run" / "scores.csv")
        if s.subset == "all" and s.value is not None
    }
    assert logged["val/glaucoma/accuracy_strict"] == pytest.approx(RIGHT / 7)
    assert len(written) > 10 and logged == pytest.approx(written, abs=1e-6)


def test_what_was_asked_and_what_was_said_is_on_disk(folder, tmp_path):
    backend = Counting()
    validate(folder, tmp_path / "run", backend)
    assert backend.asked == list(range(7))
    assert [r.id for r in read_run_records(tmp_path / "run" / "records.parquet")] == [r.id for r in RECORDS[:7]]
    assert {(key[:2], r.reply) for key, r in replies(tmp_path / "run").items()} == {
        ((f"glaucoma/p/{i}", 0), said) for i, said in enumerate(SAID)
    }


@pytest.mark.parametrize(("command", "prefix"), [("test", "test/"), ("predict", None)])
def test_other_commands_write_too_and_predict_does_not_score(folder, tmp_path, command, prefix):
    logged = validate(folder, tmp_path / "run", Counting(), command)
    assert len(replies(tmp_path / "run")) == 7
    assert all(name.startswith(prefix) for name in logged) if prefix else logged == {}
    assert bool(logged) == (prefix is not None)


def test_a_run_that_broke_down_asks_only_what_is_missing(folder, tmp_path):
    with pytest.raises(KilledError):
        validate(folder, tmp_path / "run", Counting(breaks_at=4))
    assert len(replies(tmp_path / "run")) == 4, "replies are on the disk before the next batch is asked"
    again = Counting()
    logged = validate(folder, tmp_path / "run", again)
    assert again.asked == [4, 5, 6]
    assert logged == validate(folder, tmp_path / "whole", Counting())


def test_a_failed_reply_is_asked_again(folder, tmp_path):
    logged = validate(folder, tmp_path / "run", Counting(fails=[3, 5]))
    assert logged["val/glaucoma/share_failed"] == pytest.approx(2 / 7)
    again = Counting()
    assert validate(folder, tmp_path / "run", again)["val/glaucoma/share_failed"] == 0
    assert again.asked == [3, 5]


def test_replies_of_other_weights_are_not_this_model_s(folder, tmp_path):
    later = replace(Reply("glaucoma/p/1", "NON-GLAUCOMA"), step=50)
    (tmp_path / "run" / "replies").mkdir(parents=True)
    (tmp_path / "run" / "replies" / "rank-0.jsonl").write_text(reply_line(later))
    backend = Counting()
    validate(folder, tmp_path / "run", backend)
    assert backend.asked == list(range(7))


def test_a_responder_that_loses_a_record_is_found_out(folder, tmp_path):
    backend = Counting()
    backend.respond = lambda batch: [Reply(batch.records[0].id, "GLAUCOMA")]
    with pytest.raises(RuntimeError, match="one reply per record"):
        validate(folder, tmp_path / "run", backend)


class Learning(LmodModule):
    """One weight, and replies that come from its number of steps: right only once it has trained."""

    def __init__(self):
        super().__init__()
        self.collate = lambda records, root: Batch(records)
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def training_step(self, batch, batch_idx):
        return self.weight**2

    def respond(self, batch):
        return [Reply(r.id, r.answer if self.step > 2 else "no idea", step=self.step) for r in batch.records]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class RunScores(Callback):
    def __init__(self):
        self.seen = []

    def on_validation_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            self.seen.append((pl_module.step, float(trainer.callback_metrics["val/glaucoma/accuracy_strict"])))


def test_each_validation_of_a_fit_is_scored_alone_and_sanity_batches_are_not_written(folder, tmp_path):
    figures = RunScores()
    quick = trainer(tmp_path / "run", callbacks=[GenerationEval(), figures], max_epochs=2, num_sanity_val_steps=2)
    data = RecordsDataModule(folder, [Glaucoma()], batch_size=1, eval_batch_size=2)
    data.leave_out(lambda: [r.id for r in RECORDS])  # left over from a command before: fit asks all the same
    quick.fit(Learning(), datamodule=data)
    assert figures.seen == [(2, 0.0), (4, 1.0)], "two records to train on, an epoch is two steps"
    assert sorted({step for _, step, _ in replies(tmp_path / "run")}) == [2, 4]
    lines = (tmp_path / "run" / "replies" / "rank-0.jsonl").read_text().splitlines()
    assert len(lines) == 14 and json.loads(lines[-1])["step"] == 4


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    place = tmp_path_factory.mktemp("two")
    return place, two_ranks.run(place, forks.free_port(), [11, 1])


@pytest.mark.parametrize("count", [11, 1])  # uneven, and a rank with nothing
def test_two_processes_score_every_record_once_and_log_the_same(two, count):
    place, found = two
    assert [f["n"] for f in found[count]] == [count, count], "eleven are eleven; a padding sampler makes twelve"
    right = sum(i % 3 != 0 for i in range(count))
    assert [f["accuracy"] for f in found[count]] == pytest.approx([right / count] * 2)
    assert [f["trained"] for f in found[count]] == [5, 5], "both took the same number of steps"
    files = [
        {json.loads(line)["id"] for line in file.read_text().splitlines()}
        for file in sorted((place / str(count) / "run" / "replies").glob("rank-*.jsonl"))
    ]
    assert len(files) == 2 and not files[0] & files[1] and len(files[0] | files[1]) == count


WHO = Identity(("https://models.example/v1", "a-model"), "template", {"temperature": 0})


@pytest.mark.parametrize(
    "other",
    [
        replace(WHO, weights=("https://models.example/v1", "another-model")),
        replace(WHO, weights=("https://elsewhere.example/v1", "a-model")),
        replace(WHO, template="another"),
        replace(WHO, settings={"temperature": 1}),
    ],
)
def test_an_endpoint_is_known_by_its_names_and_asked_again_where_one_is_another(folder, tmp_path, other):
    validate(folder, tmp_path / "run", Counting(who=WHO))
    same, differing, back = (Counting(who=who) for who in (WHO, other, WHO))
    validate(folder, tmp_path / "run", same)
    assert same.asked == []
    validate(folder, tmp_path / "run", differing)
    assert differing.asked == list(range(7))
    validate(folder, tmp_path / "run", back)
    assert back.asked == [], "its replies were kept"


def test_in_fit_the_weights_are_those_that_training_began_from(folder, tmp_path):
    """A checkpoint to continue from does not make the earlier replies those of another model; elsewhere it counts."""
    run, module = tmp_path / "run", Learning()
    data = RecordsDataModule(folder, [Glaucoma()], batch_size=1, eval_batch_size=2)
    first = trainer(run, callbacks=[GenerationEval()], max_epochs=1)
    first.fit(module, datamodule=data)
    first.save_checkpoint(tmp_path / "last.ckpt")
    trainer(run, callbacks=[GenerationEval()], max_epochs=2).fit(
        Learning(), datamodule=data, ckpt_path=tmp_path / "last.ckpt"
    )
    saved = replies(run)
    assert {step for _, step, _ in saved} == {2, 4}
    asked_of = {record: {asked for other, _, asked in saved if other == record} for record, _, _ in saved}
    assert {len(hashes) for hashes in asked_of.values()} == {1}, "each is asked the same at both steps"
    fresh = RecordsDataModule(folder, [Glaucoma()], eval_batch_size=2)
    trainer(run, callbacks=[GenerationEval()]).validate(Learning(), fresh, ckpt_path=tmp_path / "last.ckpt")
    later = {(record, asked) for record, _, asked in replies(run)}
    assert len(later) == 2 * len(asked_of)


class Echo(Counting):
    """Replies with the reference reply, and lists the ids it is asked."""

    def respond(self, batch):
        self.asked += [r.id for r in batch.records]
        return [Reply(r.id, r.answer, model="echo") for r in batch.records]


def in_ways(folder, run, **ways):
    """Ask the published question in some ways, and return the ids that were asked now and the stored ids."""
    data = RecordsDataModule(folder, [Glaucoma()], split="val", asking=Ways(**ways))
    backend = Echo(who=Identity(settings={"decoding": '{"do_sample": false}'}))
    trainer(run, callbacks=[GenerationEval()]).validate(Frozen(backend), datamodule=data, verbose=False)
    rescore(run, tasks=[Glaucoma()])
    return backend.asked, [r.id for r in read_run_records(run / "records.parquet")]


@pytest.fixture
def published(tmp_path):
    words = PROMPT.replace("<IMAGE TYPE>", "an ophthalmology fundus image")
    made = [record(f"glaucoma/p/{i}", words, [f"{i}.png"], WORDS[i % 2], split="val") for i in range(3)]
    return write_curated(tmp_path / "curated", made)


def test_another_wording_asks_only_that_wording_and_fewer_ask_nothing(published, tmp_path):
    run, ends = tmp_path / "run", {"", "/wording-1", "/wording-2"}
    every = [{f"glaucoma/p/{i}{end}" for i in range(3)} for end in sorted(ends)]
    asked, known = in_ways(published, run, wordings=2)
    assert set(asked) == set(known) == every[0] | every[1]
    assert in_ways(published, run, wordings=2)[0] == []
    asked, known = in_ways(published, run, wordings=3)
    assert set(asked) == every[2] and set(known) == every[0] | every[1] | every[2]
    asked, known = in_ways(published, run, wordings=1)
    assert asked == [] and set(known) == every[0], "their tags are other ones, what was asked is not"
    scores = [s for *_, s in read_scores(run / "scores.csv")]
    assert {s.n for s in scores if (s.subset, s.metric) == ("all", "accuracy_strict")} == {3}


def test_repeats_of_greedy_decoding_are_remarked(published, tmp_path, recwarn):
    asked, _ = in_ways(published, tmp_path / "run", repeats=2)
    assert len(asked) == len(set(asked)) == 6
    assert any("decoding is greedy" in str(w.message) for w in recwarn)
    recwarn.clear()
    in_ways(published, tmp_path / "other", wordings=2)
    assert not any("greedy" in str(w.message) for w in recwarn)
