"""lmms-eval's task folder, read as its reader does: YAML naming functions beside it, Parquet relative to it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets import load_dataset
from PIL import Image

from lmod_train.data.formats.export import export
from lmod_train.data.formats.folder import exported_id
from lmod_train.data.formats.lmms_eval import kind_of
from tests.data.formats.conftest import WORDS, anatomy, record, talk, two_images, write_curated


@pytest.fixture(scope="module")
def folder(free: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tasks") / "lmod"
    export(free, "lmms_eval", out)
    return out


def configuration(file: Path) -> dict[str, Any]:
    """Read a task's YAML by the reader's own rules: ``!function utils.name`` is that name of the file beside it."""

    class Loader(yaml.SafeLoader): ...

    def function(loader: Loader, node: yaml.ScalarNode) -> Any:
        module, name = loader.construct_scalar(node).split(".")
        spec = importlib.util.spec_from_file_location(module, file.parent / f"{module}.py")
        assert spec is not None and spec.loader is not None
        beside = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(beside)
        return getattr(beside, name)

    Loader.add_constructor("!function", function)
    return dict(yaml.load(file.read_text(), Loader))


def load(folder: Path, task: dict[str, Any], cache: Path) -> Any:
    files = {split: str(folder / path) for split, path in task["dataset_kwargs"]["data_files"].items()}
    return load_dataset(task["dataset_path"], data_files=files, cache_dir=str(cache))[task["test_split"]]


def test_each_task_is_asked_and_scored_by_its_own_functions(folder: Path, tmp_path: Path):
    kinds = {"anatomy": "f1_strict", "conversation": "exact_match", "glaucoma": "accuracy_strict"}
    for name, metric in kinds.items():
        task = configuration(folder / f"lmod_{name}.yaml")
        assert (task["task"], task["output_type"]) == (f"lmod_{name}", "generate_until")
        assert [m["metric"] for m in task["metric_list"]] == [metric, "share_unparsed"]
        docs = load(folder, task, tmp_path)
        assert len(docs) > 0
        for doc in docs:
            perfect = task["process_results"](doc, [task["doc_to_target"](doc)])
            assert perfect == {metric: 1.0, "share_unparsed": 0.0}
            assert task["process_results"](doc, [""]) == {metric: 0.0, "share_unparsed": 1.0}
            assert [image.mode for image in task["doc_to_visual"](doc)] == ["RGB"]


def test_the_question_is_asked_word_for_word(folder: Path, tmp_path: Path):
    task = configuration(folder / "lmod_glaucoma.yaml")
    (doc,) = load(folder, task, tmp_path)
    assert task["doc_to_text"](doc) == WORDS
    ((image, words),) = (turn["content"] for turn in task["doc_to_messages"](doc))
    assert (image["type"], image["url"].size, words) == ("image", (16, 12), {"type": "text", "text": WORDS})


def test_several_turns_need_a_chat_model(folder: Path, tmp_path: Path):
    task = configuration(folder / "lmod_conversation.yaml")
    _, doc = load(folder, task, tmp_path)
    with pytest.raises(ValueError, match="several turns"):
        task["doc_to_text"](doc)
    turns = task["doc_to_messages"](doc)
    assert [t["role"] for t in turns] == ["user", "assistant", "user"]
    assert turns[2]["content"] == [{"type": "text", "text": "Why?"}]


def test_two_images_stand_at_their_places_in_their_order(tmp_path: Path):
    one = two_images(0)
    curated, out = write_curated(tmp_path / "c", [one], open_eyes=True), tmp_path / "out"
    export(curated, "lmms_eval", out)
    task = configuration(out / "lmod_glaucoma.yaml")
    (doc,) = load(out, task, tmp_path / "cache")
    expected = [Image.open(curated / name).convert("RGB").tobytes() for name in one.image]
    assert [image.tobytes() for image in task["doc_to_visual"](doc)] == expected and expected[0] != expected[1]
    first, then, second, words = task["doc_to_messages"](doc)[0]["content"]
    assert [first["url"].tobytes(), second["url"].tobytes()] == expected
    assert (then["text"], words["text"]) == ("Then:", "Which is ill?")
    with pytest.raises(ValueError, match=f"{exported_id(one.id)} has words before an image"):
        task["doc_to_text"](doc)


def test_the_last_split_is_evaluated_and_all_tasks_are_a_group(folder: Path):
    assert {t: configuration(folder / f"lmod_{t}.yaml")["test_split"] for t in ("anatomy", "glaucoma")} == {
        "anatomy": "val",
        "glaucoma": "test",
    }
    group = yaml.safe_load((folder / "lmod.yaml").read_text())
    assert group == {"group": "lmod", "task": ["lmod_anatomy", "lmod_conversation", "lmod_glaucoma"]}


def test_what_is_copied_stands_alone(folder: Path):
    assert "lmod_train" not in [
        line.split()[1].split(".")[0]
        for line in (folder / "utils.py").read_text().splitlines()
        if line.startswith(("import ", "from "))
    ]


def test_the_kind_of_question_follows_the_record():
    assert kind_of(record("glaucoma", 0), "GLAUCOMA") == "choice"
    assert kind_of(anatomy(0, "train"), "") == "region"
    assert kind_of(talk()[0], "") == "text"
    unread = record("anatomy", 0, regions=anatomy(0, "train").regions, answer="区域一：视盘")
    assert kind_of(unread, "") == "text"
