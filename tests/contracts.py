"""What every source, task, ... promises: inherit the class, give the fixture, and the promises are tested."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from lmod_train.core.artifacts.predictions import answer_json, answer_of
from lmod_train.core.artifacts.records import chain_id, read_records, record_id, write_records
from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.types import Dropped, Prediction, Question, Record, Reply, Sample, Unparsed
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.modalities import unknown_words, words_of
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.curation.inputs import check
from lmod_train.data.curation.sharing import key_conflicts
from lmod_train.data.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.tasks.filled import placeholders
from lmod_train.tasks.parsed_replies import scores_of
from lmod_train.tasks.ways import Ways, count_orders, in_every_way
from lmod_train.tasks.wordings import count_wordings


class SourceContract:
    """Promises of a source. Give a fixture `source`: an instance over a folder with at least one sample."""

    own_labels: ClassVar[Mapping[str, Collection[str]]] = {}
    """Label -> its words, of labels that are not of the vocabulary; only tasks of your own read them."""

    @pytest.fixture
    def source(self) -> Source:
        raise NotImplementedError("give a fixture named source")

    def test_constants_are_stated(self, source):
        assert source.name.isidentifier() and source.licence and source.reference.startswith("https://")
        assert not unknown_words(source.modality)
        assert isinstance(source.redistributable, bool)

    def test_verify_accepts_the_layout(self, source):
        source.verify()

    def test_every_value_is_of_the_declared_type(self, source):
        for item in source.samples():
            check(item, source.name, type(source).__qualname__)

    def test_two_readings_are_the_same(self, source):
        assert list(source.samples()) == list(source.at(source.root).samples())

    def test_keys_are_unique_and_safe_in_paths(self, source):
        keys = [s.key for s in source.samples() if isinstance(s, Sample)]
        assert keys and len(keys) == len(set(keys))
        assert not [k for k in keys if k.startswith("/") or ".." in k.split("/") or "\\" in k]

    def test_samples_carry_the_source_and_files_that_exist(self, source):
        for sample in (s for s in source.samples() if isinstance(s, Sample)):
            assert (sample.source, sample.licence) == (source.name, source.licence)
            assert set(words_of(sample.modality)) <= set(words_of(source.modality))
            files = [*([sample.image] if sample.image else []), *(shared.path for shared in sample.shared_images)]
            assert all(file.is_file() and file.is_relative_to(source.root) for file in files)
            assert sample.group
            assert all(mask.path.is_file() for mask in sample.masks)

    def test_pixels_stay_unread(self, source):
        assert all(s.size == (0, 0) and s.sha256 == "" for s in source.samples() if isinstance(s, Sample))

    def test_words_are_of_the_vocabulary(self, source):
        structures = {term.name for term in STRUCTURES}
        known = {term.name: {"yes", "no"} for term in CONDITIONS} | {s.name: set(s.levels) for s in SCALES}
        known |= {term.name: {"yes", "no"} for term in STRUCTURES}
        known |= {"diagnosis": {term.name for term in CONDITIONS}, **self.own_labels}
        for sample in (s for s in source.samples() if isinstance(s, Sample)):
            for concept, value in sample.labels.items():
                assert concept in known, f"{sample.key}: {concept!r} is no concept of the vocabulary; see `own_labels`"
                assert value in known[concept], f"{sample.key}: {concept} is {value!r}, not one of {known[concept]}"
            assert sample.patient.laterality in {None, "left", "right"}
            assert sample.patient.sex in {None, "female", "male"}
            assert sample.patient.age is None or 0 <= sample.patient.age < 120
            assert {outline.structure for outline in sample.outlines} <= structures
            assert {region.structure for region in sample.regions} <= structures
            for coding in (coding for mask in sample.masks for coding in mask.codings):
                assert "background" in coding and set(coding) - {"background"} <= structures

    def test_ready_questions_can_be_asked(self, source):
        samples = [s for s in source.samples() if isinstance(s, Sample)]
        assert not list(key_conflicts(samples))
        for sample in samples:
            known = {(q.task, q.language, q.chain_step, q.variant) for q in sample.asked}
            assert len(known) == len(sample.asked), f"{sample.key}: two questions of one id"
            for question in sample.asked:
                places = sum(p.type == "image" for m in question.messages for p in m.parts)
                shown = question.images or range(places)
                assert len(shown) == places and set(shown) <= set(range(len(sample.image_keys)))
                assert question.messages[-1].role == "user" and question.answer
                assert question.shows == "own" and not (question.regions and question.marked), "its image is as it is"
                needed = {(n.task or question.task, question.language, n.chain_step, n.variant) for n in question.needs}
                assert needed <= known, f"{sample.key}: a question needs one that is not there"
                numbers = placeholders(question.messages) if question.needs else set()
                assert numbers <= set(range(1, len(question.needs) + 1))
                assert all(key and value for key, value in question.tags.items())

    def test_drops_name_a_file_and_a_reason(self, source):
        for dropped in (s for s in source.samples() if isinstance(s, Dropped)):
            assert dropped.source == source.name and dropped.reason and (source.root / dropped.file).exists()
            assert dropped.extent in ("gone", "part")

    def test_found_in_means_this_very_folder(self, source, tmp_path):
        assert type(source).found_in(source.root)
        assert not type(source).found_in(tmp_path)
        (tmp_path / "deeper" / "copy").mkdir(parents=True)
        (tmp_path / "deeper" / "copy" / "data").symlink_to(source.root, target_is_directory=True)
        assert not type(source).found_in(tmp_path / "deeper")

    def test_an_empty_folder_is_told_with_the_expected_tree(self, source, tmp_path):
        for reading in (lambda s: s.verify(), lambda s: list(s.samples())):
            with pytest.raises(SourceNotFound) as caught:
                reading(source.at(tmp_path))
            message = str(caught.value)
            assert str(tmp_path) in message and "<root>/" in message and f"--roots.{source.name}" in message


def record_from(question: Question, sample: Sample, task: Task) -> Record:
    """Return the record that curation would make of a question, without an image."""
    path = f"{type(task).__module__}.{type(task).__qualname__}"
    return Record(
        id=record_id(task.name, sample.source, sample.key, question.chain_step, question.variant),
        task=task.name,
        task_class=path,
        task_version=task.version,
        source=sample.source,
        key=sample.key,
        modality=sample.modality,
        image=("a.jpg",),
        image_plain=("a.jpg",),
        image_sha256=(f"sha-{sample.key}",),
        split="test",
        group=f"{sample.group}-{sample.key}",
        language=question.language,
        messages=question.messages,
        choices=question.choices,
        answer=question.answer,
        regions=question.regions,
        chain=chain_id(sample.source, question.chain),
        chain_step=question.chain_step,
        variant=question.variant,
        tags=question.tags,
        patient=sample.patient,
    )


FREE = {"<AN INTEGER>": r"-?[0-9]+", "<AGE GROUP>": r"<?[0-9]+[+]?|[0-9]+–[0-9]+"}
"""Placeholders by which a printed prompt asks for a kind of word without listing them -> what the choices then are."""


class TaskContract:
    """What every task keeps; a test class inherits it and names a task and samples."""

    task: ClassVar[Task]
    asked_of: ClassVar[tuple[Sample, ...]]
    not_asked_of: ClassVar[tuple[Sample, ...]]
    perfect: ClassVar[tuple[str, ...]] = ("accuracy_strict", "precision", "recall")
    """The figures that a responder without a mistake has at 1, over all records."""

    @staticmethod
    def predictions_of(task: Task, samples: Sequence[Sample], replies: Sequence[str]) -> list[Prediction]:
        """Ask the samples one after the other and let the task read the reply of the same place."""
        predictions = []
        asked = [(sample, question) for sample in samples for question in task.ask(sample)]
        for (sample, question), text in zip(asked, replies, strict=True):
            record = record_from(question, sample, task)
            reply = Reply(record.id, text)
            predictions.append(Prediction(record, reply, task.parse(reply, record)))
        return predictions

    def questions(self) -> list[tuple[Sample, Question]]:
        found = [(sample, question) for sample in self.asked_of for question in self.task.ask(sample)]
        assert len(found) >= len(self.asked_of) > 0
        return found

    @staticmethod
    def truth_of(sample: Sample, question: Question) -> object:
        """Return what decides about the reference reply, besides the patient."""
        return sample.labels, question.variant, [(r.id, r.structure) for r in question.regions]

    def test_name_version_and_choices(self) -> None:
        assert self.task.name == self.task.name.lower().replace(" ", "_") != ""
        assert type(self.task.version) is int
        assert self.task.version >= 1
        assert all(isinstance(choice, str) and choice for choice in self.task.choices)

    def test_nothing_is_asked_without_what_is_needed(self) -> None:
        assert [list(self.task.ask(sample)) for sample in self.not_asked_of] == [[] for _ in self.not_asked_of]

    def test_asking_twice_asks_the_same(self) -> None:
        assert [list(self.task.ask(sample)) for sample in self.asked_of] == [
            list(self.task.ask(s)) for s in self.asked_of
        ]

    def test_questions_are_the_tasks_own_and_whole(self) -> None:
        for _, question in self.questions():
            assert question.task == self.task.name
            assert question.choices
            assert set(question.choices) <= set(self.task.choices)
            (message,) = question.messages
            assert message.role == "user"
            assert [part.type for part in message.parts] == ["image", "text"][question.shows == "none" :]
            text = message.parts[-1].text
            assert re.search("<(?:IMAGE TYPE|IMAGE DESCRIPTION|OPTIONS|DISEASE|CONDITION|SHORT)>", text) is None
            free = next((pattern for placeholder, pattern in FREE.items() if placeholder in text), None)
            assert all(choice in text or (free and re.fullmatch(free, choice)) for choice in question.choices)

    def test_records_survive_the_disk(self, tmp_path: Path) -> None:
        records = [record_from(question, sample, self.task) for sample, question in self.questions()]
        write_records(tmp_path / "records.parquet", records)
        assert read_records(tmp_path / "records.parquet") == records

    def test_the_reference_reply_gives_the_truth_back(self) -> None:
        for sample, question in self.questions():
            record = record_from(question, sample, self.task)
            answer = self.task.parse(Reply(record.id, question.answer), record)
            assert not isinstance(answer, Unparsed)
            assert answer_of(answer_json(answer)) == answer
            if isinstance(answer, dict):
                assert sorted(answer) == sorted(region.id for region in question.regions)
                assert set(answer.values()) <= set(question.choices)
            else:
                assert answer in question.choices
                assert question.stratum in ("", answer)

    def test_every_way_of_asking_has_the_same_format_options_and_truth(self) -> None:
        """The paraphrases of the task (`Task.wordings`), and other orders of the options that its prompt lists."""
        for sample, question in self.questions():
            record = record_from(question, sample, self.task)
            wordings, orders = (
                count_wordings(record, self.task.wordings),
                count_orders(record, self.task.listed(record)),
            )
            several = Ways("all" if wordings > 1 else 1, min(4, orders))
            asked = in_every_way([record], {self.task.name: self.task}, several, ())
            words = [way.messages[-1].parts[-1].text for way in asked]
            assert len(asked) == wordings * min(4, orders) == len(set(words)) == len({way.id for way in asked})
            for way, text in zip(asked, words, strict=True):
                assert sorted(text.partition("ormat: ")[2]) == sorted(words[0].partition("ormat: ")[2])
                assert all(text.count(choice) == words[0].count(choice) for choice in question.choices)
                assert replies_of(way) == replies_of(record), "the likelihood of a choice is that of the same reply"
                for reply in (question.answer, *replies_of(record).values()):
                    assert self.task.parse(Reply(way.id, reply), way) == self.task.parse(
                        Reply(record.id, reply), record
                    )

    def test_a_constrained_reply_is_read_as_its_choice(self) -> None:
        """As the local models and the servers write it (`--model.constrain choices`), for every choice of a record."""
        for sample, question in self.questions():
            record = record_from(question, sample, self.task)
            for choice, text in replies_of(record).items():
                stated = {"answer": text}
                for reply in (text, json.dumps(stated), json.dumps(stated, ensure_ascii=False, indent=2)):
                    assert self.task.parse(Reply(record.id, reply), record) == choice, reply

    def test_different_truths_have_different_answers(self) -> None:
        truths = [(s.patient, self.truth_of(s, q)) for s, q in self.questions()]
        answers = [q.answer for _, q in self.questions()]
        assert len({str(t) for t in truths}) == len(set(answers))

    def test_no_reply_is_failed_and_an_empty_one_unparsed(self) -> None:
        for sample, question in self.questions():
            record = record_from(question, sample, self.task)
            assert self.task.parse(Reply(record.id, "", "error", "HTTP 500"), record) == Unparsed("failed", "HTTP 500")
            assert self.task.parse(Reply(record.id, ""), record) == Unparsed("empty")

    def test_the_metrics_without_records_are_those_of_scores_csv(self) -> None:
        """Of records in two modalities; a task whose metrics depend on its records asks for some."""
        asked = [record_from(question, sample, self.task) for sample, question in self.questions()]
        records = [replace(r, id=f"{n}/{m}", modality=m) for n, r in enumerate(asked) for m in ("CFP", "OCT")]
        scores = scores_of([self.task], [self.task.prediction(r, Reply(r.id, r.answer)) for r in records])
        try:
            named = self.task.metric_names()
        except BadArgument:
            named = self.task.metric_names(records)
        assert named == [s.metric for s in scores if s.subset == "all"]

    def test_a_perfect_responder_scores_one_once_per_id(self) -> None:
        samples = [replace(sample, key=f"{sample.key}/{i}") for i, sample in enumerate(self.asked_of)]
        answers = [question.answer for sample in samples for question in self.task.ask(sample)]
        predictions = self.predictions_of(self.task, samples, answers)
        scores = self.task.score([*predictions, *predictions])
        best = [s for s in scores if s.subset == "all" and s.metric in self.perfect]
        assert best
        scored = sum(self.task.is_scored(p.record) for p in predictions)
        assert all(s.value == 1.0 and s.n == scored for s in best) and scored
        assert self.task.score([]) == []
