"""Imported questions of yes and no: which these are, how they are scored, and that no turn is exported twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Prediction, Reply
from lmod_train.tasks.conversation import YesNoConversation, yes_or_no

CLOSED = ("Yes", "no", "YES.", " No. ", "yes\u3002", "\u662f", "\u5426\u3002")
OPEN = (
    "Yes, a pale disc.",
    "Yes and no.",
    "None.",
    "Normal",
    "no no",
    "\u662f\u7684\uff0c\u6709",
    "Yes..",
    "y",
    "not sure",
    "",
)


@pytest.mark.parametrize("answer", CLOSED)
def test_a_whole_answer_of_yes_or_no_is_closed(answer: str):
    assert len(yes_or_no(answer)) == 2


@pytest.mark.parametrize("answer", OPEN)
def test_an_answer_of_more_words_is_open(answer: str):
    assert yes_or_no(answer) == ()


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> Path:
    """Eight conversations: a yes or no question first in the odd ones, last in the even ones, alone in the last."""
    folder = tmp_path_factory.mktemp("talks")
    items = []
    for n in range(8):
        Image.effect_noise((40, 40), 10 + n).convert("RGB").save(folder / f"{n}.jpg")
        closed, free = ("Is it pale?", ("Yes.", "no")[n % 4 > 1]), ("What is it?", f"Yes, a disc {n}.")
        said = [closed, free] if n % 2 else [free, closed]
        turns = [turn for q, a in said for turn in ({"from": "human", "value": q}, {"from": "gpt", "value": a})]
        turns[0]["value"] = "<image>\n" + turns[0]["value"]
        items.append({"id": str(n), "image": f"{n}.jpg", "conversations": turns[: 2 if n == 7 else None]})
    (folder / "talk.json").write_text(json.dumps(items))
    return folder


def test_they_have_accuracy_chance_and_majority_and_are_counted(imported: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["import", str(imported / "talk.json"), "--images", str(imported), "--out", "OUT", "--licence", "CC0"]
    assert cli.main([*command, "--redistributable"]) == 0
    printed = capsys.readouterr().out
    assert "yes_no_conversation: 8 records" in printed and "\nconversation: 7 records" in f"\n{printed}"
    records = [r for r in read_records(Path("OUT/records")) if r.task == "yes_no_conversation"]
    assert {r.answer for r in records} == {"Yes.", "no"} and {r.choices for r in records} == {("yes", "no")}
    task = YesNoConversation()
    replies = [Reply(r.id, f"{'No' if n else 'Yes'}, as the disc shows.") for n, r in enumerate(records)]
    made = [Prediction(r, s, task.parse(s, r)) for r, s in zip(records, replies, strict=True)]
    right = sum(("Yes." if n == 0 else "no") == r.answer for n, r in enumerate(records))
    scores = {s.metric: s.value for s in task.score(made) if s.subset == "all"}
    assert scores["accuracy_strict"] == right / 8 and (scores["chance"], scores["majority"]) == (0.5, 0.5)
    assert task.parse(Reply("a", "The disc is pale."), records[0]).reason == "no_match"
    assert cli.main(["export", "OUT", "--to", "llava", "--out", "AGAIN"]) == 0
    again = [item for file in Path("AGAIN").glob("*.json") for item in json.loads(file.read_text())]
    before = json.loads((imported / "talk.json").read_text())
    said = [[turn["value"] for turn in item["conversations"]] for item in before]
    assert sorted([turn["value"] for turn in item["conversations"]] for item in again) == sorted(said)
