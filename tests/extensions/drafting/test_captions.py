"""From captions to records: `draft captions`, `draft judge`, `draft review-captions`, `curate`."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.types import Record, Reply
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.extensions.drafting.caption_files import read_folder, to_review
from lmod_train.extensions.drafting.caption_steps import (
    Settings,
    comparisons,
    paper_keywords,
    prepared,
    requests,
    sampled,
    written,
)
from lmod_train.extensions.drafting.captions import CaptionQuestions
from lmod_train.extensions.drafting.reviewing import codes_of
from lmod_train.tasks.bilingual import BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from tests.captioned import eyes, predicted, replies, rewritten

COUNT = 14
FROZEN, SCRIPTED = "lmod_train.models.modules.frozen.Frozen", "lmod_train.models.backends.scripted.Scripted"
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of captions with images, and a scripted model that answers every request about them."""
    folder = tmp_path_factory.mktemp("captioned")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_captions()
    return folder


@pytest.fixture
def here(captioned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, in which the test stands."""
    shutil.copytree(captioned, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_captions() -> None:
    drawn = eyes(COUNT)
    captions = {eye.caption.key: eye.caption for eye in drawn}
    noise = np.random.default_rng(0)
    Path("mine").mkdir()
    for eye in drawn:
        pixels = noise.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((64, 64), Image.Resampling.NEAREST).save(f"mine/{eye.n}.png")
    rows = [(c.key, f"{n}.png", c.text, c.group, "CFP", "no") for n, c in enumerate(captions.values())]
    rows += [("bad", "../model.yaml", "Drusen.", "", "CFP", ""), ("none", "0.png", "", "", "", "")]
    columns = ("id", "image", "caption", "group", "modality", "text_in_image")
    Path("mine/CAPTIONS.csv").write_bytes(csv_bytes(columns, rows))
    Path("mine", NOTE).write_text("{}", encoding="utf-8")
    _, by_id = requested("model")  # its requests contain those of positions by the seed
    scripted("model.yaml", by_id)


def requested(positions: str = "") -> tuple[list[Record], dict[str, str]]:
    """Return the requests about the captions of all steps, and record id -> what a model writes.

    Args:
        positions: Whether letters are balanced by the ``model``; empty for the default.
    """
    drawn = eyes(COUNT)
    captions = {eye.caption.key: eye.caption for eye in drawn}
    texts, _ = replies(drawn, 0.0)
    records, settings = CaptionQuestions().records(captions.values()), Settings(paper_keywords())
    by_id = {record.id: texts[record.key, record.chain_step] for record in records}
    before = prepared(written(predicted(CaptionQuestions(), records, by_id), captions), settings)
    settings = replace(settings, positions=positions or settings.positions)
    further = requests(before, captions, settings)
    return [*records, *further], by_id | rewritten(further, before, settings)


def scripted(path: str, texts: Mapping[str, str]) -> None:
    """Write the config of a model with these replies by record id."""
    replies = Path(path).with_suffix(".jsonl")
    lines = [json.dumps({"id": id, "reply": text}) for id, text in texts.items()]
    replies.write_text("\n".join(lines), encoding="utf-8")
    backend = {"class_path": SCRIPTED, "init_args": {"replies": str(replies)}}
    Path(path).write_text(yaml.safe_dump({"class_path": FROZEN, "init_args": {"backend": backend}}))


def ask(*more: str) -> int:
    return cli.main(
        ["draft", "captions", "mine/CAPTIONS.csv", "--model", "model.yaml", "--out", "DRAFT", *more, *QUIET]
    )


def curate(out: str = "CURATED") -> int:
    return cli.main(["curate", "--config", "captions", "--roots.captions", "DRAFT", "--out", out])


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: str, wrong: str = "", draft: str = "DRAFT") -> None:
    """Fill in a copy of the sheet as a reviewer who agrees with the model.

    Args:
        path: File to write.
        wrong: Stage whose questions the reviewer answers with `none`.
        draft: Folder of the questions.
    """
    folder = read_folder(Path(draft))
    drafts = to_review(folder.balanced().items, folder.captions)
    codes = codes_of(drafts)
    right = {codes[one.id]: "none" if one.stage == wrong else one.draft.letter for one in drafts}
    table = rows("SHEET.csv")
    for row in table:
        row["answer"] = right[row["id"]]
    Path(path).write_bytes(csv_bytes([*table[0]], [list(row.values()) for row in table]))


def test_captions_become_records_after_a_review_and_not_before(here: Path, capsys: pytest.CaptureFixture[str]):
    assert ask() == 0
    printed = capsys.readouterr().out
    assert "True 50.0 %" in printed and "review-captions DRAFT --blank SHEET.csv" in printed
    assert [row["reason"] for row in rows("DRAFT/left_out.csv") if row["step"] == "caption"] == [
        "no_image",
        "no_caption",
    ]
    questions = rows("DRAFT/questions.csv")
    assert Counter(row["kind"] for row in questions)["open_question"] == COUNT
    before = Run(Path("DRAFT/generation")).replies_of(0).read_bytes()
    assert ask() == 0
    assert Run(Path("DRAFT/generation")).replies_of(0).read_bytes() == before, "a second command asks nothing"
    capsys.readouterr()

    assert curate() == 2
    assert "review-captions DRAFT --blank SHEET.csv" in capsys.readouterr().err
    assert cli.main(["draft", "review-captions", "DRAFT", "--blank", "SHEET.csv", "--share", "1"]) == 0
    fill("ada.csv")
    fill("ben.csv")
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ada.csv", "ben.csv"]) == 0
    assert f"released {len(questions)} of {len(questions)}" in capsys.readouterr().out
    assert curate() == 0
    records = read_records(Path("CURATED/records"))
    assert len(records) == 2 * len(questions)
    assert {r.tags["review"] for r in records} == {"reviewed"} and all(r.phantom for r in records)
    assert {r.tags["text_in_image"] for r in records} == {"no"}
    tasks = {task.name: task for task in (BinaryQuestion(), SingleChoiceQuestion(), OpenQuestion())}
    pairs = Counter(r.id.removesuffix("-en").removesuffix("-zh") for r in records)
    assert set(pairs.values()) == {2}
    for record in records:
        assert tasks[record.task].parse(Reply(record.id, record.answer), record) is not None
        assert record.language == record.tags["language"] == record.variant[-2:]
    true = Counter(r.answer for r in records if r.task == "binary_question")
    assert true["True"] == true["False"] == true["对"] == true["错"]
    assert read_manifest(Path("CURATED"))["protocol"] == "captions"


def test_a_kind_whose_reviewers_disagree_is_not_released_in_either_language(here: Path, capsys):
    assert ask("--kinds", "binary_question,open_question") == 0
    assert cli.main(["draft", "review-captions", "DRAFT", "--blank", "SHEET.csv", "--share", "1"]) == 0
    fill("ada.csv")
    fill("ben.csv", wrong="binary_question-zh")
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ada.csv", "ben.csv"]) == 0
    assert "binary_question-zh: refused" in capsys.readouterr().out
    kinds = {json.loads(line)["kind"] for line in Path("DRAFT/released.jsonl").read_text(encoding="utf-8").splitlines()}
    assert kinds == {"open_question"}
    fill("carl.csv", wrong="open_question-en")
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ben.csv", "carl.csv"]) == 0
    assert not Path("DRAFT/released.jsonl").exists() and curate() == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--kinds", "chain"], "some of binary_question"),
        (["--filter", "own"], "together with `--keywords FILE.csv`"),
        (["--keywords", "mine/CAPTIONS.csv"], "together with `--keywords FILE.csv`"),
        (["--filter", "own", "--keywords", "mine/CAPTIONS.csv"], "a CSV file with the column keyword"),
    ],
)
def test_arguments_that_do_not_fit_are_named_before_anything_is_written(here, arguments, expected, capsys):
    assert ask(*arguments) == 2
    assert expected in capsys.readouterr().err
    assert not Path("DRAFT").exists()


def test_a_folder_that_is_none_and_a_sheet_that_was_not_written_are_named(here: Path, capsys):
    assert cli.main(["draft", "review-captions", "mine", "--blank", "SHEET.csv"]) == 2
    assert "not a folder written by `draft captions`" in capsys.readouterr().err
    Path("DRAFT").mkdir()
    assert ask("--limit", "2") == 0
    assert len(read_folder(Path("DRAFT")).captions) == 2
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ada.csv"]) == 2
    assert "review-captions DRAFT --blank SHEET.csv" in capsys.readouterr().err


def judge(*more: str) -> int:
    return cli.main(["draft", "judge", "DRAFT", "--model", "judge.yaml", "--share", "0.5", *more, *QUIET])


def planted() -> dict[str, str]:
    """Write a judge that calls the first of the sampled questions different, and the second both; return its plan."""
    folder = read_folder(Path("DRAFT"))
    records = comparisons(sampled(folder.balanced().items, 0.5), folder.captions)
    texts = {record.id: "True" for record in records}
    texts |= {records[0].id: "**False**: another finding.", records[1].id: "True or False"}
    scripted("judge.yaml", texts)
    ids = [f"{record.key}/{record.chain_step}" for record in records]
    return dict.fromkeys(ids, "agrees") | {ids[0]: "differs", ids[1]: "unparsed"}


def outcomes() -> dict[str, str]:
    return {row["id"]: row["outcome"] for row in rows("DRAFT/parity.csv")}


def test_a_judge_compares_the_languages_of_a_sample_and_what_differs_is_read_first(here: Path, capsys):
    assert ask("--kinds", "binary_question,open_question") == 0
    plan = planted()
    different = next(iter(plan))
    capsys.readouterr()
    assert judge() == 0
    out = capsys.readouterr().out
    assert outcomes() == plan and rows("DRAFT/parity.csv")[0]["id"] == different, "what differs is listed first"
    assert f"agrees {len(plan) - 2}, " in out and "differs 1, " in out and "the 1 that differ come first" in out
    counted = {row["reason"]: int(row["count"]) for row in rows("DRAFT/counts.csv") if row["step"] == "parity"}
    assert counted == {"agrees": len(plan) - 2, "differs": 1, "unparsed": 1}
    questions = rows("DRAFT/questions.csv")
    assert {row["id"]: row["parity"] for row in questions if row["parity"]} == plan, "nothing is left out"

    replies = Run(Path("DRAFT/parity")).replies_of(0)
    lines = replies.read_bytes().splitlines(keepends=True)
    replies.write_bytes(b"".join(lines[:3]) + lines[3][:9])  # as of a killed run
    assert judge() == 0 and outcomes() == plan
    asked = [json.loads(line)["id"] for line in replies.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    assert len(asked) == len({*asked}) == len(plan), "none is asked twice"

    assert cli.main(["draft", "review-captions", "DRAFT", "--blank", "SHEET.csv", "--share", "0.3"]) == 0
    assert "2 of them because a judge calls their languages different" in capsys.readouterr().out
    folder = read_folder(Path("DRAFT"))
    codes = codes_of(to_review(folder.balanced().items, folder.captions))
    caption, kind, number = different.split("/")
    ids = [f"question/captions/{caption}/{number}/{kind}-{language}" for language in ("en", "zh")]
    assert [row["id"] for row in rows("SHEET.csv")[:2]] == [codes[id] for id in ids]
    fill("ada.csv")
    fill("ben.csv")
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ada.csv", "ben.csv"]) == 0
    released = [json.loads(line) for line in Path("DRAFT/released.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(released) == len(questions)


def test_what_differs_is_not_released_unread_and_another_judge_is_refused(here: Path, capsys):
    assert ask("--kinds", "open_question") == 0
    assert cli.main(["draft", "review-captions", "DRAFT", "--blank", "SHEET.csv", "--share", "0.5"]) == 0
    fill("ada.csv")
    fill("ben.csv")
    sheet = {row["id"] for row in rows("SHEET.csv")}
    folder = read_folder(Path("DRAFT"))
    drafts = to_review(folder.balanced().items, folder.captions)
    codes = codes_of(drafts)
    unread = next(one for one in drafts if one.id.endswith("-en") and codes[one.id] not in sheet)
    records = comparisons(folder.balanced().items, folder.captions)
    scripted("judge.yaml", {r.id: "False" if r.key == unread.record.key else "True" for r in records})
    assert judge("--share", "1") == 0
    capsys.readouterr()
    assert cli.main(["draft", "review-captions", "DRAFT", "--sheets", "ada.csv", "ben.csv"]) == 0
    assert f"left out: {unread.record.key}/open_question/1: a judge calls its languages different" in (
        capsys.readouterr().out
    )
    images = [json.loads(line)["image"] for line in Path("DRAFT/released.jsonl").read_text("utf-8").splitlines()]
    assert len(images) == COUNT - 1 and unread.record.image[0] not in images
    assert cli.main(["draft", "judge", "DRAFT", "--model", "model.yaml", *QUIET]) == 2
    assert "move DRAFT/parity away" in capsys.readouterr().err
    assert judge("--share", "0") == 2 and "--share" in capsys.readouterr().err


def test_options_are_swapped_by_the_model_and_a_swap_with_other_words_is_left_out(here: Path, capsys):
    texts = {row["id"]: row["reply"] for row in map(json.loads, Path("model.jsonl").read_text("utf-8").splitlines())}
    swaps = sorted(id for id in texts if id.endswith("/swap-zh"))
    texts[swaps[0]] = texts[swaps[0]].replace("：", "：不是", 1)
    scripted("model.yaml", texts)
    single = ["--kinds", "single_choice_question"]
    assert ask(*single, "--balance_with", "model") == 0
    (left,) = (row for row in rows("DRAFT/left_out.csv") if row["step"] == "balance")
    assert left["reason"] == "not_swapped" and left["detail"].startswith("zh: ")
    folder = read_folder(Path("DRAFT"))
    items = folder.balanced().items
    before = {item.id: item for item in folder.prepared().items}
    assert len(items) == COUNT - 1 == len(before) - 1
    places = Counter(item.pair.en.right for item in items)
    assert max(places.values()) - min(places.values()) <= 2, "14 questions on four letters, without one of them"
    for item in items:
        old, new = before[item.id].pair, item.pair
        assert new.en.right == new.zh.right and new.en.answer == old.en.answer and new.zh.answer == old.zh.answer
        assert sum(a != b for a, b in zip(old.en.options, new.en.options, strict=True)) in (0, 2), "two change places"
    answers = {row["id"]: row["answer_en"] for row in rows("DRAFT/questions.csv")}
    assert answers == {item.id: item.pair.en.answer for item in items}
