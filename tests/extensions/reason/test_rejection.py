"""Rejection sampling: what is kept and why, what is lost is counted, and a stopped run draws nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch, Fact, Record, Reply
from lmod_train.extensions.reason.rejection import RejectionSampled, Verdict, judged
from lmod_train.extensions.reason.reward import Rewards
from lmod_train.models.modules.base import LmodModule
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.glaucoma import Glaucoma
from tests.extensions.reason.test_targets import asked
from tests.tiny import trainer, write_curated

RECORDS = [replace(asked(i), split="train", regions=()) for i in range(40)]


def ratio(record: Record) -> float:
    return float(next(fact.value for fact in record.facts if fact.name == "vcdr"))


CASES: Mapping[str, Verdict] = {
    "{answer}. The CDR is {ratio:.2f}.": "kept",
    "{answer}. The CDR is {ratio:.2f}, and there is no notch.": "kept",
    "{other}. The CDR is {ratio:.2f}.": "wrong",
    "I cannot tell. The CDR is {ratio:.2f}.": "wrong",
    "{answer}. The CDR is {ratio:.2f}, and not 0.2 or {ratio:.2f}.": "kept",
    "{answer}. The CDR is {ratio:.2f}. The CDR is 0.05.": "a false claim",
    "{answer}. " + "The CDR is {ratio:.2f}. " * 4 + "The CDR is 0.05.": "a false claim",  # behind the third claim too
    "{answer}": "nothing of this eye",
    "{answer}. The pressure is 30 mmHg.": "nothing of this eye",
    "{answer}. The CDR is above 0.1.": "nothing of this eye",
    "{answer}. The CDR is {ratio:.2f}.25.": "nothing of this eye",  # two numbers in one
    "{answer}. The disc\u8272 has a CDR of {ratio:.2f}.": "another script",
    "{answer}. The CDR is \ufffd {ratio:.2f}.": "another script",
}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("text", CASES)
def test_a_reply_is_kept_if_right_and_of_this_eye(text: str, place: int) -> None:
    record, rewards = RECORDS[place], Rewards(Glaucoma(), RECORDS)
    said = text.format(answer=record.answer, other=RECORDS[1 - place].answer, ratio=ratio(record))
    assert judged(Reply(record.id, said), record, rewards) == CASES[text]
    assert judged(Reply(record.id, said, "length"), record, rewards) == "failed or cut off"
    assert judged(Reply(record.id, said, error="no"), record, rewards) == "failed or cut off"


def test_without_facts_the_answer_decides() -> None:
    record, rewards = replace(RECORDS[0], facts=()), Rewards(Glaucoma(), [])
    assert judged(Reply(record.id, record.answer), record, rewards) == "kept"
    assert judged(Reply(record.id, RECORDS[1].answer), record, rewards) == "wrong"


class Writer(LmodModule):
    """Replies to each repeat of a question with another text, and notes what it is trained on."""

    def __init__(self, texts: tuple[str, ...], stop_after: int = 10**9) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.texts, self.left, self.asked, self.taught = texts, stop_after, [], {}
        self.collate = lambda records, root: Batch(records)

    def sampling(self, temperature: float, seed: int) -> AbstractContextManager[None]:
        return nullcontext()

    def respond(self, batch: Batch) -> list[Reply]:
        if self.left <= 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked += [r.id for r in batch.records]
        return [Reply(r.id, self._text(r)) for r in batch.records]

    def _text(self, record: Record) -> str:
        known = {r.id: r for r in RECORDS}[question_of(record.id, record.tags)]
        text = self.texts[int(record.tags.get("repeat", "1")) % len(self.texts)]
        return text.format(answer=known.answer, ratio=ratio(known) if known.facts else 0)

    def training_step(self, batch: Batch, batch_idx: int):
        self.taught |= {r.id: r.target for r in batch.records}
        return self.weight.sum()

    def configure_optimizers(self):
        assert self.trainer.estimated_stepping_batches  # as a schedule does, before the first epoch
        return torch.optim.SGD(self.parameters(), 0.1)


GOOD, BARE, FALSE = "{answer}. The CDR is {ratio:.2f}.", "{answer}", "{answer}. The CDR is 0.01."


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = [replace(r, image=(f"{r.id}.png",), image_plain=(f"{r.id}.png",)) for r in RECORDS]
    return write_curated(tmp_path_factory.mktemp("curated"), named)


def fitted(module: Writer, curated: Path, run: Path, **options: int) -> Writer:
    data = RejectionSampled(curated=curated, tasks=[Glaucoma()], eval_batch_size=8, **options)
    trainer(run, max_epochs=1, limit_val_batches=0).fit(module, data)
    return module


def test_a_model_is_tuned_on_its_kept_replies_alone(curated: Path, tmp_path: Path, capsys) -> None:
    module = fitted(Writer((BARE, GOOD, FALSE)), curated, tmp_path, samples=3)
    assert len(module.asked) == len(set(module.asked)) == 3 * len(RECORDS)
    assert module.taught == {r.id: GOOD.format(answer=r.answer, ratio=ratio(r)) for r in RECORDS}
    printed = capsys.readouterr().out
    for truth in ("GLAUCOMA", "NON-GLAUCOMA"):
        kept = f"glaucoma, {truth}: 20 of 20 questions kept, 20 of 60 replies"
        assert f"{kept} (a false claim 20, nothing of this eye 20)" in printed or (
            f"{kept} (nothing of this eye 20, a false claim 20)" in printed
        )


def test_a_stopped_run_draws_the_rest_alone(curated: Path, tmp_path: Path) -> None:
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        fitted(first := Writer((GOOD,), stop_after=2), curated, tmp_path, samples=2)
    second = fitted(Writer((GOOD,)), curated, tmp_path, samples=2)
    assert first.asked and second.asked and not set(first.asked) & set(second.asked)
    assert len(first.asked) + len(second.asked) == 2 * len(RECORDS) == len(read_replies(tmp_path / "samples"))
    assert fitted(Writer((GOOD,)), curated, tmp_path, samples=2).asked == []
    assert len(second.taught) == len(RECORDS)


def test_questions_without_a_kept_reply_are_left_out_and_counted(curated: Path, tmp_path: Path, capsys) -> None:
    class Quarter(Writer):
        def _text(self, record: Record) -> str:
            number = int(question_of(record.id, record.tags))
            return super()._text(record) if number % 4 < 2 else "no idea"

    module = fitted(Quarter((GOOD,)), curated, tmp_path, samples=1)
    assert sorted(map(int, module.taught)) == [i for i in range(40) if i % 4 < 2]
    assert "GLAUCOMA: 10 of 20 questions kept, 10 of 20 replies (wrong 10)" in capsys.readouterr().out


def test_an_answer_that_would_be_lost_is_refused_with_its_number(curated: Path, tmp_path: Path) -> None:
    class OneSided(Writer):
        def _text(self, record: Record) -> str:
            return super()._text(record) if record.answer == "GLAUCOMA" else "GLAUCOMA"

    with pytest.raises(BadArgument, match=r"glaucoma, NON-GLAUCOMA \(20 questions\)") as refused:
        fitted(OneSided((GOOD,)), curated, tmp_path, samples=1)
    assert "fit --config explained" in str(refused.value)


def test_a_model_that_cannot_draw_is_refused(curated: Path, tmp_path: Path) -> None:
    class Silent(LmodModule):
        respond = Writer.respond
        training_step, configure_optimizers = Writer.training_step, Writer.configure_optimizers

        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

    with pytest.raises(BadArgument, match="model='Silent'"):
        fitted(Silent(), curated, tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"samples": 0}, {"samples": 1025}, {"temperature": 0.0}, {"temperature": 101.0}])
def test_options_are_checked(options: Mapping[str, float], curated: Path) -> None:
    with pytest.raises(BadArgument, match=next(iter(options))):
        RejectionSampled(curated=curated, tasks=[Glaucoma()], **options)  # type: ignore[arg-type]


def test_an_eye_with_two_questions_counts_once_among_the_others() -> None:
    rewards = Rewards(Glaucoma(), [*RECORDS, *[replace(r, id=f"{r.id}/zh", language="zh") for r in RECORDS[2:12:2]]])
    once = Rewards(Glaucoma(), RECORDS)
    said = f"{RECORDS[0].answer}. The CDR is {ratio(RECORDS[0]):.2f}."
    assert rewards(said, RECORDS[0]) == once(said, RECORDS[0])


def test_too_few_other_patients_keep_nothing() -> None:
    few = [replace(asked(2 * i), facts=(Fact("vcdr", 0.62 + i / 20, "ratio", 0.07),)) for i in range(4)]
    said = Reply(few[0].id, "GLAUCOMA. The CDR is 0.62.")
    assert judged(said, few[0], Rewards(Glaucoma(), few)) == "nothing of this eye"


def test_a_chinese_question_may_have_a_chinese_reply_but_no_broken_one() -> None:
    one = replace(RECORDS[0], language="zh")
    said = f"{one.answer}\u3002\u6775\u76d8\u6bd4\u7ea6\u4e3a{ratio(one):.2f}\u3002".replace("\u6775", "\u676f")
    rewards = Rewards(Glaucoma(), RECORDS)
    assert judged(Reply(one.id, said), one, rewards) == "kept"
    assert judged(Reply(one.id, f"{said}\ufffd"), one, rewards) == "another script"
