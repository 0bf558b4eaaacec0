"""Damage and exchange checkpoints and weights for every command that reads them: none may be taken in silence.

    python scripts/benchmarks/checkpoints.py --work build/checkpoints [--only tuned]

Small trainings are made once: a CNN, a random LLaVA of two layers, the same under FSDP2 and DeepSpeed, and what is
written of them. Each case is a copy with one harm. A command that ends with 0 is held against the same command on the
undamaged copy: `same` gives equal weights or replies (the byte means nothing), `said` names the difference on the
screen, `SILENT` is neither. `refused` is status 2 with a sentence; `BROKEN` is a traceback.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import logging
import os
import re
import shutil
import sys
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lmod_train.cli import main as lmod_train
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.strategies.checksums import SUMS
from lmod_train.models.vision.backbone import Backbone
from tests.published import write_llava_1_5, write_tower
from tests.tiny import write_tiny

Harm = Callable[[Path], None]

QUIET = "--trainer.enable_progress_bar false --trainer.logger false --trainer.accelerator cpu --trainer.devices 1"
DATA = f"--data.curated a --data.tasks glaucoma --data.batch_size 2 --trainer.max_epochs 9 --data.split val {QUIET}"
CNN = f"--config cnn_glaucoma --model.init_args.side 16 --trainer.max_steps 4 {DATA}"
VLM = "--config quickstart --trainer.max_steps 2 --doctor.refuse false --model.init_args.checkpoint base"
VLM += f" --model.init_args.max_new_tokens 4 {DATA}"
VIT = "--config retfound_glaucoma --model.init_args.size tiny --model.init_args.image_size 32 --data.workers 0"
VIT += f" --model.init_args.weights retfound.pth --trainer.precision 32-true --trainer.max_steps 2 {DATA}"
FROZEN = f"--config zero_shot {DATA} --model.init_args.backend.init_args.checkpoint"
STRATEGIES = {
    name: "--trainer.strategy "
    + json.dumps({"class_path": f"lmod_train.models.strategies.{path}"}, separators=(",", ":"))
    for name, path in {"fsdp2": "sharding_fsdp.FullyShard", "deepspeed": "sharding_deepspeed.DeepSpeed"}.items()
}
LAST = Path("run/checkpoints/last.ckpt")


def readers(options: str, *more: str) -> dict[str, str]:
    """Return name -> command of each reader of a run's last checkpoint."""
    named = {name: f"{name} {options} --run out --ckpt_path {LAST}" for name in ("validate", "test", "predict")}
    kept = {
        "continued": f"fit {options} --run run",
        "fit": f"fit {options} --trainer.max_steps 6 --run out --ckpt_path {LAST}",
        **named,
    }
    language = {"dissect": f"dissect run a --task glaucoma --out out --pairs 0 {QUIET}"}
    language["merge"] = f"weights merge --ckpt {LAST} --out out"
    return kept | {name: language[name] for name in more}


READERS = {
    "cnn": readers(CNN),
    "tuned": readers(VLM, "dissect", "merge"),
    "fsdp2": readers(f"{VLM} {STRATEGIES['fsdp2']}", "merge"),
    "deepspeed": readers(f"{VLM} {STRATEGIES['deepspeed']}", "merge"),
    "merged": {
        "validate": f"validate {FROZEN} merged --run out",
        "predict": f"predict {FROZEN} merged --run out",
        "fit": f"fit {VLM.replace('checkpoint base', 'checkpoint merged')} --run out",
        "dissect": f"dissect merged a --task glaucoma --out out --pairs 0 {QUIET}",
    },
    "delta": {"apply-delta": "weights apply-delta --delta delta --base base --out out"},
    "published": {"convert": "weights convert published --tower tower --out out"},
    "pth": {"fit": f"fit {VIT} --run out"},
}


def at(share: float, file: Path) -> None:
    """Flip a bit at a share of a file."""
    content = bytearray(file.read_bytes())
    content[int(share * (len(content) - 1))] ^= 4
    file.write_bytes(content)


def entry(part: str, file: Path, offset: int = 1) -> None:
    """Flip a bit in the middle of an entry of a zip file, or (offset 0) in its local header."""
    with zipfile.ZipFile(file) as opened:
        found = next(i for i in opened.infolist() if part in i.filename)
    begin = found.header_offset + 14  # the CRC of the local header
    if offset:
        header = file.read_bytes()[found.header_offset + 26 :][:4]
        begin = found.header_offset + 30 + sum(header[::2]) + 256 * sum(header[1::2]) + found.file_size // 2
    content = bytearray(file.read_bytes())
    content[begin] ^= 4
    file.write_bytes(content)


def directory(file: Path) -> None:
    """Flip a bit in the CRC that the directory of a zip file states for its largest entry."""
    with zipfile.ZipFile(file) as opened:
        stated = max(opened.infolist(), key=lambda i: i.file_size).CRC.to_bytes(4, "little")
    content = bytearray(file.read_bytes())
    content[content.rindex(stated)] ^= 4
    file.write_bytes(content)


def cut(share: float, file: Path) -> None:
    """Truncate a file."""
    os.truncate(file, int(share * file.stat().st_size))


def hole(file: Path) -> None:
    """Overwrite 2 KiB in the middle of a file by zeros, as a disk does that lost a block."""
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(bytes(2048))


def replaced(other: str, path: Path) -> None:
    """Put another file or folder in the place of one."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(other, path) if Path(other).is_dir() else shutil.copyfile(other, path)


def text(file: Path) -> None:
    """Put a web page in the place of a file, as after a failed download."""
    file.write_text("<html><body>404 not found</body></html>", encoding="utf-8")


def settings(file: Path) -> None:
    """Change a setting in the run's config, as somebody does who edits both it and the command."""
    config = Path("run/config.yaml")
    config.write_text(re.sub(r"max_steps: (\d)", r"max_steps: \g<1>0", config.read_text()))


def swapped(ending: str, folder: Path) -> None:
    """Exchange two shards of a folder."""
    first, second = sorted(f for f in folder.rglob(f"*{ending}"))[:2]
    first.rename(folder / "kept")
    second.rename(first)
    (folder / "kept").rename(second)


def within(pattern: str, harm: Harm, folder: Path) -> None:
    """Harm the largest of the files of a folder with a name like `pattern`."""
    harm(max(folder.rglob(pattern), key=lambda f: f.stat().st_size))


def alone(harm: Harm, file: Path) -> None:
    """Harm a checkpoint whose predecessor is not kept."""
    before = file.with_name(f"{file.name}.before")
    shutil.rmtree(before) if before.is_dir() else before.unlink()
    harm(file)


FILE: dict[str, Harm] = {
    "bit in a tensor": partial(entry, "/data/0"),
    "bit in a tensor, no copy": partial(alone, partial(entry, "/data/0")),
    "bit in the pickle": partial(entry, "data.pkl"),
    "bit in a local header": partial(entry, "/data/1", offset=0),
    "bit in the directory": directory,
    "truncated by half": partial(cut, 0.5),
    "truncated by the end record": partial(cut, 0.999),
    "empty": partial(cut, 0),
    "a hole of zeros": hole,
    "a web page": text,
}
SHARDS: dict[str, Harm] = {
    "facts: a bit": partial(within, "meta.pt", partial(at, 0.4)),
    "checksums gone": partial(within, SUMS, Path.unlink),
    "another run's": partial(replaced, "other/checkpoints/last.ckpt"),
}
CASES: dict[str, dict[str, Harm]] = {
    "cnn": {
        **FILE,
        "last bytes": partial(at, 1.0),
        "another run's": partial(replaced, "other/checkpoints/last.ckpt"),
        "another task's": partial(replaced, "task/checkpoints/last.ckpt"),
        "other data": lambda _: replaced("b", Path("a")),
        "other settings": settings,
    },
    "tuned": {
        **FILE,
        "another base's": partial(replaced, "other/checkpoints/last.ckpt"),
        "another base": lambda _: replaced("base2", Path("base")),
        "bit in the base": lambda _: at(0.7, Path("base/model.safetensors")),
    },
    "fsdp2": {
        **SHARDS,
        "bit in a shard": partial(within, "*.distcp", partial(at, 0.3)),
        "truncated shard": partial(within, "*.distcp", partial(cut, 0.9)),
        "bit in .metadata": partial(within, ".metadata", partial(at, 0.5)),
        "shards of the step before": partial(within, "*.distcp", lambda f: replaced(f"{LAST}.before/{f.name}", f)),
    },
    "deepspeed": {
        **SHARDS,
        "bit in a shard": partial(within, "*optim_states.pt", partial(at, 0.3)),
        "truncated shard": partial(within, "*optim_states.pt", partial(cut, 0.9)),
        "swapped shards": partial(swapped, "_states.pt"),
    },
    "merged": {
        "bit in a tensor": partial(within, "*.safetensors", partial(at, 0.7)),
        "bit in the header": partial(within, "*.safetensors", partial(at, 0.003)),
        "truncated": partial(within, "*.safetensors", partial(cut, 0.9)),
        "another's weights": partial(within, "*.safetensors", partial(replaced, "base2/model.safetensors")),
        "config truncated": partial(within, "config.json", partial(cut, 0.5)),
    },
    "delta": {
        "bit in a tensor": partial(within, "*.safetensors", partial(at, 0.7)),
        "truncated": partial(within, "*.safetensors", partial(cut, 0.9)),
    },
    "published": {
        "bit in a tensor": partial(within, "*.bin", partial(entry, "/data/3")),
        "truncated": partial(within, "*.bin", partial(cut, 0.9)),
        "swapped shards": partial(swapped, "of-00002.bin"),
    },
    "pth": {name: FILE[name] for name in ("bit in a tensor", "bit in the directory", "truncated by half", "empty")},
}
TRAINING = ("other data", "other settings")
"""Cases that concern a training alone: any data may be evaluated."""
PLACE = {"merged": "merged", "delta": "delta", "published": "published", "pth": "retfound.pth"}
BEFORE, OTHER = "continuing from the previous checkpoint", r"differ:\n(  .*\n)*?  training records: .* -> "


def typed(line: str) -> tuple[int, str]:
    """Return status and screen of a command; -1 for a traceback."""
    screen = io.StringIO()
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric", "lightning_utilities")]
    listening = logging.StreamHandler(screen)
    for logger in loggers:
        logger.addHandler(listening)
    try:
        with redirect_stdout(screen), redirect_stderr(screen), warnings.catch_warnings():
            warnings.simplefilter("always")
            status = lmod_train(line.split())
    except (Exception, SystemExit):
        return -1, screen.getvalue() + traceback.format_exc()
    finally:
        for logger in loggers:
            logger.removeHandler(listening)
    return status, screen.getvalue()


def made(command: str) -> None:
    """Run a command that must end well.

    Raises:
        RuntimeError: It did not.
    """
    status, screen = typed(command)
    if status:
        raise RuntimeError(f"{command}\n{screen}")


def build(kinds: Sequence[str]) -> None:
    """Make the trainings, weights and folders of data in the working folder, which has the parts of each kind."""
    for name, seed in (("a", 0), ("b", 7)):
        made(f"phantom --out raw-{name} --n 24 --sources refuge --seed {seed}")
        made(f"curate --raw raw-{name} --out {name} --tasks glaucoma,anatomy --ratios [0.5,0.25,0.25]")
    for name, seed in (("base", 0), ("base2", 1)):
        Path(name).mkdir()
        write_tiny(Path(name), seed)
    made(f"fit {CNN} --run cnn")
    made(f"fit {CNN} --run cnn-other --seed_everything 5")
    made(f"fit {CNN} --run cnn-task --data.tasks anatomy")
    made(f"fit {VLM} --run tuned")
    made(f"fit {VLM} --run tuned-other --model.init_args.checkpoint base2")
    made("weights merge --ckpt tuned/checkpoints/last.ckpt --out merged")
    make_delta(Path("merged"), Path("base"), Path("delta"))
    write_llava_1_5(Path("published"))
    write_tower(Path("tower"))
    tensors = Backbone(size="tiny", image_size=32).build(0).state_dict()
    torch.save({"model": {name: t for name, t in tensors.items() if "fc_norm" not in name}}, "retfound.pth")
    for name, strategy in STRATEGIES.items():
        if name in kinds:
            made(f"fit {VLM} {strategy} --run {name}")
            made(f"fit {VLM} {strategy} --run {name}-other --seed_everything 5")


def copied(world: Path, kind: str, to: Path) -> None:
    """Copy what the commands of a kind read to a new folder."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    runs = {"run": kind, "other": f"{kind}-other", "task": f"{kind}-task"}
    same = ("a", "b", "base", "base2", "merged", "delta", "published", "tower", "retfound.pth")
    for name, source in (runs | dict(zip(same, same, strict=True))).items():
        if (world / source).is_dir():
            shutil.copytree(world / source, to / name)
        elif (world / source).is_file():
            shutil.copyfile(world / source, to / name)


def result() -> str:
    """Return a hash of what a command wrote: weights, else replies; the same for equal results."""
    digest = hashlib.sha256()
    for file in (Path("out/checkpoints/last.ckpt"), LAST, Path("out/adapter.safetensors")):
        if file.is_file():
            tensors: dict[str, Any] = torch.load(file, weights_only=True)["state_dict"]
            digest.update(repr({name: t.tolist() for name, t in tensors.items()}).encode())
            break
    for file in sorted(Path("out").glob("*.safetensors")):
        digest.update(file.read_bytes())
    if Path("out/replies").is_dir():
        digest.update(repr(sorted((r.id, r.reply) for r in read_replies(Path("out/replies")).values())).encode())
    return digest.hexdigest()


def judged(status: int, screen: str, same: bool) -> str:
    """Return the verdict on a command with a harmed checkpoint."""
    if status == 2:
        return "refused" if "Next: " in screen else "BROKEN"
    if status not in (0, 3):
        return "BROKEN"
    said = BEFORE in screen or (not same and re.search(OTHER, screen))
    return "said" if said else "same" if same else "SILENT"


def trial(world: Path, kind: str, harm: Harm | None, line: str) -> tuple[int, str, str]:
    """Return status, screen and result of a command on a copy with a harm."""
    place = world.parent / "copy"
    copied(world, kind, place)
    with chdir(place):
        if harm is not None:
            harm(Path(PLACE.get(kind, LAST)))
        status, screen = typed(line)
        return status, screen, result() if status in (0, 3) else ""


def main() -> int:
    """Run all cases and print a table; return 0 if nothing was taken in silence or ended in a traceback."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder to write; its world is made once")
    parser.add_argument("--only", help="kinds, separated by commas", default=",".join(CASES))
    given = parser.parse_args()
    kinds, world = given.only.split(","), (given.work / "world").absolute()
    if not world.exists():
        beside = world.with_name("made")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        with chdir(beside):
            build(kinds)
        beside.rename(world)
    counts, log = Counter[str](), (given.work / "screens.txt").open("w")
    for kind in kinds:
        whole = {name: trial(world, kind, None, line) for name, line in READERS[kind].items()}
        bad = [f"{name}: {screen[-1500:]}" for name, (status, screen, _) in whole.items() if status not in (0, 3)]
        if bad:
            raise RuntimeError(f"{kind}: the undamaged one is refused\n" + "\n".join(bad))
        for what, harm in CASES[kind].items():
            verdicts = {}
            for name, line in READERS[kind].items():
                if what in TRAINING and "fit" not in line:
                    continue
                begun = time.monotonic()
                status, screen, found = trial(world, kind, harm, line)
                verdicts[name] = judged(status, screen, found == whole[name][2])
                took = time.monotonic() - begun
                log.write(f"#### {kind}, {what}, {name}: {verdicts[name]}, {took:.1f} s\n{screen[-1500:]}\n")
            counts.update(verdicts.values())
            print(f"{kind:10}{what:28}" + " ".join(f"{k} {v}" for k, v in verdicts.items()), flush=True)
    print(f"{sum(len(CASES[kind]) for kind in kinds)} damaged checkpoints, {counts.total()} readings: {dict(counts)}")
    return int(bool(counts["SILENT"] or counts["BROKEN"]))


if __name__ == "__main__":
    sys.exit(main())
