from collections import Counter
from dataclasses import replace
from pathlib import Path

from lmod_train.core.types import Sample
from lmod_train.tasks.glaucoma import Glaucoma
from tests.contracts import TaskContract


class Counting(Glaucoma):
    def __init__(self):
        super().__init__()
        self.parsed = Counter()

    def parse(self, reply, record=None):
        self.parsed[reply.reply] += 1
        return super().parse(reply, record)


def test_each_reference_reply_to_a_question_is_parsed_once():
    task = Counting()
    eye = Sample("refuge", "a", "CFP", Path("a.jpg"), "p1", "open")
    samples = [replace(eye, key=str(i), labels={"glaucoma": "yes" if i % 3 else "no"}) for i in range(9)]
    predictions = TaskContract.predictions_of(task, samples, ["NON-GLAUCOMA, for sure"] * 9)
    task.parsed.clear()
    assert [task.truth(p) for p in predictions] == ["GLAUCOMA" if i % 3 else "NON-GLAUCOMA" for i in range(9)]
    assert task.parsed == {"GLAUCOMA": 1, "NON-GLAUCOMA": 1}
