"""The error analysis of runs with known failures."""

from dataclasses import replace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Table
from lmod_train.core.types import Reply
from lmod_train.report.contents import Figure
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.sections.error_types import ErrorTypes
from lmod_train.scoring.items import items_of
from tests.tasks.failures.asked import prediction_of, question
from tests.tasks.failures.labelled import Labelled

REPLIES = {
    "a": "GLAUCOMA; Explanation: the rim is thin.",  # right
    "b": "NON-GLAUCOMA",  # wrong, no explanation
    "c": "sign " * 60,  # wrong, loop
    "d": "GLAUCOMA; Explanation: a normal fundus.",  # right, and contradicts itself
    "e": "NON-GLAUCOMA; Explanation: the optic cup is clearly enlarged.",  # wrong, contradicts itself
    "f": "I cannot tell.<|im_end|>",  # wrong: special tokens come first
    "g": "NON-GLAUCOMA; Explanation: small cup.",  # wrong, no rule
}


def outcomes(replies=REPLIES, **changed):
    task, record = question("glaucoma")
    found = []
    for id, reply in replies.items():
        one = prediction_of(Labelled("glaucoma", reply, frozenset(), "develop"))
        found.append(replace(one, record=replace(record, id=f"glaucoma/s/{id}", group=id), reply=Reply(id, reply)))
    items = items_of(found, lambda p: task.parse(Reply("x", p.record.answer), p.record))
    return Outcomes(tuple(found), {"glaucoma": items}, {"glaucoma": task.choices}, None, **changed)


def parts(section=None, **runs):
    found = list((section or ErrorTypes()).parts(Results((), runs, {})))
    return {part.name: part for part in found if isinstance(part, Table | Figure)}


def test_counts_of_failures_modes_and_types_are_those_known():
    shown = parts(model=outcomes())
    failures = {row[2]: row[3] for row in shown["error_failures"].rows}
    assert failures == {"loop": 1, "special tokens": 1, "abstention": 1, "no explanation": 1,
                        "answer against its explanation": 2}  # fmt: skip
    modes = {row[2]: row[3] for row in shown["error_modes_lmod"].rows}
    assert modes == {"misclassification": 3, "inconsistent reasoning": 2, "assertion": 1}
    types = {row[2]: row[3:5] for row in shown["error_types_lmod_plus"].rows}
    assert types["text generation failure"] == (2, 5) and types["inconsistent reasoning"] == (1, 5)
    assert types["not decided"] == (2, 5) and sum(count for count, _ in types.values()) == 5


def test_published_shares_stand_beside_glaucoma_only():
    shown = parts(model=outcomes())["error_types_lmod_plus"].rows
    assert [row[-1] for row in shown] == [0.08, 0.21, 0.06, 0.15, 0.5, None]
    real = outcomes()
    predictions = [replace(p, record=replace(p.record, phantom=True)) for p in real.predictions]
    drawn = replace(real, predictions=tuple(predictions))
    found = parts(model=drawn)["error_types_lmod_plus"]
    assert "published share" not in [c.head for c in found.columns] and "Published" not in found.note
    assert [row[:-1] for row in shown] == [*found.rows]


def test_a_sample_is_the_same_in_every_run_and_its_size_is_stated():
    section = ErrorTypes(most=6)
    found = list(section.parts(Results((), {"one": outcomes(), "two": outcomes()}, {})))
    assert "6 of 14 replies" in found[0].text
    rows = next(part for part in found if getattr(part, "name", "") == "error_modes_lmod").rows
    assert [row[2:] for row in rows if row[1] == "one"] == [row[2:] for row in rows if row[1] == "two"]
    with pytest.raises(BadArgument, match="most"):
        ErrorTypes(most=0)


def test_examples_are_cut_and_name_their_record():
    shown = {row[0]: row for row in parts(model=outcomes())["error_examples"].rows}
    assert shown["loop"][2] == "glaucoma/s/c" and shown["loop"][3].endswith(" ...")
    assert shown["special tokens"][4] == "<|im_end|>"


def test_the_figure_draws_the_shares_of_each_model(tmp_path):
    figure = parts(**{"a $model": outcomes(), "b": outcomes({"a": "NON-GLAUCOMA"})})["error_types"]
    wrong = {row[1]: 0 for row in figure.table.rows}
    for row in figure.table.rows:
        wrong[row[1]] += row[3]
    assert list(wrong) == ["a $model", "b"] and all(wrong.values())
    figure.draw(figure.table, tmp_path)
    assert {file.suffix for file in tmp_path.iterdir()} == {".png", ".svg"}


def test_precision_of_the_rules_is_shown_and_nothing_without_replies():
    assert len(parts(model=outcomes())["error_rules"].rows) == 12
    assert parts() == {} and parts(model=outcomes({})) == {}
