"""The questions of account.py as a task of inspect-ai; imported by its interpreter, not by this package's."""

import importlib.util
import json
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate


@task  # type: ignore[untyped-decorator]
def glaucoma(samples: str, reader: str) -> Task:
    """Return the task: `samples` is a JSON file, `reader` the ``utils.py`` of an export for lmms-eval."""
    asked = [_sample(one) for one in json.loads(Path(samples).read_text())]
    config = GenerateConfig(max_tokens=512, temperature=0.0)
    return Task(MemoryDataset(asked), solver=generate(), scorer=named(reader), config=config)


def _sample(one: dict[str, Any]) -> Sample:
    content = [ContentImage(image=one["image"]), ContentText(text=one["text"])]
    choices = {"choices": one["choices"]}
    return Sample([ChatMessageUser(content=content)], target=one["target"], id=one["id"], metadata=choices)


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def named(reader: str) -> Any:
    """Return a scorer: right if the reply names the one true choice."""
    found = importlib.util.spec_from_file_location("reader", reader)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    async def score(state: TaskState, target: Target) -> Score:
        choice = module.named_choice(state.output.completion, state.metadata["choices"])
        return Score(value=float(choice == target.text), answer=choice)

    return score
