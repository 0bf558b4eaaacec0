"""The energy of replies, against a stand-in for NVML whose counter is known; not tried on a GPU."""

import ctypes
from types import SimpleNamespace

import pytest
import torch

from lmod_train.core.artifacts.energy import Energy, read_energy
from lmod_train.core.types import Batch, Identity, Reply
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.backends.base import Backend
from lmod_train.models.modules.frozen import Frozen
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.callbacks import energy
from lmod_train.training.callbacks.energy import Counter, EnergyOfReplies, counter_of
from lmod_train.training.callbacks.generation import GenerationEval
from tests.tiny import record, trainer, write_curated

RECORDS = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], split="val") for i in range(5)]
UUID = "11112222-3333-4444-5555-666677778888"


class Nvml:
    """NVML with one GPU, by the functions of its C interface: 0 is success, the counter is in millijoules."""

    def __init__(self, counts: bool = True) -> None:
        self.millijoules, self.counts = 7_000_000, counts

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: object) -> int:
        ctypes.cast(handle, ctypes.POINTER(ctypes.c_void_p))[0] = 99
        return 0 if uuid == f"GPU-{UUID}".encode() else 6

    def nvmlDeviceGetTotalEnergyConsumption(self, device: ctypes.c_void_p, total: object) -> int:
        assert device.value == 99
        ctypes.cast(total, ctypes.POINTER(ctypes.c_ulonglong))[0] = self.millijoules
        return 0 if self.counts else 3


class Using(Backend):
    """Uses two joules for each record, and three for each batch."""

    def __init__(self, nvml: Nvml) -> None:
        self.nvml, self.collate = nvml, lambda records, root: Batch(records)

    def prepare(self, device): ...

    def identity(self):
        return Identity()

    def respond(self, batch):
        self.nvml.millijoules += 3000 + 2000 * len(batch)
        return [Reply(r.id, "GLAUCOMA", model="using") for r in batch.records]


def validate(tmp_path, nvml, monkeypatch, counter):
    monkeypatch.setattr(energy, "counter_of", lambda device: counter)
    data = RecordsDataModule(write_curated(tmp_path / "curated", RECORDS), [Glaucoma()], eval_batch_size=2, split="val")
    quick = trainer(tmp_path / "run", callbacks=[GenerationEval(), EnergyOfReplies()])
    quick.validate(Frozen(Using(nvml)), datamodule=data)
    return read_energy(tmp_path / "run" / "energy")


def test_each_reply_has_its_share_of_its_batch(tmp_path, monkeypatch):
    nvml = Nvml()
    found = validate(tmp_path, nvml, monkeypatch, (Counter(nvml, UUID), "H200"))
    assert found == {f"glaucoma/p/{i}": Energy(3.5 if i < 4 else 5.0, "H200") for i in range(5)}
    assert [file.name for file in (tmp_path / "run" / "energy").iterdir()] == ["rank-0.jsonl"]


def test_without_a_counter_nothing_is_written(tmp_path, monkeypatch):
    assert validate(tmp_path, Nvml(), monkeypatch, None) == {}
    assert not (tmp_path / "run" / "energy").exists()


def test_the_counter_is_that_of_the_device_by_its_uuid(monkeypatch):
    known = SimpleNamespace(uuid=UUID, name="NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: known)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Nvml())
    device = torch.device("cuda", 0)
    counter, name = counter_of(device)
    assert (counter.joules(), name) == (7000.0, "NVIDIA H200")
    assert counter_of(torch.device("cpu")) is None
    known.uuid = "another"
    assert counter_of(device) is None, "NVML does not know it, as of a part of a GPU"
    known.uuid = UUID
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Nvml(counts=False))
    assert counter_of(device) is None, "an older GPU"
    del known.uuid
    assert counter_of(device) is None, "an older torch"


def test_a_machine_without_the_driver_measures_nothing(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid=UUID, name="x"))
    monkeypatch.setattr(energy, "LIBRARY", "libnvidia-ml-that-is-not-here.so.1")
    assert counter_of(torch.device("cuda", 0)) is None


@pytest.mark.parametrize("code", [1, 999])
def test_an_error_of_nvml_is_no_number(code, monkeypatch):
    nvml = Nvml()
    counter = Counter(nvml, UUID)
    monkeypatch.setattr(nvml, "nvmlDeviceGetTotalEnergyConsumption", lambda device, total: code)
    with pytest.raises(OSError, match=str(code)):
        counter.joules()


def test_a_counter_that_fails_stops_no_evaluation(tmp_path, monkeypatch):
    nvml = Nvml()
    counter, read = Counter(nvml, UUID), nvml.nvmlDeviceGetTotalEnergyConsumption
    calls = iter(range(99))
    monkeypatch.setattr(
        nvml, "nvmlDeviceGetTotalEnergyConsumption", lambda device, total: next(calls) == 1 or read(device, total)
    )
    assert validate(tmp_path, nvml, monkeypatch, (counter, "x")).keys() == {f"glaucoma/p/{i}" for i in (2, 3, 4)}
