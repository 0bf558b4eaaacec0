"""A cascade from its first question to its scores: rounds, kills, failures, other parsers, ranks and streams."""

import itertools
import re
from collections import Counter

import pytest
import torch

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import Batch, Reply
from lmod_train.data.datamodules.cascade_loader import CascadeLoader
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.regimes import in_regime
from lmod_train.tasks.rescore import rescore
from lmod_train.tasks.ways import Ways
from lmod_train.training.callbacks.generation import GenerationEval
from tests.chained import WORDS, Echo, KilledError, Words, chain_of, words_of
from tests.tiny import trainer, write_curated

RECORDS = [r for n in range(5) for r in chain_of(n)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_curated(tmp_path_factory.mktemp("chains"), RECORDS)


def validate(folder, run, backend, regime="cas_all", lenient=False, **options):
    data = RecordsDataModule(folder, [Words(lenient)], eval_batch_size=4, split="test", regime=regime, **options)
    trainer(run, callbacks=[GenerationEval()]).validate(Frozen(backend), datamodule=data, verbose=False)
    return data


def answers(run, lenient=False):
    rescore(run, tasks=[Words(lenient)])
    return {p.record.id: p.answer for p in read_predictions(run / "predictions.parquet")}


def test_every_stage_is_asked_once_after_the_models_own_answers(folder, tmp_path):
    echo = Echo()
    validate(folder, tmp_path, echo)
    assert echo.sent.keys() == {r.id for r in RECORDS}
    expected = {f"words/phantom/{n}/{s}": WORDS[place % 3] for n in range(5) for place, s in enumerate(STAGE_NAMES)}
    assert answers(tmp_path) == expected
    facts = "Image quality: alpha. Location: beta. Findings: gamma. Diagnosis: alpha. Severity: beta.\n"
    assert echo.sent["words/phantom/3/CD"] == f"{facts}Which word for CD?"
    assert echo.sent == {id: reply.rendered for (id, *_), reply in read_replies(tmp_path / "replies").items()}


def test_each_reply_is_read_once_for_later_words_and_for_scores(folder, tmp_path, monkeypatch):
    read, parse = [], Words.parse
    monkeypatch.setattr(Words, "parse", lambda self, reply, record: read.append(reply.id) or parse(self, reply, record))
    validate(folder, tmp_path, Echo())
    assert sorted(read) == sorted(r.id for r in RECORDS)


def test_a_batch_holds_one_stage_of_several_eyes(folder, tmp_path):
    echo = Echo()
    validate(folder, tmp_path, echo)
    stages = [{id.rpartition("/")[2] for id in batch} for batch in echo.batches]
    assert all(len(found) == 1 for found in stages)
    assert [len(batch) for batch in echo.batches] == [4] * 6 + [1] * 6
    assert [found.pop() for found in stages] == [*STAGE_NAMES, *STAGE_NAMES]


def test_only_the_last_answer_where_only_that_is_asked_for(folder, tmp_path):
    echo = Echo()
    validate(folder, tmp_path, echo, "cas_last")
    assert echo.sent["words/phantom/0/CD"] == "Severity: beta.\nWhich word for CD?"


def test_no_answer_is_said_and_the_chain_goes_on(folder, tmp_path):
    echo = Echo(first="I do not know")
    validate(folder, tmp_path, echo)
    assert echo.sent["words/phantom/0/AL"].startswith("Image quality: no answer was given.\n")
    assert len(echo.sent) == len(RECORDS)


@pytest.mark.parametrize(
    "breaks_at",
    [pytest.param(n, marks=[] if n in (0, 9, 27) else pytest.mark.slow) for n in range(0, len(RECORDS), 3)],
)
def test_a_killed_cascade_goes_on_and_asks_nothing_twice(folder, tmp_path, breaks_at):
    first, then = Echo(breaks_at=breaks_at), Echo()
    with pytest.raises(KilledError):
        validate(folder, tmp_path, first)
    validate(folder, tmp_path, then)
    assert not set(first.sent) & set(then.sent) and set(first.sent) | set(then.sent) == {r.id for r in RECORDS}
    whole = tmp_path / "whole"
    validate(folder, whole, Echo())
    assert answers(tmp_path) == answers(whole)
    again = Echo()
    validate(folder, tmp_path, again)
    assert not again.sent


def test_a_killed_cascade_is_scored_as_far_as_it_came(folder, tmp_path):
    with pytest.raises(KilledError):
        validate(folder, tmp_path, Echo(breaks_at=9))
    found = answers(tmp_path)
    assert Counter(id.rpartition("/")[2] for id in found) == {"IQA": 4, "AL": 4, "LC": 4}
    assert not any("left out" in line for line in rescore(tmp_path, tasks=[Words()]))


def test_nothing_is_asked_after_a_request_that_failed_until_it_is_answered(folder, tmp_path):
    failing = "words/phantom/2/LC"
    first, then = Echo(fails=[failing]), Echo()
    validate(folder, tmp_path, first)
    later = {f"words/phantom/2/{s}" for s in ("DD", "SG", "CD")}
    assert {r.id for r in RECORDS} - set(first.sent) == later
    validate(folder, tmp_path, then)
    assert set(then.sent) == {failing, *later}
    assert len(answers(tmp_path)) == len(RECORDS)


def test_a_mended_parser_makes_later_stages_stale_and_only_these_are_asked_again(folder, tmp_path):
    odd = "words/phantom/1/AL"
    validate(folder, tmp_path, Echo(odd=[odd]))
    assert not any("left out" in line for line in rescore(tmp_path, tasks=[Words()]))
    lines = rescore(tmp_path, tasks=[Words(lenient=True)])
    assert any(line.startswith("left out: 4 outdated replies, to other prompts, earlier answers") for line in lines)
    echo = Echo()
    validate(folder, tmp_path, echo, lenient=True)
    later = {f"words/phantom/1/{s}" for s in ("LC", "DD", "SG", "CD")}
    assert set(echo.sent) == later and "Location: beta." in echo.sent["words/phantom/1/LC"]
    assert len(answers(tmp_path, lenient=True)) == len(RECORDS)
    back = Echo()
    validate(folder, tmp_path, back)  # by the parser of before, the first replies count again
    assert not back.sent


def test_truths_and_planted_answers_are_asked_in_one_round(folder, tmp_path):
    for regime in ("oracle", "planted"):
        echo = Echo()
        validate(folder, tmp_path / regime, echo, regime)
        assert all("{" not in words for words in echo.sent.values()) and len(echo.batches) <= 10
    assert "Findings: alpha." in echo.sent["words/phantom/0/DD"] or "Given the" in echo.sent["words/phantom/0/DD"]


def test_a_limit_brings_the_earlier_questions_along(folder, tmp_path):
    echo = Echo()
    validate(folder, tmp_path, echo, limit=2)  # the first ids: AL and CD
    assert set(echo.sent) == {f"words/phantom/0/{s}" for s in STAGE_NAMES}


def test_several_ways_of_asking_are_refused_with_a_cascade(folder):
    with pytest.raises(BadArgument, match=r"data\.regime='cas_all'.*one way.*\nNext: leave data\.asking out"):
        RecordsDataModule(folder, [Words()], regime="cas_all", asking=Ways(repeats=2))


def test_a_cascade_without_the_callback_that_collects_answers_is_an_error(folder, tmp_path):
    data = RecordsDataModule(folder, [Words()], split="test", regime="cas_all")
    with pytest.raises(RuntimeError, match="GenerationEval"):
        trainer(tmp_path).validate(Frozen(Echo()), datamodule=data, verbose=False)


def test_a_run_in_another_regime_is_another_run(folder, tmp_path):
    validate(folder, tmp_path, Echo(), "independent")
    echo = Echo()
    validate(folder, tmp_path, echo)
    assert set(echo.sent) == {r.id for r in RECORDS if r.chain_step != "IQA"}


class Learner(LmodModule):
    """Notes the words it is given."""

    def __init__(self):
        super().__init__()
        self.weight, self.given = torch.nn.Parameter(torch.zeros(1)), []

    def collate(self, records, root):
        self.given += map(words_of, records)
        return Batch(records)

    def respond(self, batch):
        return [Reply(r.id, "alpha") for r in batch.records]

    def training_step(self, batch, batch_idx):
        return self.weight.sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.parametrize("regime", ["independent", "cas_last", "oracle"])
def test_training_is_after_the_true_answers_or_alone(tmp_path, regime):
    chains = [r for split in ("train", "val") for r in chain_of(split, split=split)]
    learner = Learner()
    data = RecordsDataModule(write_curated(tmp_path, chains), [Words()], batch_size=2, regime=regime)
    trainer(tmp_path, max_epochs=1, callbacks=[GenerationEval()]).fit(learner, datamodule=data)
    asked = in_regime(
        chains, {"words": Words()}, "independent" if regime == "independent" else "oracle", {c.id: c for c in chains}
    )
    assert Counter(learner.given) == Counter(map(words_of, asked))


def plain(records, root):
    return Batch(records)


def streamed(batches):
    """Answer every question of a stream alone, the last one first."""
    for batch in batches:
        for one in reversed(batch.records):
            yield Batch([one])


def test_ranks_ask_each_question_once_in_order_with_as_many_batches(tmp_path):
    chains = [r for n in range(5) for r in chain_of(n, STAGE_NAMES[: 1 + n])]
    asked = in_regime(chains, {"words": Words()}, "cas_all", {r.id: r for r in chains})
    for ranks, stream, size in itertools.product((1, 2, 3, 7), (None, streamed), (1, 4, 100)):
        case = f"{ranks=}, {stream=}, {size=}"
        loaders = [CascadeLoader(asked, list, plain, tmp_path, size, rank, ranks, stream) for rank in range(ranks)]
        found = [list(loader) for loader in loaders]
        assert len({len(batches) for batches in found}) == 1 == len({len(loader) for loader in loaders}), case
        assert len(found[0]) == len(loaders[0]), case
        seen = [[r.id for batch in batches for r in batch.records] for batches in found]
        assert sorted(id for ids in seen for id in ids) == sorted(r.id for r in asked), case
        for ids in seen:
            for one in asked:
                earlier = ids[: ids.index(one.id)] if one.id in ids else one.needs
                assert all(need in earlier for need in one.needs), (case, one.id)
        assert all(len(batch) <= size for batches in found for batch in batches), case


def test_a_stream_is_given_the_next_round_when_the_replies_are_there(folder, tmp_path):
    class Streaming(Echo):
        def respond_stream(self, batches):
            for batch in batches:
                yield from reversed(self.respond(batch))

    echo = Streaming()
    validate(folder, tmp_path, echo)
    assert set(echo.sent) == {r.id for r in RECORDS} and len(answers(tmp_path)) == len(RECORDS)
    assert re.search("Severity: beta", echo.sent["words/phantom/4/CD"])


def test_nothing_to_rescore_before_the_first_reply(folder, tmp_path):
    with pytest.raises(KilledError):
        validate(folder, tmp_path, Echo(breaks_at=0))
    with pytest.raises(ArtifactError):
        rescore(tmp_path, tasks=[Words()])


def test_a_reply_with_half_a_character_is_stored_with_a_question_mark(folder, tmp_path):
    validate(folder, tmp_path, Echo(first="alpha\ud83d"))
    stored = [reply.reply for (id, *_), reply in read_replies(tmp_path / "replies").items() if id.endswith("IQA")]
    assert stored == ["alpha?"] * 5


def test_each_reply_is_parsed_once_for_all_later_stages(folder, tmp_path, monkeypatch):
    parsed, parse = Counter(), Words.parse
    monkeypatch.setattr(
        Words, "parse", lambda self, reply, record: parsed.update([reply.id]) or parse(self, reply, record)
    )
    validate(folder, tmp_path, Echo())
    assert max(parsed.values()) <= 2  # for later stages, and for the scores
