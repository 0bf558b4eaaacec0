"""BERTScore in a run: checked before the first reply, computed once, joined by `rescore`."""

import pytest

from lmod_train.core.artifacts.bert_scores import read_bert_scores
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch, Identity, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import Backend
from lmod_train.models.modules.frozen import Frozen
from lmod_train.scoring.metrics.bert_score import Encoder
from lmod_train.tasks.bilingual import OpenQuestion
from lmod_train.tasks.rescore import rescore
from lmod_train.training.callbacks import generation as bert_scores
from lmod_train.training.callbacks.generation import GenerationEval
from tests.encoder import save_encoder
from tests.tiny import record, trainer, write_curated

TRUTHS = {"zh": "黄斑裂孔", "en": "macula hole"}
SAID = {"zh": ["黄斑裂孔", "视盘苍白", "", "无裂孔"], "en": ["macula hole", "a pale disc", "no hole", ""]}


class Saying(Backend):
    def __init__(self):
        self.collate = lambda records, root: Batch(records)
        self.asked = 0

    def prepare(self, device): ...

    def identity(self):
        return Identity()

    def respond(self, batch):
        self.asked += len(batch.records)
        return [Reply(r.id, SAID[r.language][int(r.key)], model="saying") for r in batch.records]


@pytest.fixture
def folder(tmp_path):
    records = [
        record(f"open_question/w/{k}/{k}-{language}", f"{k} {language}?", [f"{k}.png"], TRUTHS[language], key=str(k),
               task="open_question", choices=(), language=language, split="val")
        for k in range(4) for language in TRUTHS
    ]  # fmt: skip
    return write_curated(tmp_path / "curated", records)


def validate(folder, run, encoders, shard=""):
    backend = Saying()
    quick = trainer(run, callbacks=[GenerationEval(encoders=encoders)])
    data = RecordsDataModule(folder, [OpenQuestion()], split="val", shard=shard)
    quick.validate(Frozen(backend), datamodule=data, verbose=False)
    rescore(run, tasks=[OpenQuestion()])
    return backend.asked, {(s.metric, s.subset): s for *_, s in read_scores(run / "scores.csv")}


def test_the_scores_are_the_means_of_the_encoders(folder, tmp_path, monkeypatch):
    encoder, run = save_encoder(tmp_path / "tiny"), tmp_path / "run"
    asked, scores = validate(folder, run, {"zh": f"{encoder}@2"})
    assert asked == 8 and len(read_bert_scores(run / "bert_scores.json")) == 3
    expected = Encoder(encoder, 2).f1([(said, TRUTHS["zh"]) for said in SAID["zh"] if said])
    found = scores["bertscore_f1", "language=zh"]
    assert (found.value, found.n) == (pytest.approx(sum(expected) / 4, abs=1e-6), 4)
    assert scores["bertscore_f1_answered", "language=zh"].value == pytest.approx(sum(expected) / 3, abs=1e-6)
    assert found.settings == Encoder(encoder, 2).settings and str(tmp_path) not in (run / "scores.csv").read_text()
    assert ("bertscore_f1", "language=en") not in scores
    monkeypatch.setattr(bert_scores.Encoder, "f1", lambda self, pairs, device: [0.0 for _ in pairs])  # of no pair
    again, same = validate(folder, run, {"zh": f"{encoder}@2"})
    assert again == 0 and same["bertscore_f1", "language=zh"] == found
    _, other = validate(folder, run, {"zh": f"{encoder}@1"})  # another layer: computed again
    assert other["bertscore_f1", "language=zh"].value == 0


def test_none_named_gives_no_column(folder, tmp_path):
    _, scores = validate(folder, tmp_path / "run", None)
    assert not any(metric.startswith("bertscore") for metric, _ in scores) and ("bleu1_corpus", "language=zh") in scores
    assert not (tmp_path / "run" / "bert_scores.json").exists()


def test_a_missing_encoder_is_an_error_before_the_first_reply(folder, tmp_path):
    with pytest.raises(BadArgument, match=r"--evaluation.encoders.en=.*text encoder"):
        validate(folder, tmp_path / "run", {"zh": str(save_encoder(tmp_path / "tiny")), "en": str(tmp_path / "none")})
    assert not list((tmp_path / "run").glob("replies/*"))


def test_a_baseline_without_the_layer_is_an_error_before_the_first_reply(folder, tmp_path):
    encoder = save_encoder(tmp_path / "tiny")
    (encoder / "baseline.tsv").write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n")
    with pytest.raises(BadArgument, match=r"baseline\.tsv.*a row for layer 2"):
        validate(folder, tmp_path / "run", {"zh": f"{encoder}@2"})
    assert not list((tmp_path / "run").glob("replies/*"))
    assert validate(folder, tmp_path / "run", {"zh": f"{encoder}@1"})[0] == 8


def test_shards_have_the_scores_of_one_run_and_encode_each_answer_once(folder, tmp_path, monkeypatch):
    encoder = save_encoder(tmp_path / "tiny")
    _, whole = validate(folder, tmp_path / "whole", {"zh": f"{encoder}@2", "en": str(encoder)})
    real, encoded, run = Encoder.f1, [], tmp_path / "parts"
    monkeypatch.setattr(Encoder, "f1", lambda self, pairs, device: encoded.extend(pairs) or real(self, pairs, device))
    for shard in ("2/3", "1/3", "3/3"):
        _, joined = validate(folder, run, {"zh": f"{encoder}@2", "en": str(encoder)}, shard)
    assert joined == whole and ("bertscore_f1", "language=en") in joined
    assert len(encoded) == len(read_bert_scores(run / "bert_scores.json")) == 6
    assert not list(run.glob(".bert_scores*"))


def test_a_shard_does_not_write_over_the_scores_of_one_that_ended_meanwhile(folder, tmp_path, monkeypatch):
    encoder, run = save_encoder(tmp_path / "tiny"), tmp_path / "parts"
    named, real, ended = {"zh": str(encoder)}, GenerationEval._encode, []

    def overtaken(self, to):
        """Let the other shard begin and end after this one has asked its records, and before it computes scores."""
        if not ended:
            ended.append("2/2")
            validate(folder, run, named, "2/2")
        real(self, to)

    monkeypatch.setattr(GenerationEval, "_encode", overtaken)
    _, joined = validate(folder, run, named, "1/2")
    monkeypatch.undo()
    assert joined == validate(folder, tmp_path / "whole", named)[1]
