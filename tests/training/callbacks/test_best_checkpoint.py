"""The best weights are those of the best validation, and a run that cannot tell them is refused."""

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score

from lmod_train.core.errors import BadArgument
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.fine_tuning import FineTuning
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks.best_checkpoint import BestCheckpoint
from lmod_train.training.callbacks.generation import GenerationEval
from tests.tiny import record, trainer, write_curated

WORDS = Glaucoma.choices


def glaucoma(i, split, answer=None):
    return record(f"glaucoma/p/{i}", image=[f"{i}.png"], split=split, answer=answer or WORDS[i % 2])


class Scripted(Callback):
    """Makes the weights of each epoch answer rightly as often as it is told, and keeps them."""

    def __init__(self, rights):
        self.rights, self.weights, self.figures = rights, [], []

    def on_validation_epoch_start(self, trainer, pl_module):
        right = self.rights[trainer.current_epoch]
        logits = torch.eye(2)[[0, 1, 0, 1]]
        logits[right:] = 1 - logits[right:]
        pl_module.model.forward = lambda images: logits + 0 * images.sum()

    def on_validation_end(self, trainer, pl_module):
        self.weights.append({k: v.clone() for k, v in pl_module.state_dict().items()})
        self.figures.append({k: v.item() for k, v in trainer.callback_metrics.items() if k.startswith("val/")})
        del pl_module.model.forward


def fit(folder, records, best, script, tasks=None):
    write_curated(folder, records)
    data = RecordsDataModule(folder, tasks or [Glaucoma()], batch_size=4)
    module = FineTuning("random", WORDS, size="tiny", image_size=32)
    options = {"max_epochs": len(script.rights), "enable_checkpointing": True}
    trainer(folder / "run", callbacks=[GenerationEval(), script, best], **options).fit(module, datamodule=data)


@pytest.mark.parametrize(("metric", "figures"), [("accuracy_strict", [0.5, 1, 0.75]), ("auroc_macro", [0.5, 1, 0.75])])
def test_the_weights_of_the_best_validation_are_kept(tmp_path, metric, figures):
    script = Scripted([2, 4, 3])
    records = [glaucoma(i, "train" if i < 4 else "val") for i in range(8)]
    fit(tmp_path, records, BestCheckpoint(metric), script)
    assert [f[f"val/glaucoma/{metric}"] for f in script.figures] == figures
    assert [f.name for f in (tmp_path / "run" / "checkpoints").iterdir()] == ["best.ckpt"]
    saved = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt", weights_only=True)
    assert (saved["epoch"], saved["global_step"], "optimizer_states" in saved) == (1, 2, False)
    assert all(torch.equal(saved["state_dict"][k], v) for k, v in script.weights[1].items())
    assert any(not torch.equal(saved["state_dict"][k], v) for k, v in script.weights[2].items())


def test_a_run_that_cannot_tell_the_best_is_refused(tmp_path):
    train = [glaucoma(i, "train") for i in range(4)]
    with pytest.raises(BadArgument, match="records in the split val"):
        fit(tmp_path / "a", train, BestCheckpoint(), Scripted([2]))
    alike = [glaucoma(i, "val", WORDS[0]) for i in range(4, 8)]
    with pytest.raises(BadArgument, match=r"(?s)metric='auroc_macro'.*val/glaucoma/accuracy_strict.*two classes"):
        fit(tmp_path / "b", [*train, *alike], BestCheckpoint(), Scripted([2]))
    other = record("four_way/p/1", task="four_way", image=["1.png"], answer="DISEASE: normal")
    with pytest.raises(BadArgument, match="exactly one task"):
        fit(tmp_path / "c", [*train, other], BestCheckpoint(), Scripted([2]), [Glaucoma(), FourWay()])


@pytest.mark.parametrize("spelled", [pytest.param("run", marks=pytest.mark.slow), "../here/run", "{}/run"])
def test_a_run_under_another_spelling_of_its_folder_keeps_its_best_score(tmp_path, monkeypatch, spelled):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    records = [glaucoma(i, "train" if i < 4 else "val") for i in range(8)]
    write_curated(here, records)

    def go_on(root, rights, checkpoint=None):
        """Fit up to one epoch for each number, and leave the last checkpoint."""
        module = FineTuning("random", WORDS, size="tiny", image_size=32)
        script, best = Scripted(rights), BestCheckpoint()
        options = {
            "max_epochs": len(rights),
            "enable_checkpointing": True,
            "callbacks": [GenerationEval(), script, best],
        }
        running = trainer(root, **options)
        data = RecordsDataModule(here, [Glaucoma()], batch_size=4)
        running.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
        running.save_checkpoint(here / "run" / "checkpoints" / "last.ckpt")
        return best

    go_on("run", [4])
    first = torch.load(here / "run" / "checkpoints" / "best.ckpt", weights_only=True)
    last = here / "run" / "checkpoints" / "last.ckpt"
    assert go_on(spelled.format(here), [4, 3], last).best_model_score == 1
    assert torch.load(here / "run" / "checkpoints" / "best.ckpt", weights_only=True)["epoch"] == first["epoch"] == 0
    assert {f.name for f in last.parent.iterdir()} == {"best.ckpt", "last.ckpt"}
    assert go_on(here / "other", [4, 3, 2], last).best_model_score == 0.5
    assert (here / "other" / "checkpoints" / "best.ckpt").is_file()


def test_the_mean_of_several_metrics_chooses_as_in_retfound_s_program_of_2025(tmp_path):
    """(macro F1 + AUROC + kappa) / 3 by scikit-learn: 3 of 4 right beats 2 of 4 and all wrong."""
    script = Scripted([2, 3, 0])
    records = [glaucoma(i, "train" if i < 4 else "val") for i in range(8)]
    best = BestCheckpoint(["macro_f1", "auroc_macro", "kappa"])
    fit(tmp_path, records, best, script)
    truth = np.array([0, 1, 0, 1])
    expected = []
    for right in script.rights:
        answers = np.where(np.arange(4) < right, truth, 1 - truth)
        f1, kappa = f1_score(truth, answers, average="macro"), cohen_kappa_score(truth, answers)
        expected.append((f1 + kappa + roc_auc_score(truth, answers)) / 3)
    place = "val/glaucoma/macro_f1+auroc_macro+kappa"
    assert best.monitor == place and best.best_model_score.item() == pytest.approx(max(expected), abs=1e-6)
    saved = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt", weights_only=True)
    assert saved["epoch"] == int(np.argmax(expected)) == 1
