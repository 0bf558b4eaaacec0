"""The best weights are those of the best validation, and a run that cannot tell them is refused."""

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.raw import read_json
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.fine_tuning import FineTuning
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
    assert {f.name for f in (tmp_path / "run" / "checkpoints").iterdir()} == {"best.ckpt", "best.json"}
    saved = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt", weights_only=True)
    assert (saved["epoch"], saved["global_step"], "optimizer_states" in saved) == (1, 2, False)
    assert all(torch.equal(saved["state_dict"][k], v) for k, v in script.weights[1].items())
    assert any(not torch.equal(saved["state_dict"][k], v) for k, v in script.weights[2].items())


def test_a_run_that_cannot_tell_the_best_is_refused(tmp_path):
    train = [glaucoma(i, "train") for i in range(4)]
    with pytest.raises(BadArgument, match="records in the split val"):
        fit(tmp_path / "a", train, BestCheckpoint("auroc_macro"), Scripted([2]))
    alike = [glaucoma(i, "val", WORDS[0]) for i in range(4, 8)]
    with pytest.raises(BadArgument, match=r"(?s)best.by='auroc_macro'.*glaucoma/accuracy_strict.*two classes"):
        fit(tmp_path / "b", [*train, *alike], BestCheckpoint("auroc_macro"), Scripted([2]))


def figures(folder, by, rights, tasks=None, extra=(), **options):
    """The epoch of the best weights, and the figures of each validation."""
    script, best = Scripted(rights), BestCheckpoint(by, **options)
    records = [glaucoma(i, "train" if i < 4 else "val") for i in range(8)]
    fit(folder, [*records, *extra], best, script, tasks)
    file = folder / "run" / "checkpoints" / "best.ckpt"
    return (torch.load(file, weights_only=True)["epoch"] if file.exists() else None), script.figures


@pytest.mark.parametrize("by", ["score", "glaucoma", "accuracy_strict", "glaucoma/accuracy_strict", "loss"])
def test_every_way_to_name_the_figure_finds_the_second_validation(tmp_path, by):
    epoch, found = figures(tmp_path, by, [2, 4, 3])
    assert epoch == 1
    assert [f["val/score"] for f in found] == [0.5, 1, 0.75]
    logit, n = np.log(1 + np.exp(-1)), 4  # the scripted logits are 1 and 0
    assert [f["val/loss"] for f in found] == pytest.approx([logit + (n - r) / n for r in (2, 4, 3)], abs=1e-5)


def test_a_loss_is_better_if_it_is_smaller_and_a_tie_keeps_the_first(tmp_path):
    assert figures(tmp_path / "a", "loss", [4, 2, 4])[0] == 0
    assert figures(tmp_path / "b", "score", [2, 3, 3])[0] == 1


def test_training_ends_where_nothing_improves_and_not_before(tmp_path):
    assert len(figures(tmp_path / "a", "score", [3, 2, 4, 3, 4, 4, 4], patience=2)[1]) == 5
    assert len(figures(tmp_path / "b", "score", [3, 2, 4, 3], patience=0)[1]) == 4


def test_what_is_not_logged_or_cannot_be_averaged_is_refused(tmp_path):
    with pytest.raises(BadArgument, match=r"best.by='four_way'"):
        figures(tmp_path / "a", "four_way", [2, 4])
    with pytest.raises(BadArgument, match="all if they are smaller"):
        BestCheckpoint(["loss", "accuracy_strict"])
    with pytest.raises(BadArgument, match=r"best.patience=-1"):
        BestCheckpoint(patience=-1)
    with pytest.raises(BadArgument, match=r"best.patience=2"):
        BestCheckpoint(None, patience=2)


def test_without_a_validation_split_or_by_wish_there_is_no_best(tmp_path):
    assert figures(tmp_path / "a", None, [2, 4])[0] is None
    script, best = Scripted([2]), BestCheckpoint()
    fit(tmp_path / "b", [glaucoma(i, "train") for i in range(4)], best, script)
    assert not (tmp_path / "b" / "run" / "checkpoints" / "best.ckpt").exists()


@pytest.mark.parametrize("monitor", ["val/glaucoma/f2", "val/nothing"])
def test_a_callback_that_monitors_what_nobody_logs_is_refused_after_the_first_validation(tmp_path, monitor):
    records = [glaucoma(i, "train" if i < 4 else "val") for i in range(8)]
    write_curated(tmp_path, records)
    data = RecordsDataModule(tmp_path, [Glaucoma()], batch_size=4)
    module, script = FineTuning("random", WORDS, size="tiny", image_size=32), Scripted([2, 4])
    other = ModelCheckpoint(monitor=monitor, save_top_k=0)
    callbacks = [GenerationEval(), script, BestCheckpoint(), other]
    running = trainer(tmp_path / "run", callbacks=callbacks, max_epochs=2, enable_checkpointing=True)
    with pytest.raises(BadArgument, match=f"ModelCheckpoint.monitor='{monitor}'.*val/score"):
        running.fit(module, datamodule=data)
    assert len(script.figures) == 1


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
        script, best = Scripted(rights), BestCheckpoint("auroc_macro")
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
    assert {f.name for f in last.parent.iterdir()} == {"best.ckpt", "best.json", "last.ckpt"}
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
    assert best.best_model_score.item() == pytest.approx(max(expected), abs=1e-6)
    saved = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt", weights_only=True)
    assert saved["epoch"] == int(np.argmax(expected)) == 1


class SavedBefore(Callback):
    """Writes last.ckpt before each validation, as a save at the step of a validation does."""

    def on_validation_start(self, trainer, pl_module):
        trainer.save_checkpoint(f"{trainer.default_root_dir}/checkpoints/last.ckpt")


def continued(folder, rights, checkpoint=None, **options):
    """Fit an epoch for each number, from a checkpoint on."""
    data = RecordsDataModule(folder, [Glaucoma()], batch_size=4)
    script, best = Scripted(rights), BestCheckpoint(**options)
    callbacks = [GenerationEval(), script, SavedBefore(), best]
    running = trainer(folder / "run", max_epochs=len(rights), enable_checkpointing=True, callbacks=callbacks)
    module = FineTuning("random", WORDS, size="tiny", image_size=32)
    running.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
    return best, script


def test_a_kill_behind_a_save_loses_neither_the_best_weights_nor_their_score(tmp_path):
    write_curated(tmp_path, [glaucoma(i, "train" if i < 4 else "val") for i in range(8)])
    continued(tmp_path, [2, 4])
    kept = tmp_path / "run" / "checkpoints"
    before = (kept / "best.ckpt").read_bytes()
    best, _ = continued(tmp_path, [2, 4, 3, 3], kept / "last.ckpt")  # last.ckpt knows nothing of the second validation
    assert best.best_model_score == 1 and (kept / "best.ckpt").read_bytes() == before
    told = read_json(kept / "best.json")
    assert (told["score"], told["step"], told["validated"]) == (1, 2, 4)


def test_a_damaged_file_beside_the_best_weights_is_passed_over(tmp_path):
    write_curated(tmp_path, [glaucoma(i, "train" if i < 4 else "val") for i in range(8)])
    continued(tmp_path, [4, 2])
    kept = tmp_path / "run" / "checkpoints"
    (kept / "best.json").write_text("{")
    best, _ = continued(tmp_path, [4, 2, 3], kept / "last.ckpt")
    assert best.best_model_score == 1


def test_a_name_that_nothing_logs_is_refused_before_the_training(tmp_path):
    for by in ("nonsense", "glaucoma/nonsense", "four_way/accuracy_strict", ["score", "nonsense"]):
        with pytest.raises(BadArgument, match=r"best.by="):
            figures(tmp_path, by, [2, 4])
    assert not list((tmp_path / "run").glob("checkpoints/*"))
    for by in ([], ["score", "score"]):
        with pytest.raises(BadArgument, match="figures, each once"):
            BestCheckpoint(by)


@pytest.mark.parametrize("by", ["share_unparsed", "glaucoma/share_failed", "loss", "brier"])
def test_what_is_better_if_smaller_is_known_by_its_name(by):
    assert BestCheckpoint(by).mode == "min" and BestCheckpoint("share_answered").mode == "max"
