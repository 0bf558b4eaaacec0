"""Every command that writes a folder, as it is typed, with what it needs in the working folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.shipped import configs_folder
from tests import drafted, judged, published
from tests.extensions.drafting import test_captions, test_judge
from tests.extensions.drafting import test_drafts_cli as test_drafts
from tests.extensions.drafting import test_review_cli as test_review
from tests.extensions.readers import test_answers
from tests.families import write_tiny
from tests.report import packs
from tests.tiny import record, write_curated

CPU = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--data.workers", "0"]
QUIET = test_drafts.QUIET


@dataclass(frozen=True)
class Way:
    """A command and its surroundings.

    Attributes:
        name: Name of the test.
        typed: The command, below a working folder.
        prepare: Writes what it reads into the working folder, given a curated folder of phantoms.
        root: Folder that the command writes to, relative to the working folder.
        heavy: Whether it loads a model, which takes seconds.
    """

    name: str
    typed: tuple[str, ...]
    prepare: Callable[[Path], None]
    root: str
    heavy: bool = False


@contextmanager
def standing(folder: Path) -> Iterator[None]:
    """Stand in a folder in the block."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run(*typed: str) -> None:
    assert cli.main(list(typed)) == 0, typed


def nothing(curated: Path) -> None:
    """Leave the working folder empty."""


def copied(curated: Path) -> None:
    shutil.copytree(curated, "CURATED")


def photographs(curated: Path) -> None:
    run("phantom", "--out", "raw", "--sources", "eye_diseases", "--n", "4")


def interrupted(curated: Path) -> None:
    """Leave a curation whose images are written, but not its records."""
    photographs(curated)
    next(Path("raw").rglob("*.jpg")).write_bytes(b"damaged")
    assert cli.main(["curate", "--raw", "raw", "--out", "OUT", "--workers", "1", "--strict"]) == 2


def talk(curated: Path) -> None:
    Path("PICTURES").mkdir()
    Image.new("RGB", (40, 30), "red").save("PICTURES/a.png")
    turns = [{"from": "human", "value": "<image>\nWhich eye?"}, {"from": "gpt", "value": "Left."}]
    Path("talk.json").write_text(json.dumps([{"id": str(n), "image": "a.png", "conversations": turns} for n in "ab"]))


def own_table(curated: Path) -> None:
    Path("PHOTOS").mkdir()
    for n in range(8):
        Image.effect_noise((48, 48), 20 + n).convert("RGB").save(f"PHOTOS/f{n}.jpg")
    rows = [f"f{n}.jpg;{('Glaukom', 'gesund')[n % 2]}" for n in range(8)]
    Path("T.csv").write_text("\n".join(["Foto;Diagnose", *rows]), encoding="utf-8")


def own_plan(curated: Path) -> None:
    own_table(curated)
    run(*TABLE, "--images", "PHOTOS", "--plan")
    Path("OUT").rename("SENT")
    Path("T.csv").rename("SENT/T.csv")
    Path("PHOTOS").rename("SENT/PHOTOS")


TABLE = ("curate", "--table", "T.csv", "--modality", "CFP", "--out", "OUT", "--workers", "1")


def oct_image(curated: Path) -> None:
    Path("CURATED").mkdir()
    write_curated(Path("CURATED"), [record("glaucoma/p/1", image=["oct.png"], split="val", modality="OCT")])
    Image.new("RGB", (256, 124), (90, 60, 30)).save("CURATED/oct.png")


def filled(curated: Path) -> None:
    copied(curated)
    run("answers", "--blank", "s.csv", "--curated", "CURATED", "--split", "all")
    test_answers.fill(Path("s.csv").absolute(), read_records(curated / "records"))


def answered(curated: Path) -> None:
    filled(curated)
    run("answers", "reader_1.csv", "--curated", "CURATED", "--run", "RUN")


def packed(curated: Path) -> None:
    place = packs.curated(Path("CURATED"))
    packs.run(Path("RUN"), place)
    run("report", "--pack", "RUN", "--out", "a.lmodpack")


def to_judge(curated: Path) -> None:
    judged.make_run(Path("RUN"), test_judge.TEXTS)
    test_judge.judge_file(Path(), test_judge.VERDICTS)
    rows = [f"{id},TRUE" for id in test_judge.IDS[:3]]
    Path("people.csv").write_text("\n".join(["id,verdict", *rows]), encoding="utf-8")


def to_draft(curated: Path) -> None:
    drafted.curated(Path("CURATED"), 3)
    test_drafts.model_file(Path(), test_drafts.all_good())


def to_review(curated: Path) -> None:
    drafted.make_drafts(Path("DRAFT"), drafted.curated(Path("CURATED"), 12), 12)


def reviewed(curated: Path) -> None:
    to_review(curated)
    run("draft", "review", "DRAFT", "--curated", "CURATED", "--blank", "SHEET.csv", "--share", "0.5")
    test_review.fill("ada.csv")
    test_review.fill("ben.csv")


def captions(curated: Path) -> None:
    test_captions.write_captions()


def captions_drafted(curated: Path) -> None:
    captions(curated)
    assert test_captions.ask() == 0
    test_captions.planted()


def captions_sheets(curated: Path) -> None:
    captions_drafted(curated)
    run("draft", "review-captions", "DRAFT", "--blank", "SHEET.csv", "--share", "1")
    test_captions.fill("ada.csv")
    test_captions.fill("ben.csv")


def tuned(curated: Path) -> None:
    from lmod_train.models.chat.adapters import Lora
    from lmod_train.models.modules.conversation import VisionLanguageModel

    Path("base").mkdir()
    module = VisionLanguageModel(str(write_tiny(Path("base").absolute(), "llava")), Lora(2, 4, 0.0))
    module.configure_model()
    checkpoint = {"state_dict": module.state_dict(), "global_step": 1}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, "last.ckpt")


def delta(curated: Path) -> None:
    from lmod_train.models.chat.checkpoint_files import SHIPPED
    from lmod_train.models.chat.delta import make_delta

    make_delta(SHIPPED / "small_base", SHIPPED / "small_base", Path("delta"))
    shutil.copytree(SHIPPED / "small_base", "base")


def llava_med(curated: Path) -> None:
    torch.manual_seed(0)
    published.write_llava_med_1_5(Path("llava-med"))


def _scripted(command: str) -> tuple[str, ...]:
    config = str(configs_folder() / "scripted.yaml")
    return command, "--config", config, "--data.curated", "CURATED", "--run", "RUN", *CPU


def _export(to: str) -> Way:
    return Way(f"export-{to}", ("export", "CURATED", "--to", to, "--out", "OUT"), copied, "OUT")


CNN = ("--config", str(configs_folder() / "cnn_glaucoma.yaml"), "--data.curated", "CURATED", "--run", "RUN", *CPU)
FIT = ("--trainer.max_epochs", "1", "--model.init_args.side", "32")
DRAFTS = ("draft", "review", "DRAFT", "--curated", "CURATED")
WAYS = (
    Way("phantom", ("phantom", "--out", "OUT", "--sources", "eye_diseases", "--n", "2"), nothing, "OUT"),
    Way("curate", ("curate", "--raw", "raw", "--out", "OUT", "--workers", "1"), photographs, "OUT"),
    Way("curate-continued", ("curate", "--raw", "raw", "--out", "OUT", "--workers", "1"), interrupted, "OUT"),
    Way("import", ("import", "talk.json", "--images", "PICTURES", "--out", "OUT"), talk, "OUT"),
    Way("table", (*TABLE, "--images", "PHOTOS"), own_table, "OUT"),
    Way("table-plan", ("curate", "--table", "SENT/table.yaml", "--out", "OUT", "--workers", "1"), own_plan, "OUT"),
    Way("subset", ("subset", "CURATED", "--n", "5"), copied, "CURATED"),
    Way("blind", ("blind", "CURATED"), copied, "CURATED"),
    Way("audit", ("audit", "small_base", "CURATED"), oct_image, "CURATED", True),
    *map(_export, ("llava", "sharegpt", "vlmevalkit", "lmms_eval", "hugging_face")),
    Way("answers-blank", ("answers", "--blank", "S.csv", "--curated", "CURATED", "--split", "all"), copied, "S"),
    Way("answers", ("answers", "reader_1.csv", "--curated", "CURATED", "--run", "RUN"), filled, "RUN"),
    Way("rescore", ("rescore", "RUN"), answered, "RUN"),
    Way("report", ("report", "RUN", "--out", "OUT"), answered, "OUT", True),
    Way("report-one-file", ("report", "RUN", "--out", "OUT", "--one_file"), answered, "OUT", True),
    Way("pack", ("report", "--pack", "RUN", "--out", "b.lmodpack"), packed, "b.lmodpack"),
    Way("verify", ("report", "--verify", "a.lmodpack", "--curated", "CURATED", "--out", "OUT"), packed, "OUT"),
    Way("judge-sheet", ("judge", "RUN", "--sheet", "S.csv"), to_judge, "S.csv"),
    Way("judge-people", ("judge", "RUN", "--verdicts", "people.csv"), to_judge, "RUN"),
    Way("judge-model", ("judge", "RUN", "--model", "judge.yaml", "--name", "j", *QUIET), to_judge, "RUN", True),
    Way("ask-questions", ("draft", "ask", "CURATED", "--model", "model.yaml", "--out", "OUT", *QUIET), to_draft, "OUT",
        True),
    Way("review-blank", (*DRAFTS, "--blank", "SHEET.csv"), to_review, "DRAFT"),
    Way("review-sheets", (*DRAFTS, "--sheets", "ada.csv", "ben.csv", "--out", "OUT"), reviewed, "OUT"),
    Way("captions", ("draft", "captions", "mine/CAPTIONS.csv", "--model", "model.yaml", "--out", "DRAFT", *QUIET),
        captions, "DRAFT", True),
    Way("judge-captions", ("draft", "judge", "DRAFT", "--model", "judge.yaml", "--share", "0.5", *QUIET),
        captions_drafted, "DRAFT", True),
    Way("review-captions-blank", ("draft", "review-captions", "DRAFT", "--blank", "SHEET.csv"),
        captions_drafted, "DRAFT"),
    Way("review-captions", ("draft", "review-captions", "DRAFT", "--sheets", "ada.csv", "ben.csv"),
        captions_sheets, "DRAFT"),
    *(Way(name, _scripted(name), copied, "RUN", True) for name in ("validate", "test", "predict")),
    Way("fit", ("fit", *CNN, *FIT), copied, "RUN", True),
    Way("fit-seeds", ("fit", *CNN, *FIT, "--seeds", "2"), copied, "RUN", True),
    Way("doctor", ("doctor", *CNN), copied, "RUN", True),
    Way("merge", ("weights", "merge", "--ckpt", "last.ckpt", "--out", "OUT"), tuned, "OUT", True),
    Way("convert", ("weights", "convert", "llava-med", "--out", "OUT"), llava_med, "OUT", True),
    Way("apply-delta", ("weights", "apply-delta", "--delta", "delta", "--base", "base", "--out", "OUT"),
        delta, "OUT", True),
)  # fmt: skip
"""`collapse-lab` trains models; its writers are those of `fit` and `apply-delta`."""


def type_in(folder: Path, typed: tuple[str, ...]) -> int:
    """Run a command in a folder and return its status; what is raised is a traceback that a user would see."""
    with standing(folder):
        return cli.main(list(typed))
