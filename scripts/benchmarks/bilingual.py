"""Times and peak memory of OphthalWeChat's commands at its real size: 30,120 questions about 3,469 images.

    python scripts/benchmarks/bilingual.py                    # about half an hour on two cores
    python scripts/benchmarks/bilingual.py --share 0.02       # small, a minute or two; times have no limits then
    python scripts/benchmarks/bilingual.py --keep FOLDER

The workbooks hold as many rows as the deposit, drawn at random; images are noise of 160 x 120 pixels, so that decoding
takes a small part of the time. Commands run as a user types them, one after the other: `curate`, `validate` with
prepared replies (all right), `rescore` and `report`. Of each, the seconds and the peak memory of its largest process
are printed beside the limits, and the exit status is 1 if one is exceeded.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from openpyxl import Workbook
from PIL import Image

IMAGES, PAIRS = 3469, {"binary_question": 5950, "single_choice_question": 4725, "open_question": 4385}
"""Images and questions in each language; the sizes of the two closed kinds are not printed (5,850 to 6,030)."""

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"curate": (900, 1500), "validate": (1200, 2500), "rescore": (300, 1500), "report": (900, 2500)}
"""Command -> seconds and MiB at the real size, on two cores."""

NAMES = ("glaucoma", "cataract", "macular hole", "drusen", "diabetic retinopathy", "myopia", "uveitis", "keratitis")
CHINESE = ("青光眼", "白内障", "黄斑裂孔", "玻璃膜疣", "糖尿病视网膜病变", "近视", "葡萄膜炎", "角膜炎")
MODALITIES = ("CFP", "OCT", "SLO", "Slit-lamp", "CFP+FFA", "FFA")
SUBSPECIALTIES = ("Retina/Vitreous", "Glaucoma", "Uveitis", "Cornea/External Disease")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds and MiB of a command, of its largest process."""

    seconds: float
    mebibytes: float


def write_raw(raw: Path, share: float) -> int:
    """Write workbooks and images of a share of the real size; return the number of questions."""
    images = max(8, round(share * IMAGES))
    rng = np.random.default_rng(0)
    (raw / "images").mkdir(parents=True)
    for number in range(1, images + 1):
        coarse = rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((160, 120)).save(raw / "images" / f"{number}.jpg")
    shown = (
        (n, f"https://x.org/{n}", f"A{n // 3}", MODALITIES[n % 6], SUBSPECIALTIES[n % 4]) for n in range(1, images + 1)
    )
    write(
        raw / "OphthalWeChat_image_information.xlsx", ("Image ID", "URL", "Article", "Modality", "Subspecialty"), shown
    )
    asked = list(questions(images, share, rng))
    write(raw / "OphthalWeChat_QA.xlsx", ("QA ID", "Image ID", "Type", "Question", "Answer"), iter(asked))
    return len(asked)


def write(path: Path, header: Sequence[object], rows: Iterator[Sequence[object]]) -> None:
    """Write a workbook of one sheet."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    for row in (header, *rows):
        sheet.append(list(row))
    book.save(path)


def questions(images: int, share: float, rng: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of both languages; each question of an image is another one."""
    pair = 0
    for task, count in PAIRS.items():
        for number in range(round(share * count)):
            pair += 1
            image, options = number % images + 1, rng.permutation(len(NAMES))[:4]
            place, part = int(rng.integers(4)), f"{number // images + 1}"
            for language, names in (("CN", CHINESE), ("EN", NAMES)):
                listed = [names[i] for i in options]
                yield (pair, image, *row(task, language, listed, place, part))


def row(task: str, language: str, names: Sequence[str], place: int, part: str) -> tuple[str, str, str]:
    """Return type, question and answer of a question in a language."""
    chinese = language == "CN"
    if task == "binary_question":
        words = f"区域{part}可见{names[0]}" if chinese else f"Region {part} shows {names[0]}"
        answers = ("对", "错") if chinese else ("True", "False")
        return f"Binary_{language}", words, answers[place % 2]
    words = f"区域{part}可见什么？" if chinese else f"What does region {part} show?"
    if task == "open_question":
        return f"Open-ended_{language}", words, names[place]
    mark = "：" if chinese else ": "
    listed = " ".join(f"{letter}{mark}{name}" for letter, name in zip("ABCD", names, strict=True))
    return f"Single-choice_{language}", f"{words} {listed}", "ABCD"[place]


def measured(folder: Path, *arguments: str) -> Cost:
    """Run a command in a folder and return its cost; ends the program if it fails."""
    log = folder / f"{arguments[0]}.log"
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as opened:
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "lmod_train", *arguments],
            {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
            file_actions=[(os.POSIX_SPAWN_DUP2, opened.fileno(), 1), (os.POSIX_SPAWN_DUP2, opened.fileno(), 2)],
        )
        _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"{' '.join(arguments)} failed:\n{log.read_text(encoding='utf-8')[-3000:]}")
    return Cost(time.monotonic() - start, usage.ru_maxrss / 1024)


def costs(folder: Path) -> Iterator[tuple[str, Cost]]:
    """Yield each command with its cost, in order."""
    config = ROOT / "configs"
    curated, run = folder / "curated", folder / "run"
    curate = ("--config", str(config / "curate/ophthalwechat.yaml"), f"--roots.ophthalwechat={folder / 'raw'}")
    yield "curate", measured(folder, "curate", *curate, "--out", str(curated))
    asked = ("--config", str(config / "ophthalwechat.yaml"), f"--data.curated={curated}", f"--run={run}")
    yield "validate", measured(folder, "validate", *asked, f"--model={config / 'model/scripted.yaml'}")
    yield "rescore", measured(folder, "rescore", str(run))
    yield "report", measured(folder, "report", str(run), "--out", str(folder / "report"))


def main() -> int:
    """Write the data, run the commands and print their costs; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the real size, above 0 to 1")
    parser.add_argument("--keep", type=Path, help="new folder to work in; removed afterwards if not given")
    options = parser.parse_args()
    if not 0 < options.share <= 1:
        parser.error(f"--share {options.share}: expected above 0 to 1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        count = write_raw(folder / "raw", options.share)
        print(f"{count:,} questions; limits are those of {sum(PAIRS.values()) * 2:,}", flush=True)
        return show(costs(folder), limited=options.share == 1)


def show(found: Iterator[tuple[str, Cost]], *, limited: bool) -> int:
    """Print the cost of each command; return 1 if one is above its limit, and limits hold."""
    print(f"{'command':10} {'seconds':>8} {'limit':>6} {'MiB':>7} {'limit':>6}")
    over = 0
    for command, cost in found:
        seconds, mebibytes = LIMITS[command]
        is_over = limited and (cost.seconds > seconds or cost.mebibytes > mebibytes)
        over |= is_over
        stated = f"{cost.seconds:8.1f} {seconds:6} {cost.mebibytes:7.0f} {mebibytes:6}"
        print(f"{command:10} {stated}{'  over the limit' if is_over else ''}", flush=True)
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
