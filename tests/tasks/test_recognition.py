"""Recognition of the kind of image: the printed words, the modalities asked about, and the scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.types import Question, Sample
from lmod_train.core.vocabulary.modalities import KIND_SEEN, MODALITIES, SEEN
from lmod_train.tasks.recognition import Recognition
from tests.contracts import TaskContract

SAMPLE = Sample("refuge", "a", "CFP", Path("a.jpg"), "p1", "open")


class TestContract(TaskContract):
    task = Recognition()
    asked_of = tuple(replace(SAMPLE, key=modality, modality=modality) for modality in ("CFP", "OCT", "SLO", "LP", "SS"))
    not_asked_of = (replace(SAMPLE, modality="CFP+OCT"), replace(SAMPLE, modality="FFA"), replace(SAMPLE, modality=""))

    def truth_of(self, sample: Sample, question: Question) -> str:
        return KIND_SEEN[sample.modality]

    def test_questions_are_the_tasks_own_and_whole(self) -> None:
        """The reply is in free words: no option stands in the prompt."""
        for _, question in self.questions():
            assert (question.task, question.choices) == ("recognition", tuple(SEEN))
            ((image, text),) = (message.parts for message in question.messages)
            assert image.type == "image" and not any(choice in text.text for choice in question.choices)


def test_every_kind_is_one_of_the_modalities() -> None:
    assert set(KIND_SEEN) <= {modality.name for modality in MODALITIES} and set(KIND_SEEN.values()) == set(SEEN)


def test_an_eye_of_another_kind_is_answered_and_wrong() -> None:
    samples = [replace(SAMPLE, key=str(i), modality=m) for i, m in enumerate(("CFP", "CFP", "OCT", "SS"))]
    replies = ["A fundus photograph.", "A close-up view of a human eye.", "A grey image.", "Cataract surgery."]
    predictions = TaskContract.predictions_of(Recognition(), samples, replies)
    scores = {s.metric: s.value for s in Recognition().score(predictions) if s.subset == "all"}
    assert scores["accuracy_strict"] == 0.5 and scores["share_unparsed"] == 0.25
    assert scores["accuracy_answered"] == pytest.approx(2 / 3)
