"""The datamodule of judgements: records made from the predictions of a run."""

from __future__ import annotations

from pathlib import Path

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import task_arguments, tasks_asked
from lmod_train.tasks.judgement import Judgement
from lmod_train.tasks.judgement_replies import drawn, to_judge, wrong_of_each


class JudgementData(RecordsDataModule):
    """Judgements of the replies of a run, as text: question, reference answer and reply.

    Args:
        run: Folder of the run whose replies are judged.
        tasks: The task `Judgement`, which asks the judge.
        of: Names of the judged tasks; empty for those with open-ended questions.
        eval_batch_size: Number of judgements in a batch, per device.
        limit: Maximum number of judgements, the first in id order; 0 for all.
        shard: Part of the judgements that this process asks for, ``i/n`` with i from 1 to n; empty for all.
        sample: Number of questions of each judged task whose replies are judged, drawn at random; 0 for all.
        wrong: Number of wrong replies of each judged task that are judged, and no others, drawn at random; 0 for all.
    """

    def __init__(
        self,
        run: Path,
        tasks: list[Task],
        of: list[str] | None = None,
        eval_batch_size: int = 32,
        limit: int = 0,
        shard: str = "",
        sample: NonNegativeInt = 0,
        wrong: NonNegativeInt = 0,
    ) -> None:
        super().__init__(run, tasks, eval_batch_size=eval_batch_size, limit=limit, split="all", shard=shard)
        self._of, self._sample, self._wrong = of or [], sample, wrong

    def _read(self) -> list[Record]:
        """Return the judgements of the run's replies, in id order."""
        judging = [task for task in self.tasks.values() if isinstance(task, Judgement)]
        if len(judging) != 1:
            cure = "use `configs/task/judgement.yaml`"
            raise BadArgument("data.tasks", list(self.tasks), "the task lmod_train.tasks.judgement.Judgement", cure)
        run = Run(self.curated)
        chosen = to_judge(read_predictions(run.predictions), self._of)
        if self._wrong:
            tasks = tasks_asked((p.record for p in chosen), task_arguments(run.read_config()))
            chosen = wrong_of_each(chosen, tasks, self._wrong)
        return sorted(judging[0].records(drawn(chosen, self._sample)), key=lambda r: r.id)
