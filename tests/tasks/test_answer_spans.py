from lmod_train.core.types import Reply
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.highlighted import spans_taken
from lmod_train.tasks.parsed_replies import parse_replies
from tests.scoring.make import record

TASK = Glaucoma()


def words(text, **more):
    """The words of a reply that the task read its answer from."""
    asked = record("a", "GLAUCOMA", task=TASK.name, choices=TASK.choices)
    (prediction,) = parse_replies(TASK, [asked], {asked.id: Reply(asked.id, text, **more)})
    return [text[start:end] for start, end in spans_taken(TASK, prediction)]


def test_words_are_those_that_the_task_reads():
    assert words("NON-GLAUCOMA; Explanation: no glaucoma") == ["NON-GLAUCOMA"]
    assert words("Not GLAUCOMA but NON-GLAUCOMA") == ["NON-GLAUCOMA"]


def test_a_reply_without_an_answer_has_none():
    assert words("GLAUCOMA", finish_reason="refusal") == words("") == []
