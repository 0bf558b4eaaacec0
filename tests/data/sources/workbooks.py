"""A small OphthalWeChat of known content, which tests damage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openpyxl import Workbook
from PIL import Image

from lmod_train.core.types import Dropped, Sample
from lmod_train.extensions.ophthalwechat.source import OphthalWeChat

ASKED = ("QA ID", "Image ID", "Question type", "Language", "Question", "Answer")
SHOWN = ("Image ID", "URL", "Article ID", "Modality", "Subspecialty")
OPTIONS = "Which is abnormal? A: optic disc B: macula C: iris D: lens"
WAHL = "哪个结构异常？ A：视盘 B：黄斑 C：虹膜 D：晶状体"
ROWS: tuple[tuple[object, ...], ...] = (
    (1, 1, "Binary", "Chinese", "视盘苍白", "对"),
    (1, 1, "Binary", "English", "The optic disc is pale", "True"),
    (2, 1, "Single-choice", "Chinese", WAHL, "B"),
    (2, 1, "Single-choice", "English", OPTIONS, "B"),
    (3, 2, "Open-ended", "Chinese", "诊断是什么？", "黄斑裂孔"),
    (3, 2, "Open-ended", "English", "What is the diagnosis?", "Macular hole"),
)
PICTURES: tuple[tuple[object, ...], ...] = (
    (1, "https://x.org/a", "p1", "CFP", "Retina/Vitreous"),
    (2, "https://x.org/b", "p1", "OCT", "Glaucoma"),
)


def workbook(path: Path, header: Sequence[object], rows: Sequence[Sequence[object]]) -> Workbook:
    """Write a workbook of one sheet, and return it."""
    book = Workbook()
    for row in (header, *rows):
        book.active.append(list(row))
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return book


def folder(root: Path, rows=ROWS, pictures=PICTURES, files=("1.png", "2.png"), asked=ASKED, shown=SHOWN) -> Path:
    """Write the two workbooks and image files of 4 x 4 pixels."""
    workbook(root / "OphthalWeChat_QA.xlsx", asked, rows)
    workbook(root / "OphthalWeChat_image_information.xlsx", shown, pictures)
    for number, name in enumerate(files):
        (root / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(root / "images" / name)
    return root


def read(root: Path, **options) -> tuple[dict[str, Sample], list[Dropped]]:
    """Return samples by key, and drops."""
    items = list(OphthalWeChat(root, **options).samples())
    return {s.key: s for s in items if isinstance(s, Sample)}, [d for d in items if isinstance(d, Dropped)]


def asked_of(sample: Sample) -> dict[tuple[str, str], tuple[str, tuple[str, ...], str]]:
    """Return (task, variant) -> words, choices and answer of each question."""
    return {
        (q.task.partition("_")[0], q.variant): (q.messages[0].parts[1].text, q.choices, q.answer) for q in sample.asked
    }
