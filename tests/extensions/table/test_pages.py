"""A file of several pictures is one picture only if the user says which, and otherwise a line that says so."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.extensions.table.plan import read_plan

PAGES = (1, 5, 2, 1, 4, 1, 3, 1, 1, 1, 1, 1)
"""Pictures of each file; page n of file i has the grey `shade(i, n)`."""


def shade(file: int, page: int) -> int:
    return 20 + 16 * file + 3 * page


def clinic(folder: Path, ending: str = "tif", patient: bool = True, pages: Sequence[int] = PAGES) -> list[str]:
    (folder / "PHOTOS").mkdir()
    rows = []
    for i, n in enumerate(pages):
        first, *rest = (Image.new("L", (24, 24), shade(i, page)) for page in range(1, n + 1))
        for one in (first, *rest):
            one.paste(shade(i, 1) - 20, (i, 0, i + 1, 24))  # no two files are copies
        name = f"f{i:02}.{ending}"
        more = {"save_all": True, "append_images": rest} if rest else {}
        first.save(folder / "PHOTOS" / name, **more, **({"lossless": True} if ending == "webp" else {}))
        rows.append([name, f"P{i // 3}", ("normal", "glaucoma", "cataract")[i % 3]])
    with (folder / "t.csv").open("w", newline="") as file:
        head = ["image", "patient", "diagnosis"]
        csv.writer(file).writerows([row if patient else row[::2] for row in (head, *rows)])
    return ["curate", "--table", str(folder / "t.csv"), "--images", str(folder / "PHOTOS"), "--modality", "CFP",
            "--workers", "1", "--out", str(folder / "OUT")]  # fmt: skip


def shown(out: Path) -> dict[str, int]:
    """Return key -> grey of the curated image."""
    records = [r for r in read_records(out / "records") if r.task == "four_way"]
    return {r.key: Image.open(out / r.image[0]).convert("L").resize((1, 1)).getpixel((0, 0)) for r in records}  # type: ignore[misc]


@pytest.mark.parametrize("ending", ["tif", "gif"])
def test_files_of_several_pictures_are_listed_with_their_number(tmp_path: Path, capsys, ending: str):
    assert cli.main(clinic(tmp_path, ending, pages=(1, 5, *[1] * 10))) == 0
    listed = {d.key: d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "several_pictures"}
    assert listed == {"f01": "5 pictures in one file, expected one"}
    assert shown(tmp_path / "OUT").keys() == {f"f{i:02}" for i in range(12) if i != 1}
    assert "hold several pictures: 1 file; `--page middle`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "read", "patient"),
    [
        ("middle", lambda n: [(n + 1) // 2], True),
        ("1", lambda n: [1], True),
        ("3", lambda n: [3] if n > 2 else [1] if n == 1 else [], True),
        ("all", lambda n: range(1, n + 1), True),
        ("all", lambda n: range(1, n + 1), False),
    ],
)
def test_the_page_that_is_named_is_the_sample(
    tmp_path: Path, capsys, page: str, read: Callable[[int], Sequence[int]], patient: bool
):
    assert cli.main([*clinic(tmp_path, patient=patient), "--page", page]) == 0
    expected = {
        f"f{i:02}" + (f"#p{p}" if page == "all" and n > 1 else ""): shade(i, p)
        for i, n in enumerate(PAGES)
        for p in read(n)
    }
    found = shown(tmp_path / "OUT")
    assert found.keys() == expected.keys()
    assert all(abs(found[key] - grey) < 3 for key, grey in expected.items())
    assert not (tmp_path / "OUT" / "leakage.csv").exists(), "pages of one file are no copies"
    if page == "3":
        lines = [d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "several_pictures"]
        assert lines == ["no page 3 in a file of 2 pictures"]
    else:
        assert "several" not in capsys.readouterr().out
    assert str(read_plan(tmp_path / "OUT" / "table.yaml").page) == page
    records = read_records(tmp_path / "OUT" / "records")
    splits = {(re.sub("#.*", "", r.key), r.group, r.split) for r in records}
    assert len(splits) == len({key for key, _, _ in splits}), "pictures of one file are in one group and split"


def test_a_plan_states_the_page_and_a_page_that_is_none_is_refused(tmp_path: Path, capsys):
    command = clinic(tmp_path)
    assert cli.main([*command, "--plan", "--page", "2"]) == 0
    plan = tmp_path / "OUT" / "table.yaml"
    stated = yaml.safe_load(plan.read_text())
    plan.write_text(yaml.safe_dump(stated | {"page": 2}))  # as a person writes it
    again = ["curate", "--table", str(plan), "--out", str(tmp_path / "OUT2"), "--workers", "1", "--follow_links"]
    assert cli.main(again) == 0 and "f01" in shown(tmp_path / "OUT2")
    for wrong in ("0", "first", "-1", "1.5", "٣"):
        assert cli.main([*command, f"--page={wrong}"]) == 2
        assert "--page" in capsys.readouterr().err
