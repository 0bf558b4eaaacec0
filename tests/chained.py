"""Chains of questions, a task that reads them, and a responder whose answers depend on the answers it is sent."""

import re

from lmod_train.core.types import Batch, Identity, Reply, Unparsed
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.models.backends.base import Backend
from lmod_train.tasks.base import Task
from tests.tiny import record

WORDS = ("alpha", "beta", "gamma")


class Words(Task):
    """Reads one of three words, `lenient` in a sentence too; earlier answers are stated as those of a chain."""

    name = "words"
    version = 1
    choices = WORDS
    steps, states, implied = STAGE_NAMES, staticmethod(Chain.states), Chain.implied

    def __init__(self, lenient=False):
        self.lenient = lenient

    def ask(self, sample):
        yield from self.ready_questions(sample)

    def parse(self, reply, record):
        said = [w for w in reply.reply.split() if w in WORDS] if self.lenient else [reply.reply]
        return said[0] if said and said[0] in WORDS else Unparsed("no_match")

    def score(self, predictions):
        return []


def chain_of(number, stages=STAGE_NAMES, split="test", **fields):
    """Return a chain of an eye: each question needs all earlier ones; the truth is alpha."""
    made = []
    for stage in stages:
        own = {"task": "words", "task_class": "tests.chained.Words", "split": split, "answer": "alpha"}
        own |= {"chain": f"phantom/{number}", "chain_step": stage, "choices": WORDS, "group": str(number)}
        own |= {"needs": tuple(r.id for r in made), "image": [f"{number}.png"]} | fields
        made.append(record(f"words/phantom/{number}/{stage}", f"Which word for {stage}?", **own))
    return made


def words_of(record):
    return record.messages[-1].parts[-1].text


class Echo(Backend):
    """Answers the word of `first`, later questions the word after the last one in the context; notes what it is sent.

    Args:
        first: Answer to a question without context.
        fails: Ids whose request fails.
        odd: Ids that are answered in a sentence.
        breaks_at: Number of questions before it breaks down.
    """

    def __init__(self, first="alpha", fails=(), odd=(), breaks_at=None):
        self.first, self.fails, self.odd, self.breaks_at = first, set(fails), set(odd), breaks_at
        self.collate, self.sent, self.batches = lambda records, root: Batch(records), {}, []

    def prepare(self, device): ...

    def identity(self):
        return Identity(settings={"first": "same"})

    def respond(self, batch):
        if self.breaks_at is not None and len(self.sent) >= self.breaks_at:
            raise KilledError
        assert not set(self.sent) & {r.id for r in batch.records}, "asked twice"
        self.sent |= {r.id: words_of(r) for r in batch.records}
        self.batches.append([r.id for r in batch.records])
        return [self._reply(r) for r in batch.records]

    def _reply(self, record):
        if record.id in self.fails:
            return Reply(record.id, "", "error", "the server is down")
        stated = re.findall("|".join(WORDS), words_of(record).rpartition("\n")[0])
        word = WORDS[(WORDS.index(stated[-1]) + 1) % 3] if stated else self.first
        return Reply(record.id, f"It is {word} here" if record.id in self.odd else word, rendered=words_of(record))


class KilledError(Exception): ...
