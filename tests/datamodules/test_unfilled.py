"""A question whose words hold answers to earlier ones is neither learnt nor asked with its placeholders."""

import pytest
import torch

from lmod_train.callbacks.generation import GenerationEval
from lmod_train.datamodules.records import RecordsDataModule
from lmod_train.datamodules.replay import read_conversations
from lmod_train.datamodules.unfilled import refuse_unfilled
from lmod_train.errors import BadArgument
from lmod_train.modules.base import LmodModule
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.types import Batch, Reply
from tests.tiny import record, trainer, write_curated

FIRST = "glaucoma/p/1/IQA"


def chained(split="train", words="Quality: {answer 1}. Glaucoma?", needs=(FIRST,), **fields):
    return record("glaucoma/p/1/LC", words, split=split, needs=needs, chain="p/1", chain_step="LC", **fields)


def quality(split="train", **fields):
    return record(FIRST, "How good is it?", split=split, chain="p/1", chain_step="IQA", **fields)


class Learner(LmodModule):
    """Notes the words it is given."""

    def __init__(self):
        super().__init__()
        self.weight, self.given = torch.nn.Parameter(torch.zeros(1)), []

    def collate(self, records, root):
        self.given += [part.text for r in records for m in r.messages for part in m.parts]
        return Batch(records)

    def respond(self, batch):
        return [Reply(r.id, "GLAUCOMA") for r in batch.records]

    def training_step(self, batch, batch_idx):
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def run(place, records, command, **options):
    learner = Learner()
    data = RecordsDataModule(write_curated(place, records), [Glaucoma()], batch_size=2, **options)
    quick = trainer(place, max_epochs=1, callbacks=[GenerationEval()])
    getattr(quick, command)(learner, datamodule=data)
    return learner.given


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict"])
def test_a_question_with_open_placeholders_is_refused_before_anything_is_given(tmp_path, command, split):
    plain = [record(f"glaucoma/q/{name}", split=name) for name in ("train", "val", "test")]
    uses = {"fit": ("train", "val"), "validate": ("val",), "test": ("test",), "predict": ("test",)}
    records = [*plain, quality(split), chained(split)]
    if split not in uses[command]:
        assert not any("{" in words for words in run(tmp_path, records, command))
        return
    expected = rf"(?s)data\.tasks='glaucoma'.*1 are not.*glaucoma/p/1/LC.*\{{answer 1\}}.*{FIRST}.*--data\.variant"
    with pytest.raises(BadArgument, match=expected):
        run(tmp_path, records, command)
    assert not (tmp_path / "replies").exists()


def test_the_cure_works(tmp_path):
    records = [quality(variant="a"), chained(variant="b")]
    assert run(tmp_path, records, "fit", variant="a") == ["", "How good is it?"]
    with pytest.raises(BadArgument, match="answer 1"):
        run(tmp_path, records, "fit", variant="b")


def test_words_that_only_look_like_it_and_needs_without_placeholders_are_trained_on(tmp_path):
    given = run(tmp_path, [quality(), chained(words="What is {answer 1}?", needs=())], "fit")
    assert "What is {answer 1}?" in given
    refuse_unfilled([quality(), chained(words="And now?")])


def test_a_placeholder_of_no_need_is_named_too():
    with pytest.raises(BadArgument, match=r"\{answer 3\}: the answer to no record"):
        refuse_unfilled([chained(words="{answer 3}")])


def test_conversations_to_replay_are_held_to_it(tmp_path):
    fields = {"task": "conversation", "choices": ()}
    talk = chained(**fields)
    with pytest.raises(BadArgument, match=r"data\.tasks='conversation'.*answer 1"):
        read_conversations(write_curated(tmp_path, [quality(**fields), talk]))
