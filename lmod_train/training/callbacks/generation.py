"""The evaluation callback: replies of any module are stored and read as they come, and scored at the end.

`validate`, `test`, `predict` and the validation in `fit` all use it, for every kind of model. The logged scores are
computed by the function that `rescore` and the report call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_warn

from lmod_train.core.artifacts.bert_scores import BertScore, read_bert_scores, text_hash, write_bert_scores
from lmod_train.core.artifacts.parquet import is_of_other_version
from lmod_train.core.artifacts.records import read_run_column, write_run_records
from lmod_train.core.artifacts.replies import ReplyFile, has_failed, read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.lock import locked
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Answer, Batch, Identity, Prediction, Record, Reply, Unparsed
from lmod_train.core.weight_values import known_by
from lmod_train.scoring.headline_metrics import direction, headline_metric
from lmod_train.scoring.metrics.bert_score import Encoder
from lmod_train.scoring.metrics.named import TaskMetrics
from lmod_train.tasks.asked import Current, asked
from lmod_train.tasks.base import Task
from lmod_train.tasks.cascade import as_sent, current_in_rounds, hash_sent, is_due
from lmod_train.tasks.parsed_replies import Scored, parse_replies, scores_with_spread
from lmod_train.tasks.ways import is_greedy
from lmod_train.training.callbacks.protocols import Answering, answering, data_of

if TYPE_CHECKING:
    import torch

ENCODING = 3600.0
"""Seconds that a shard waits for another one that computes BERTScores."""


class GenerationEval(Callback):
    """Appends the replies of each batch to ``RUN/replies``; at the end scores them and logs the scores.

    A continued run does not ask a record again that has a reply to the same words and images by the same weights,
    template and settings (`lmod_train.tasks.asked`). Every rank writes its own file; at the end all ranks gather
    outcomes, keep one per record id, and log the same value. A process that asks a shard of the records logs no scores.

    Args:
        log_subsets: Log scores of subsets (modality, sex, age ...) too; by default only those over all records.
        encoders: Language -> folder of the text encoder for BERTScore of open answers, ``FOLDER`` or ``FOLDER@LAYER``
            (default: the last layer); none computes no BERTScore. `validate` and `test` compute it.

    Attributes:
        scored: Task -> predictions and scores of the latest evaluation; empty for a shard.
    """

    def __init__(self, log_subsets: bool = False, encoders: dict[str, str] | None = None) -> None:
        self._log_subsets, self._named = log_subsets, encoders
        self._encoders: dict[str, Encoder] = {}
        self._file: ReplyFile | None = None
        self._records: dict[str, Record] = {}
        self._asked: dict[str, str] = {}
        self._replies: dict[str, Reply] = {}
        self._tasks: Mapping[str, Task] = {}
        self._usable: dict[tuple[str, str], Reply] = {}
        self._sent: dict[str, str] = {}
        self._read: dict[str, Prediction] = {}
        self._metrics: dict[str, TaskMetrics] = {}
        self._counted: set[str] = set()
        self._failed: Collection[str] = frozenset()
        self.scored: dict[str, Scored] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Register the records that are already answered, which are determined once the weights are loaded."""
        self._encoders = encoders_named("--evaluation.encoders", self._named)
        data, module = data_of(trainer), answering(pl_module)
        self._records, self._tasks = {r.id: r for r in data.asked(stage)}, data.tasks
        scored = {} if stage == "predict" or data.shard else data.tasks  # a shard has no scores of its own
        one = ["share_answered"]  # any name will do: what is logged are all scores of the state, subsets too
        self._metrics = {name: task.metrics(one) for name, task in scored.items()}
        self._forget()

        def answered() -> list[str]:
            """Return the ids with a valid reply by the loaded weights; failed requests are not among them."""
            saved = self._begin(trainer, module, stage)
            valid = [r for r in saved if r.step == module.step]
            self._usable = {(r.id, r.asked): r for r in valid if not has_failed(r)}
            found = self._current(valid).replies
            self._replies = {id: r for id, r in found.items() if not has_failed(r)}
            _log_asked_again(self._current(saved), len(found) - len(self._replies))
            self._failed = found.keys() - self._replies.keys()
            return list(self._replies)

        data.leave_out(frozenset if stage == "fit" else answered, lambda: self._failed)
        data.ask_when_due(self._due)
        if stage == "fit":
            self._begin(trainer, module, stage)

    @property
    def answered(self) -> Mapping[str, Reply]:
        """Return record id -> reply of the questions that have one, failed requests not counted."""
        return {id: reply for id, reply in self._replies.items() if not has_failed(reply)}

    def _forget(self) -> None:
        self._read, self._counted = {}, set()
        for metrics in self._metrics.values():
            metrics.reset()

    def _current(self, saved: Iterable[Reply]) -> Current:
        return current_in_rounds(list(self._records.values()), self._tasks, self._asked, saved)

    def _due(self, records: Sequence[Record]) -> list[Record]:
        """Return the records to ask now, with the answers to earlier ones in their words.

        Left out are those with a reply to these words, and those with an earlier question whose request failed, which
        the next run asks.
        """
        answers = self._answers_to({need for record in records for need in record.needs})
        due = [record for record in records if is_due(record, answers)]
        hashes = {r.id: hash_sent(r, self._asked[r.id], answers) for r in due}
        self._sent |= hashes
        self._replies |= {r.id: self._usable[r.id, hashes[r.id]] for r in due if (r.id, hashes[r.id]) in self._usable}
        return [as_sent(r, answers) for r in due if self._asked_as(r.id) != hashes[r.id]]

    def _answers_to(self, ids: set[str]) -> dict[str, Answer | Unparsed]:
        """Return the answers to records; those without a reply, or with a failed one, are absent."""
        return {p.record.id: p.answer for p in self._predictions(ids & self._replies.keys()) if p.status != "failed"}

    def _predictions(self, ids: Collection[str]) -> list[Prediction]:
        """Return the predictions of records with a reply, each reply parsed once."""
        for id in ids:
            if id not in self._read or self._read[id].reply != self._replies[id]:
                record = self._records[id]
                self._read[id] = self._tasks[record.task].prediction(record, self._replies[id])
        return [self._read[id] for id in ids]

    def _count(self, ids: Iterable[str]) -> None:
        """Add the predictions of records with a reply to the metrics of their tasks."""
        found = self._predictions(list(ids)) if self._metrics else []
        self._counted |= {p.record.id for p in found}
        for metrics in self._metrics.values():
            metrics.update(found)

    def _asked_as(self, id: str) -> str:
        """Return the hash of what the reply to a record is a reply to; empty without a reply."""
        return self._replies[id].asked if id in self._replies else ""

    def _begin(self, trainer: Trainer, module: Answering, stage: str) -> list[Reply]:
        """Write the run's records, open the reply file, and return the replies that were stored before."""
        run = Run(Path(trainer.default_root_dir))
        who = module.identity()
        _log_equal_repeats(self._records.values(), who)
        _log_asked_freely(self._records.values(), who)
        weights = weights_of(trainer, who, stage)
        self._asked = {r.id: asked(r, weights, who.template, who.settings) for r in self._records.values()}
        saved = list(read_replies(run.replies).values())
        if trainer.is_global_zero:
            _log_changed_answers(run.records, self._records, self._asked)
            write_run_records(run.records, self._records.values(), self._asked)
        trainer.strategy.barrier("every rank has read the saved replies before one writes")
        self._file = ReplyFile(run.replies_of(trainer.global_rank, data_of(trainer).shard))
        return saved

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Close the reply file, and compute the BERTScores of all answers of the run that have none yet."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if self._encoders and stage in ("validate", "test") and trainer.is_global_zero:
            self._encode(Run(Path(trainer.default_root_dir)))

    def _encode(self, run: Run) -> None:
        """Compute the missing BERTScores; shards that end together do so in turn, so that none writes over another."""
        with locked(run.folder / ".bert_scores", "--run", ENCODING):
            replies = self._current(read_replies(run.replies).values()).replies
            records, known = self._records.values(), self._read.values()
            found = [p for task in self._tasks.values() for p in parse_replies(task, records, replies, known)]
            score_answers(run.bert_scores, self._encoders, found)

    def _take(self, trainer: Trainer, replies: Sequence[Reply], batch: Batch) -> None:
        """Append the replies of a batch; records that were not asked have none.

        Raises:
            RuntimeError: The ids of the replies are not those of the batch.
        """
        if trainer.sanity_checking or self._file is None:
            return
        if {r.id for r in replies} != {r.id for r in batch.records}:
            raise RuntimeError("a responder must return one reply per record of the batch, with its id")
        sent = [r for r in replies if not r.not_asked]
        marked = [replace(writable(r), asked=self._sent.get(r.id, self._asked[r.id])) for r in sent]
        self._file.append(marked)
        self._replies |= {r.id: r for r in marked}
        self._count(r.id for r in marked)

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *place: Any
    ) -> None:
        """Store the replies of a batch."""
        self._take(trainer, outputs, batch)

    on_test_batch_end = on_predict_batch_end = on_validation_batch_end  # type: ignore[assignment]

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compute and log the scores."""
        self._score(trainer, pl_module, "val")

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compute and log the scores."""
        self._score(trainer, pl_module, "test")

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """In `fit`, discard the replies of the previous validation."""
        if trainer.state.fn == "fit":
            self._replies = {}
            self._forget()

    def _score(self, trainer: Trainer, pl_module: LightningModule, prefix: str) -> None:
        if trainer.sanity_checking:
            return
        self._count(self._replies.keys() - self._counted)  # those stored before
        for name in self._metrics:
            self.scored[name] = self._scored(trainer, pl_module, name)
            for score in self.scored[name].scores:
                if score.value is not None and (self._log_subsets or score.subset == "all"):
                    subset = "" if score.subset == "all" else f"/{score.subset}"
                    logged = f"{prefix}/{name}/{score.metric}{subset}"
                    pl_module.log(logged, score.value, sync_dist=False, batch_size=score.n)
        if trainer.state.fn == "fit" and (heads := list(_headline_scores(self.scored))):
            pl_module.log(f"{prefix}/score", sum(heads) / len(heads), sync_dist=False, batch_size=len(self._records))

    def _scored(self, trainer: Trainer, pl_module: LightningModule, name: str) -> Scored:
        """Return predictions and scores of one task over all ranks, with one outcome per record id."""
        if trainer.world_size > 1:
            self._metrics[name].to(pl_module.device)  # where its backend gathers
        gathered, scores = self._metrics[name].scored()
        place = {id: number for number, id in enumerate(self._records)}
        ordered = sorted(gathered, key=lambda p: place[p.record.id])  # as `rescore` has them
        ordered = [self._read.get(p.record.id, p) for p in ordered]  # gathered ones are without what the model was sent
        return Scored(ordered, scores_with_spread(self._tasks[name], ordered, scores))


def _headline_scores(scored: Mapping[str, Scored]) -> Iterator[float]:
    """Yield the headline score of each task that has one; one that is better if smaller counts negatively."""
    for name, found in scored.items():
        own = [score for score in found.scores if score.subset == "all"]
        metric = headline_metric(own, name) if own else ""
        for score in own:
            if score.metric == metric and score.value is not None:
                yield -score.value if direction(metric) == -1 else score.value


def writable(reply: Reply) -> Reply:
    """Return a reply with a question mark for each lone surrogate, which no file in UTF-8 holds."""
    texts = {name: getattr(reply, name).encode("utf-8", "replace").decode() for name in ("reply", "rendered", "error")}
    return replace(reply, **texts)


def weights_of(trainer: Trainer, who: Identity, stage: str) -> list[str]:
    """Return the hashes or names of a command's weights; the first rank reads the files for all.

    In `fit` these are the weights at step 0; the step of a reply identifies the later ones.
    """
    loaded = [] if stage == "fit" or not trainer.ckpt_path else [Path(trainer.ckpt_path)]
    known = [known_by(weights) for weights in (*who.weights, *loaded)] if trainer.is_global_zero else []
    return trainer.strategy.broadcast(known)


def _log_equal_repeats(records: Iterable[Record], who: Identity) -> None:
    if is_greedy(who.settings) and any("repeat" in r.tags for r in records):
        rank_zero_warn("data.asking.repeats: the decoding is greedy, so that all repeats of a question are equal")


def _log_asked_freely(records: Iterable[Record], who: Identity) -> None:
    """Log the number of questions of each task whose replies should be constrained to choices, and cannot be."""
    every = Counter(r.task for r in records)
    free = Counter(r.task for r in records if not replies_of(r)) if "constrain" in who.settings else {}
    for task, n in free.items():
        why = "as these have no list of choices of which one is the reply"
        rank_zero_info(f"constrain choices: {task}: {n} of {every[task]} questions are asked freely, {why}")


def _log_asked_again(saved: Current, failed: int) -> None:
    counted = {
        "replies to other words, images, choices, weights, template or settings": saved.stale,
        "failed requests": failed,
    }
    if any(counted.values()):
        listed = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n)
        rank_zero_info(f"asked again, and the old lines kept: {listed}")


def _log_changed_answers(file: Path, records: Mapping[str, Record], now: Mapping[str, str]) -> None:
    """Log the number of records with unchanged questions whose reference answers have changed."""
    if not file.exists() or is_of_other_version(file):
        return
    answers = read_run_column(file, "answer")
    same = [id for id, hash in read_run_column(file, "asked").items() if hash == now.get(id)]
    changed = sum(records[id].answer != answers[id] for id in same)
    if changed:
        rank_zero_info(f"{changed} of {len(records)} reference answers have changed; stored replies are scored again")


# BERTScores of the open answers of a run, computed once and stored in it.


def encoders_named(option: str, encoders: Mapping[str, str] | None) -> dict[str, Encoder]:
    """Return language -> encoder.

    Args:
        option: Option that names them, for errors.
        encoders: Language -> ``FOLDER`` or ``FOLDER@LAYER``; None for none.

    Raises:
        BadArgument: An encoder is not there or not complete.
    """
    return {language: Encoder.named(f"{option}.{language}", name) for language, name in (encoders or {}).items()}


def score_answers(
    path: Path, encoders: Mapping[str, Encoder], predictions: Iterable[Prediction], device: str | torch.device = "cpu"
) -> int:
    """Compute and write the BERTScores of open answers; return the number of those that were not stored before.

    Args:
        path: File of the scores.
        encoders: Language -> encoder; answers to questions in other languages have no score.
        predictions: Of any tasks; only answers in words to questions without choices have a score.
        device: Device of the encoders.
    """
    stored, kept, due = read_bert_scores(path), dict[str, BertScore](), list[Prediction]()
    for prediction in predictions:
        encoder, record = encoders.get(prediction.record.language), prediction.record
        if encoder is None or record.choices or record.regions or not isinstance(prediction.answer, str):
            continue
        known = stored.get(record.id)
        if known and (known.text, known.encoder) == (_hash(prediction), encoder.settings):
            kept[record.id] = known
        else:
            due.append(prediction)
    for language, encoder in encoders.items():
        own = [p for p in due if p.record.language == language]
        found = encoder.f1([(str(p.answer), p.record.answer) for p in own], device)
        for p, f1 in zip(own, found, strict=True):
            kept[p.record.id] = BertScore(_hash(p), encoder.settings, f1, encoder.rescaled(f1))
    if due:
        write_bert_scores(path, kept)
    return len(due)


def _hash(prediction: Prediction) -> str:
    return text_hash(str(prediction.answer), prediction.record.answer)
