"""Labels of a gold set: every question of a task is asked for its level, in its own words and images, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.types import ImageFile, Need, Question, Reply, Sample
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import NAMES, RULE, Chain, CrossModality, Level, labelled
from lmod_train.scoring.expertise import LEVELS
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.prompt import prompt
from tests.contracts import TaskContract, record_from

LISTED = Sample("xpcr", "cfp/1", "CFP", Path("a.jpg"), "p1", "open")


def ready(step: str, level: str = "", **fields: object) -> Question:
    tags = {"stage": step} | ({"level": level} if level else {})
    words = prompt(f"Which answer is right at {step}?")
    return Question("chain", words, ("one", "two"), "two", chain="1", chain_step=step, tags=tags, **fields)


class TestContract(TaskContract):
    task = Level(Chain(perturbed=0))
    asked_of = tuple(replace(LISTED, key=level, asked=(ready("DD", level),)) for level in LEVELS)
    not_asked_of = (LISTED,)

    def truth_of(self, sample: Sample, question: Question) -> str:
        return sample.key


@pytest.mark.parametrize("step", STAGE_NAMES)
@pytest.mark.parametrize("level", ["", *LEVELS])
def test_a_stated_level_is_kept_and_the_rule_stands_where_there_is_none(step: str, level: str) -> None:
    needing = ready(step, level, needs=(Need("earlier"),))
    (asked,) = Level(Chain()).ask(replace(LISTED, asked=(needing,)))
    (own,) = Chain().ask(replace(LISTED, asked=(needing,)))
    assert asked.answer == f"Level: {NAMES[level or RULE[step]]}"
    assert asked.tags == {"stage": step, "provisional": "stated" if level else "rule"}
    assert not asked.needs, "a level is labelled without earlier answers"
    ids = [record_from(q, LISTED, t).id for q, t in ((asked, Level(Chain())), (own, Chain()))]
    assert labelled(ids[0]) == ids[1]
    text = asked.messages[0].parts[-1].text
    assert f"Which answer is right at {step}?\nA. one\nB. two" in text
    assert "Confidence" not in text and "LETTER" not in text, "a reader must not answer the question itself"


def test_several_images_and_a_task_without_letters() -> None:
    shared = (ImageFile(Path("a.jpg"), "a", "CFP"), ImageFile(Path("b.jpg"), "b", "OCT"))
    question = Question("cross_modality", prompt("Which?"), ("one", "two"), "two", tags={"level": "S"})
    case = replace(LISTED, image=None, modality="CFP+OCT", shared_images=shared, asked=(question,))
    (asked,) = Level(CrossModality()).ask(case)
    assert [part.type for part in asked.messages[0].parts] == ["image", "image", "text"]
    (plain,) = Level(Glaucoma()).ask(replace(LISTED, labels={"glaucoma": "yes"}))
    assert (plain.task, plain.answer) == ("glaucoma_level", "Level: attending")


@pytest.mark.parametrize(
    ("written", "read"),
    [("r", "resident"), ("A", "attending"), (" S. ", "specialist"), ("Resident", "resident"),
     ("Level: specialist", "specialist"), ("resident or attending", "ambiguous"), ("B", "no_match"), ("", "empty")],
)  # fmt: skip
def test_what_readers_write(written: str, read: str) -> None:
    found = Level(Chain()).parse(Reply("a", written))
    assert getattr(found, "reason", found) == read
