"""What every module promises a training whose steps are accumulated from several batches."""

import math
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import Callback

from lmod_train.data.datamodules.order import ImageBatches
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated

WORDS = Glaucoma.choices
RECORDS = 14
MODULES = {
    "classifier": lambda: Classifier(WORDS, side=8),
    "fine_tuning": lambda: FineTuning("random", WORDS, size="tiny", image_size=32),
}


class Undecided(Callback):
    """Keeps every weight at zero, so that each batch loses log 2, and notes what is back-propagated of it."""

    def __init__(self):
        self.parts = []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        with torch.no_grad():
            for parameter in pl_module.parameters():
                parameter.zero_()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.parts.append(float(outputs["loss"]) / math.log(2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    records = [record(f"glaucoma/p/{i:02}", image=[f"{i:02}.png"], answer=WORDS[i % 2]) for i in range(RECORDS)]
    return write_curated(tmp_path_factory.mktemp("curated"), records, side=40)


@pytest.mark.parametrize(("size", "accumulated"), [(3, 3), (4, 1), (4, 3)])
@pytest.mark.parametrize("kind", MODULES)
def test_every_record_weighs_the_same_within_its_step(folder, tmp_path, kind, size, accumulated):
    """Fourteen records: the last batch of an epoch is smaller, and the last step holds fewer batches."""
    noted, data = Undecided(), RecordsDataModule(folder, [Glaucoma()], batch_size=size)
    options = {"max_epochs": 2, "limit_val_batches": 0, "accumulate_grad_batches": accumulated, "callbacks": [noted]}
    trainer(tmp_path, **options).fit(MODULES[kind](), datamodule=data)
    sizes = [min(size, RECORDS - begin) for begin in range(0, RECORDS, size)]
    steps = [sizes[begin : begin + accumulated] for begin in range(0, len(sizes), accumulated)]
    expected = [part / sum(step) for step in steps for part in step]
    assert noted.parts == pytest.approx(expected * 2, abs=1e-5)


@pytest.mark.parametrize(("ranks", "size", "accumulated"), [(2, 1, 1), (2, 3, 2), (3, 2, 1), (4, 2, 3)])
def test_over_several_ranks_every_record_of_a_step_weighs_the_same_too(ranks, size, accumulated):
    for number in range(ranks, 20):
        groups, weights = [[i] for i in range(number)], {}
        for rank in range(ranks):
            batches = ImageBatches(groups, size, shuffle=True, rank=rank, ranks=ranks)
            module = Classifier(WORDS, side=8)
            module._trainer = SimpleNamespace(
                accumulate_grad_batches=accumulated,
                world_size=ranks,
                train_dataloader=batches,
                num_training_batches=len(batches),
            )
            for place, batch in enumerate(batches):  # the mean over a batch; Lightning and the strategy average those
                part = module.weighed(torch.tensor(1.0), place).item() / len(batch) / accumulated / ranks
                weights |= dict.fromkeys(batch, (place // accumulated, part))
        steps = Counter(step for step, _ in weights.values())
        assert steps.total() == number, "none is left out"
        assert all(part == pytest.approx(1 / steps[step]) for step, part in weights.values())
