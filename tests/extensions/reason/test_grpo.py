"""The export for TRL: what GRPOTrainer reads and calls, by `datasets` and by hand."""

from __future__ import annotations

import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import load_dataset

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import Box, Message, Part, Record, Region
from lmod_train.data.formats.export import export
from lmod_train.data.formats.folder import exported_id
from lmod_train.extensions.reason.grpo import trl_reward
from lmod_train.extensions.reason.reward import Rewards
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from tests.data.formats.conftest import write_curated
from tests.extensions.reason.test_targets import asked

SPLITS = "train", "train", "train", "val"


def questions() -> list[Record]:
    """Half of them of a second task, whose answers have other words and no facts; one of each task is open."""
    words = (Message("user", (Part("image"), Part("text", "Does this eye have glaucoma?"))),)
    classed = {"regions": (), "messages": words, "task_class": "lmod_train.tasks.glaucoma.Glaucoma"}
    made = [replace(asked(i), id=f"glaucoma/phantoms/{i}", split=SPLITS[i // 2 % 4], **classed) for i in range(40)]
    example = FourWay().example()
    fields = {name: getattr(example, name) for name in ("task", "task_version", "choices")}
    fields["task_class"] = "lmod_train.tasks.four_way.FourWay"
    for i, one in enumerate(made[:16]):
        own = {"id": f"four_way/phantoms/{i}", "facts": (), "answer": example.choices[i % 2]}
        made.append(replace(one, **fields | own))
    places = (Region("optic disc", Box(0, 0, 4, 4)),)
    return [*made, replace(made[0], id="glaucoma/phantoms/boxes", regions=places)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("grpo")
    export(write_curated(place / "curated", questions(), phantoms=True), "trl_grpo", place / "out" / "grpo")
    return place / "out" / "grpo"


def test_the_folder_loads_as_grpo_trainer_needs_it(exported: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    loaded = load_dataset(str(exported), cache_dir=str(tmp_path))
    assert {split: len(part) for split, part in loaded.items()} == {"train": 42, "val": 14}
    rows = {row["id"]: row for part in loaded.values() for row in part}
    for record in questions()[:-1]:
        row = rows[exported_id(record.id)]
        (turn,) = row["prompt"]
        assert [(p["type"], p["text"] or "") for p in turn["content"]] == [
            (p.type, p.text) for p in record.messages[0].parts
        ]
        assert [image.size for image in row["images"]] == [(16, 12)]
        assert set(row) == {"id", "prompt", "images"}  # neither answer nor facts
    listed = (exported / "dropped.csv").read_text()
    assert listed.count("open_answer") == 1
    assert "40 of 56 records have facts" in (exported / "README.md").read_text()


@pytest.mark.parametrize("conversational", [False, True])
def test_rewards_are_ours_reply_for_reply(exported: Path, tmp_path: Path, conversational: bool) -> None:
    shutil.copytree(exported.parent.parent, tmp_path / "moved")  # both folders together
    reward = runpy.run_path(str(tmp_path / "moved" / "out" / "grpo" / "reward.py"))["reward"]
    records = questions()[:-1]
    training = [r for r in questions() if r.split == "train"]
    own = {task.name: Rewards(task, [r for r in training if r.task == task.name]) for task in (Glaucoma(), FourWay())}
    asked, replies = [], []
    for record in records:
        other = next(c for c in record.choices if c != record.answer)
        for reply in (record.answer, other, f"{record.answer}. The cup-to-disc ratio is 0.6.", "The rim is thin.", ""):
            asked.append(record)
            replies.append(reply)
    said = [[{"role": "assistant", "content": [{"type": "text", "text": r}]}] for r in replies]
    found = reward(
        prompts=[[]] * len(asked),
        completions=said if conversational else replies,
        id=[exported_id(r.id) for r in asked],
        completion_ids=[[]] * len(asked),
    )
    assert found == [own[r.task](reply, r).total for r, reply in zip(asked, replies, strict=True)]
    assert set(found) >= {0.0, 0.5, 1.0} and max(found) > 1.2


def test_claims_are_exchanged_over_training_records_alone(exported: Path) -> None:
    """With those of other splits a reward would tell the model about eyes that it is tested on."""
    reward = trl_reward(str(exported / "reward.py"), "../../curated")
    records = [r for r in questions()[:40] if r.split == "val" and r.answer == "GLAUCOMA"]
    every = Rewards(Glaucoma(), questions()[:40])
    replies = [f"GLAUCOMA. The CDR is {0.5 + i / 20:.2f}." for i in range(len(records))]
    found = reward(completions=replies, id=[exported_id(r.id) for r in records])
    assert found != [every(reply, record).total for record, reply in zip(records, replies, strict=True)]


def test_what_cannot_be_rewarded_is_said(exported: Path, tmp_path: Path) -> None:
    curated = exported.parent.parent / "curated"
    with pytest.raises(BadArgument, match="leave it out"):
        export(curated, "trl_grpo", tmp_path / "none", images="none")
    reward = trl_reward(str(exported / "reward.py"), "../../curated")
    with pytest.raises(ArtifactError, match="no record glaucoma/phantoms/gone"):
        reward(completions=["GLAUCOMA"], id=["glaucoma/phantoms/gone"])
    with pytest.raises(ArtifactError):
        trl_reward(str(exported / "reward.py"), "../gone")
    several = read_records(curated / "records")
    only = [replace(r, regions=(Region("optic disc", Box(0, 0, 4, 4)),)) for r in several[:2]]
    with pytest.raises(BadArgument, match="open_answer"):
        export(write_curated(tmp_path / "open", only, phantoms=True), "trl_grpo", tmp_path / "out")
