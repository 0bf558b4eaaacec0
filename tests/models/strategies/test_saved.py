"""Checkpoint files are read without executing code; other files are refused."""

import pytest
import torch

from lmod_train.core.errors import ArtifactError, LmodError
from lmod_train.models.strategies.saved import AnyCheckpoint, read, refuse_to_continue
from lmod_train.models.strategies.vetting import UntrustedCheckpoint


class Trap:
    def __reduce__(self):
        return print, ("executed",)


def test_a_file_is_read_and_executes_nothing(tmp_path, capsys):
    torch.save({"state_dict": {"w": torch.ones(2)}, "global_step": 3}, tmp_path / "good.ckpt")
    assert read(tmp_path / "good.ckpt")["global_step"] == 3
    torch.save({"state_dict": {}, "trap": Trap()}, tmp_path / "bad.ckpt")
    for reading in (read, AnyCheckpoint().load_checkpoint):
        with pytest.raises(UntrustedCheckpoint, match=r"bad\.ckpt is a pickle that asks for .*\nNext: ") as told:
            reading(tmp_path / "bad.ckpt")
        assert "weights_only" not in str(told.value) and "--trust" not in told.value.typed([])
        torch.save({"model": {"w": torch.ones(2)}}, tmp_path / "other.ckpt")
        with pytest.raises(ArtifactError, match="has a `state_dict`; it holds model"):
            reading(tmp_path / "other.ckpt")
    assert "executed" not in capsys.readouterr().out


def test_files_that_are_no_checkpoints_are_refused(tmp_path):
    with pytest.raises(ArtifactError, match="no such checkpoint"):
        read(tmp_path / "nothing.ckpt")
    with pytest.raises(ArtifactError, match=r"a folder without meta\.pt"):
        read(tmp_path)
    torch.save({"state_dict": {"w": torch.ones(2000)}}, tmp_path / "whole.ckpt")
    content = (tmp_path / "whole.ckpt").read_bytes()
    for kept in (0, len(content) // 2):
        (tmp_path / "cut.ckpt").write_bytes(content[:kept])
        with pytest.raises(
            ArtifactError, match=r"(?s)cut\.ckpt.*may be truncated.*name an undamaged one, .*whole\.ckpt"
        ):
            read(tmp_path / "cut.ckpt")


@pytest.mark.parametrize("doing", ["fit", "validate"])
def test_another_strategys_checkpoint_is_refused_in_training_but_not_in_evaluation(doing):
    class Module:
        class trainer:  # noqa: N801
            class state:  # noqa: N801
                fn = doing

    if doing == "validate":
        refuse_to_continue(Module, "last.ckpt")
    else:
        with pytest.raises(LmodError, match=r"merge --ckpt last\.ckpt"):
            refuse_to_continue(Module, "last.ckpt")
