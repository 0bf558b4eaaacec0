"""Lightning's searches for a learning rate and a batch size work on our modules, and what they find is trained with."""

from __future__ import annotations

from pathlib import Path

import pytest
from lightning import Callback
from lightning.pytorch.callbacks import BatchSizeFinder, LearningRateFinder

from lmod_train.core.errors import LmodError
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], answer=Glaucoma.choices[i % 2]) for i in range(12)]


class Rates(Callback):
    """Notes the rates of all groups at each step."""

    def __init__(self) -> None:
        self.found: list[list[float]] = []
        self.start: list[float] = []

    def on_fit_start(self, trainer, pl_module):
        self.start = list(trainer.lr_scheduler_configs[0].scheduler.base_lrs) if trainer.lr_scheduler_configs else []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.found.append([group["lr"] for group in trainer.optimizers[0].param_groups])


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_curated(tmp_path_factory.mktemp("curated"), RECORDS, side=40)


def fitted(curated, folder, module, *callbacks, **options):
    data = RecordsDataModule(curated, [Glaucoma()], batch_size=options.pop("batch_size", 2), **options)
    running = trainer(folder, max_epochs=2, limit_val_batches=0, callbacks=[*callbacks])
    running.fit(module, data)
    return running, data


def test_a_found_rate_scales_all_parts_and_keeps_the_warm_up(curated, tmp_path, monkeypatch):
    from lightning.pytorch.tuner.lr_finder import _LRFinder

    monkeypatch.setattr(_LRFinder, "suggestion", lambda self, *_: 0.02)
    module, usual, found = FineTuning("random", Glaucoma.choices, size="tiny", image_size=32), Rates(), Rates()
    fitted(curated, tmp_path / "a", module, usual)
    again = FineTuning("random", Glaucoma.choices, size="tiny", image_size=32)
    running, _ = fitted(curated, tmp_path / "b", again, LearningRateFinder(num_training_steps=4), found)
    assert again.lr == pytest.approx(0.02) and not list((tmp_path / "b").glob(".lr_find*"))
    scale = 0.02 / module.lr
    assert scale != pytest.approx(1)
    steps = found.found[-len(usual.found) :]
    for ours, theirs in zip(steps, usual.found, strict=True):
        assert ours == pytest.approx([rate * scale for rate in theirs], rel=1e-4, abs=1e-7)
    assert running.global_step == len(usual.found)


def test_a_classifier_with_one_rate_takes_it_too(curated, tmp_path, monkeypatch):
    from lightning.pytorch.tuner.lr_finder import _LRFinder

    monkeypatch.setattr(_LRFinder, "suggestion", lambda self, *_: 0.02)
    module, found = Classifier(Glaucoma.choices, side=16), Rates()
    fitted(curated, tmp_path, module, LearningRateFinder(num_training_steps=4), found)
    assert module.lr == 0.02 and found.found[-1] == [0.02]


def test_a_found_batch_size_is_trained_with_and_the_global_batch_is_kept(curated, tmp_path):
    module = Classifier(Glaucoma.choices, side=16)
    finder = BatchSizeFinder(max_trials=2, steps_per_trial=1, init_val=1)
    running, data = fitted(curated, tmp_path, module, finder, batch_size=3, global_batch=12)
    assert data.batch_size > 1 and data.batch_size * running.accumulate_grad_batches == 12
    assert running.global_step == 2 and not list(tmp_path.glob(".scale_batch_size*"))


def test_a_module_without_a_rate_says_so():
    class Still(Frozen):
        def __init__(self) -> None:
            super(Frozen, self).__init__()

    with pytest.raises(LmodError, match="Still has no learning rate"):
        _ = Still().lr
