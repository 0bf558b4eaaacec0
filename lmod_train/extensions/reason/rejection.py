"""Rejection sampling: a model is tuned on its own replies that are right, for reasons that are true of the eye.

References: Yuan et al. 2023 (arXiv 2308.01825), rejection sampling fine-tuning.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from lightning_utilities.core.rank_zero import rank_zero_only
from tqdm import tqdm

from lmod_train.core.artifacts.replies import ReplyFile, has_failed, read_replies
from lmod_train.core.errors import BadArgument, check_number
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record, Reply
from lmod_train.data.datamodules.class_balance import class_of
from lmod_train.data.datamodules.order import ImageBatches, by_image
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.reason.reward import Rewards
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.asked import asked, current
from lmod_train.tasks.ways import Ways, in_every_way
from lmod_train.training.callbacks.generation import weights_of, writable

Verdict = Literal["kept", "failed or cut off", "another script", "wrong", "a false claim", "nothing of this eye"]
"""What becomes of a drawn reply, and why."""

_OTHER_SCRIPT = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\ufffd]")
"""Characters of Chinese, Japanese and Korean, and the mark of bytes that are no text: drawn tokens, not words."""

SAMPLES = "samples"
"""Folder of the drawn replies in the folder of a run."""

EXPLAINED = "python -m lmod_train fit --config explained --data.curated {}"


class RejectionSampled(RecordsDataModule):
    """Records that are trained on with replies of the model itself, drawn before the first step.

    A reply is kept if it is in the script of the question, its answer is right, every claim is true of this eye, and
    the claims are true of fewer of the other training eyes with the same true answer. Of a question without facts the
    answer alone decides. Of several kept replies one is drawn; a question without any is left out and counted.
    Questions without listed choices are not drawn and keep their reference replies. Drawn replies are stored in
    ``RUN/samples``, so that a run that was stopped does not draw them again.

    Args:
        samples: Number of replies drawn to each training question.
        temperature: Temperature of the drawn replies, above 0.
        **settings: Arguments of `RecordsDataModule`; `seed` is the seed of the replies too.

    Raises:
        BadArgument: `samples` or `temperature` is out of its range; in `fit`, no reply is kept to any question with one
            of the answers.
    """

    def __init__(self, samples: int = 8, temperature: float = 0.7, **settings: Any) -> None:
        super().__init__(**settings)
        check_number("data.samples", samples, 1, 1024, "leave it out for 8")
        check_number("data.temperature", temperature, 0.01, 100, "leave it out for 0.7")
        self.samples, self.temperature = samples, temperature
        self._kept: dict[str, str] | None = None

    def _taught(self, records: list[Record]) -> list[Record]:
        drawn = [r for r in records if r.choices and not r.regions]
        if not drawn:
            return records
        if self._kept is None:  # once, also where a schedule asks for the number of steps first
            judged = self._judged(drawn, self._sampled(drawn))
            rank_zero_only(print)("\n  ".join([self._headline(records, drawn), *_lines(drawn, judged)]))
            self._kept = dict(_kept(drawn, judged, self._seed))
            _refuse_lost(drawn, self._kept, self.samples, self.curated)
        others = {r.id for r in records} - {r.id for r in drawn}
        taught = (replace(r, target=self._kept.get(r.id, "")) for r in records)
        return [r for r in taught if r.target or r.id in others]

    def _headline(self, records: Sequence[Record], drawn: Sequence[Record]) -> str:
        said = (
            f"{self.samples} replies drawn to each of {len(drawn)} training questions, temperature {self.temperature}"
        )
        bare = sum(not r.facts for r in drawn)
        said += f"; {bare} questions without facts, where the answer alone decides" if bare else ""
        open_ = len(records) - len(drawn)
        return said + (f"; {open_} without listed choices, not drawn" if open_ else "")

    def _sampled(self, records: Sequence[Record]) -> dict[str, list[Reply]]:
        """Return record id -> the replies drawn to it; those that are not stored yet are drawn, each once."""
        module, trainer = self._module(), self.trainer
        if not hasattr(module, "sampling"):
            cure = "name one that is tuned, `--model small_base_lora`"
            raise BadArgument("model", type(module).__name__, "a language model whose replies can be drawn", cure)
        assert trainer is not None
        folder = Path(trainer.default_root_dir) / SAMPLES
        several = in_every_way(records, self.tasks, Ways(repeats=self.samples), ())
        with module.sampling(self.temperature, self._seed):
            who = module.identity()
            weights = weights_of(trainer, who, "fit")
            hashes = {r.id: asked(r, weights, who.template, who.settings) for r in several}
            stored = current(hashes, read_replies(folder).values()).replies
            trainer.strategy.barrier("every rank has read the stored replies before one writes")
            file = ReplyFile(folder / f"rank-{trainer.global_rank}.jsonl")
            for replies in self._replies([r for r in several if r.id not in stored]):
                file.append(replace(writable(one), asked=hashes[one.id]) for one in replies)
            file.close()
        trainer.strategy.barrier("every rank has drawn its replies")
        stored = current(hashes, read_replies(folder).values()).replies
        found: defaultdict[str, list[Reply]] = defaultdict(list)
        for one in several:
            found[question_of(one.id, one.tags)].append(stored[one.id])
        return found

    def _replies(self, records: list[Record]) -> Iterator[list[Reply]]:
        """Yield the replies of the module to each batch of this rank."""
        rank, ranks = self._place()
        size = max(self._eval_batch_size, self.samples)
        batches = ImageBatches(by_image(records, size), size, rank=rank, ranks=ranks)
        module, hidden = self._module(), rank > 0 or not records
        for batch in tqdm(self._loader(records, batches), desc="drawing replies", disable=hidden or None):
            yield module.respond(self.on_after_batch_transfer(batch.to(module.device), 0))

    def _judged(self, records: Sequence[Record], replies: Mapping[str, Sequence[Reply]]) -> dict[str, list[Judged]]:
        """Return record id -> its drawn replies with what becomes of each."""
        training = {name: [r for r in records if r.task == name] for name in self.tasks}
        rewards = {name: Rewards(self.tasks[name], own) for name, own in training.items()}
        return {r.id: [(one.reply, judged(one, r, rewards[r.task])) for one in replies[r.id]] for r in records}


Judged = tuple[str, Verdict]
"""Text of a reply and what becomes of it."""


def judged(reply: Reply, record: Record, rewards: Rewards) -> Verdict:
    """Return whether a drawn reply is kept, or why it is not.

    Args:
        reply: The reply.
        record: The question, with the facts of its image.
        rewards: Of the task, with its training records.
    """
    if has_failed(reply) or reply.finish_reason == "length":
        return "failed or cut off"
    if _OTHER_SCRIPT.search(reply.reply) and (record.language != "zh" or "\ufffd" in reply.reply):
        return "another script"
    held = rewards.held(reply, record)
    if held is None:
        return "wrong"
    if not record.facts:
        return "kept"
    if any(one.true is False for one in held):
        return "a false claim"
    apart = [1 - one.exchanged for one in held if one.true and one.exchanged is not None]
    return "kept" if apart and np.mean(apart) > 0 else "nothing of this eye"


def _kept(records: Iterable[Record], judged: Mapping[str, Sequence[Judged]], seed: int) -> Iterator[tuple[str, str]]:
    """Yield record id and one of its kept replies, drawn by record and seed from those of different words."""
    for record in records:
        texts = sorted({text.strip() for text, verdict in judged[record.id] if verdict == "kept"})
        if texts:
            yield record.id, texts[int(shuffle_key(seed, "kept", record.id), 16) % len(texts)]


def _lines(records: Iterable[Record], judged: Mapping[str, Sequence[Judged]]) -> list[str]:
    """Return a line for each task and true answer: questions and replies that are kept, and why others are not."""
    cells: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        cells[record.task, class_of(record)].append(record)
    return [_line(f"{task}, {answer}", own, judged) for (task, answer), own in sorted(cells.items())]


def _line(cell: str, records: Sequence[Record], judged: Mapping[str, Sequence[Judged]]) -> str:
    counts = Counter(verdict for r in records for _, verdict in judged[r.id])
    questions = sum(any(verdict == "kept" for _, verdict in judged[r.id]) for r in records)
    others = ", ".join(f"{name} {n}" for name, n in counts.most_common() if name != "kept")
    kept = f"{cell}: {questions} of {len(records)} questions kept, {counts['kept']} of {counts.total()} replies"
    return f"{kept} ({others})" if others else kept


def _refuse_lost(records: Sequence[Record], kept: Mapping[str, str], samples: int, curated: Path) -> None:
    """Refuse to train where the questions of an answer would be lost, which teaches never to give it.

    Raises:
        BadArgument: No reply to them is kept.
    """
    asked = Counter((r.task, class_of(r)) for r in records)
    lost = asked.keys() - {(r.task, class_of(r)) for r in records if r.id in kept}
    if lost:
        named = ", ".join(f"{task}, {answer} ({asked[task, answer]} questions)" for task, answer in sorted(lost))
        expected = f"a kept reply to some question of every answer (none: {named})"
        cure = f"tune a model that explains first, `{EXPLAINED.format(curated)}`, merge it, and name it; or draw more"
        raise BadArgument("data.samples", samples, expected, cure)
