"""Hostile checkpoint folders: no code of their pickles runs, and the error prints the command that trusts one."""

import io
import os
import pickle
from contextlib import suppress

import pytest
import torch
import torch.distributed.checkpoint as shares

from lmod_train.core.errors import LmodError
from lmod_train.extensions.weights.commands import merge
from lmod_train.models.strategies.checksums import write_sums
from lmod_train.models.strategies.saved import AnyCheckpoint, read, to_continue
from lmod_train.models.strategies.vetting import UntrustedCheckpoint, storage, vet


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, place):
        self.place = str(place)

    def __reduce__(self):
        return os.mkdir, (self.place,)


@pytest.fixture
def sprung(tmp_path):
    return tmp_path / "sprung"


def fsdp(folder):
    state = {"state_dict": {"w": torch.arange(6.0)}, "optimizer_0": {"lr": 0.1, "betas": (0.9, 0.99)}}
    shares.save(state, checkpoint_id=folder, no_dist=True)
    torch.save({"global_step": 1, "trained": ["w (6,)"]}, folder / "meta.pt")
    return folder


def deepspeed(folder):
    loss_scaler = pytest.importorskip("deepspeed.runtime.fp16.loss_scaler")
    from deepspeed.runtime.zero.config import ZeroStageEnum
    from deepspeed.utils.tensor_fragment import fragment_address

    (folder / "checkpoint").mkdir(parents=True)
    (folder / "latest").write_text("checkpoint")
    torch.save({"global_step": 1}, folder / "meta.pt")
    state = {"zero_stage": ZeroStageEnum(2), "loss_scaler": loss_scaler.LossScaler(1.0), "at": fragment_address(1, 0)}
    torch.save({"optimizer_state_dict": state}, folder / "checkpoint" / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    torch.save({"module": {"w": torch.ones(2)}}, folder / "checkpoint" / "mp_rank_00_model_states.pt")
    return folder


def in_metadata(folder, trap):
    (folder / ".metadata").write_bytes(pickle.dumps(trap))


def inside_metadata(folder, trap):
    described = pickle.loads((folder / ".metadata").read_bytes())
    described.planner_data["more"] = trap
    (folder / ".metadata").write_bytes(pickle.dumps(described))


def in_metadata_of_a_rank(folder, trap):
    (folder / "__0.metadata").write_bytes(pickle.dumps(trap))


def in_a_piece(folder, trap):
    """A value of the optimiser, such as its learning rate, is a pickle within the shares."""
    described = pickle.loads((folder / ".metadata").read_bytes())
    content = io.BytesIO()
    torch.save(trap, content)
    index = next(i for i in described.storage_data if i.fqn == "optimizer_0.lr")
    piece = described.storage_data[index]
    with (folder / piece.relative_path).open("ab") as file:
        piece.offset, piece.length = file.tell(), len(content.getvalue())
        file.write(content.getvalue())
    (folder / ".metadata").write_bytes(pickle.dumps(described))


def by_a_name_with_a_dot(folder, trap):
    """`torch.Size` is allowed; a dotted name would walk from it to anything."""
    (folder / ".metadata").write_bytes(b"\x80\x04\x8c\x05torch\x8c\x10serialization.os\x93.")


def in_states(folder, trap):
    torch.save({"module": trap}, folder / "checkpoint" / "mp_rank_00_model_states.pt")


def in_old_format(folder, trap):
    place = folder / "checkpoint" / "mp_rank_00_model_states.pt"
    torch.save({"module": trap}, place, _use_new_zipfile_serialization=False)


def in_another_folder(folder, trap):
    torch.save(trap, folder.parent / "states.pt")
    (folder / "latest").write_text("..")


TRAPS = [
    (fsdp, in_metadata),
    (fsdp, inside_metadata),
    (fsdp, in_metadata_of_a_rank),
    (fsdp, in_a_piece),
    (fsdp, by_a_name_with_a_dot),
    (deepspeed, in_states),
    (deepspeed, in_old_format),
    (deepspeed, in_another_folder),
]


@pytest.mark.parametrize("kind", [fsdp, deepspeed])
def test_folders_written_by_the_strategies_pass(tmp_path, kind):
    vet(kind(tmp_path / "last.ckpt"))


@pytest.mark.parametrize(("kind", "lay"), TRAPS)
def test_code_in_a_pickle_does_not_run_where_checkpoints_are_read(tmp_path, sprung, kind, lay):
    folder = kind(tmp_path / "last.ckpt")
    lay(folder, Trap(sprung))
    write_sums(folder)  # whoever lays a trap can compute them
    for reading in (read, AnyCheckpoint().load_checkpoint, vet, lambda path: merge(ckpt=path, out=tmp_path / "out")):
        with pytest.raises(LmodError, match=r"asks for|cannot be read") as refused:
            reading(folder)
        if isinstance(refused.value, UntrustedCheckpoint):
            asked = f"`python -m lmod_train validate --ckpt_path 'my folder' --trust {folder}`"
            assert asked in refused.value.typed(["validate", "--ckpt_path", "my folder"]), "to be copied"
    with suppress(LmodError):
        to_continue(folder)
    assert not sprung.exists() and not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["mkdir", "posix.mkdir"])
def test_the_error_names_the_function_that_was_asked_for(tmp_path, sprung, name):
    folder = fsdp(tmp_path / "last.ckpt")
    in_metadata(folder, Trap(sprung))
    with pytest.raises(UntrustedCheckpoint, match=name):
        vet(folder)


def test_a_trusted_folder_is_not_checked(tmp_path, sprung):
    folder = fsdp(tmp_path / "last.ckpt")
    in_metadata(folder, Trap(sprung))
    vet(folder, trusted=[tmp_path / "elsewhere" / ".." / "last.ckpt"])
    with pytest.raises(UntrustedCheckpoint):
        vet(folder, trusted=[tmp_path / "another"])


def test_a_piece_outside_the_folder_is_refused(tmp_path):
    folder = fsdp(tmp_path / "last.ckpt")
    described = pickle.loads((folder / ".metadata").read_bytes())
    for info in described.storage_data.values():
        info.relative_path = "../" + info.relative_path
    (folder / ".metadata").write_bytes(pickle.dumps(described))
    with pytest.raises(UntrustedCheckpoint, match=r"\.\./__0_0\.distcp"):
        storage(folder)


def test_other_names_of_the_allowed_modules_are_refused(tmp_path):
    folder = fsdp(tmp_path / "last.ckpt")
    for module, name in (("torch", "load"), ("torch.serialization", "load"), ("pathlib", "os"), ("builtins", "eval")):
        (folder / ".metadata").write_bytes(f"c{module}\n{name}\n.".encode())
        with pytest.raises(UntrustedCheckpoint, match=f"{module}.{name}"):
            vet(folder)
