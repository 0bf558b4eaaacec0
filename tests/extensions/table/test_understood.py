"""The page of a table: what became of each value, what to edit, and nothing that names a person."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from lmod_train import cli

GREYS = {"青光眼": 60, "正常": 120, "<img src=x onerror=alert>": 180}


def clinic(folder: Path, lost: int = 0) -> list[str]:
    """Write a table of 36 images whose mean grey is that of their diagnosis; of the last class `lost` have no file."""
    (folder / "P").mkdir()
    rows = []
    for i in range(36):
        word = list(GREYS)[i % 3]
        name = f"Jane_Doe_{i:02}.png"
        noise = np.random.default_rng(i).choice([-50, 50], (6, 8)) + GREYS[word]
        image = Image.fromarray(np.kron(noise, np.ones((10, 10))).astype(np.uint8))
        if not (i % 3 == 2 and i // 3 < lost):
            image.save(folder / "P" / name)
        rows.append([name, f"SECRET{i // 3:03}", f"Mrs Doe {i}", word, f"remark {i} of Jane", f"{20 + i}"])
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["file", "patient", "patient name", "诊断", "<b>note", "age"], *rows])
    return ["curate", "--table", str(folder / "t.csv"), "--images", str(folder / "P"), "--modality", "CFP",
            "--workers", "1", "--out", str(folder / "OUT")]  # fmt: skip


def rows_of(page: str) -> list[str]:
    return re.findall(r"<tr><th scope=\"row\".*?</tr>", page, flags=re.DOTALL)


def check_safe(page: str) -> None:
    assert (
        "<script" not in page
        and "<b>" not in page
        and "<img src=x" not in page
        and "http://" not in page
        and "https://" not in page
    )
    for word in ("Jane", "SECRET", "Mrs", "Doe"):
        assert word not in page


def test_the_page_shows_each_value_with_its_images_and_what_to_edit(tmp_path: Path, capsys):
    assert cli.main(clinic(tmp_path)) == 0
    assert f"{tmp_path / 'OUT' / 'understood.html'} shows what was understood" in capsys.readouterr().out
    page = (tmp_path / "OUT" / "understood.html").read_text(encoding="utf-8")
    check_safe(page)
    plan = yaml.safe_load((tmp_path / "OUT" / "table.yaml").read_text(encoding="utf-8"))
    edits = [yaml.safe_load(html.unescape(code)) for code in re.findall(r"<td><code dir=\"auto\">(.*?)</code>", page)]
    assert [one for one in edits if "means" in next(iter(one.values()))] == [
        {name: {"means": stated["means"]}} for name, stated in plan["columns"].items()
    ]
    for word, grey in GREYS.items():
        (row,) = (row for row in rows_of(page) if f">{html.escape(word)}</th>" in row)
        assert re.findall(r"<td class=\"n\">(\d+)</td>", row) == ["12", "12"]
        images = [base64.b64decode(found) for found in re.findall(r"data:image/jpeg;base64,([^\"]+)", row)]
        assert len(images) == 3
        for data in images:
            assert abs(np.asarray(Image.open(io.BytesIO(data)).convert("L")).mean() - grey) < 25
        assert any("words" in one.get("诊断", {}) and word in one["诊断"]["words"] for one in edits)


def test_the_page_is_there_before_a_stop_and_the_message_names_it(tmp_path: Path, capsys):
    command = clinic(tmp_path, lost=8)
    for words in (command, [*command, "--plan"]):
        assert cli.main(words) == 2
        assert f"{tmp_path / 'OUT' / 'understood.html'} shows" in capsys.readouterr().err
        page = (tmp_path / "OUT" / "understood.html").read_text(encoding="utf-8")
        check_safe(page)
        assert "values of the table would be lost (2, in colour below)" in page
        (row,) = (row for row in rows_of(page) if "alert" in row and "no image" in row)
        assert re.findall(r"<td class=\"n\">(\d+)</td>", row) == ["12", "4"]
        assert "lines 4, 7, 10, 13, 16, 19, 22, 25" in row and row.count("<img") == 3


def test_what_is_in_doubt_is_on_the_page(tmp_path: Path, capsys):
    command = clinic(tmp_path)
    table = (tmp_path / "t.csv").read_text(encoding="utf-8").replace(",age", ",sex")
    (tmp_path / "t.csv").write_text(
        re.sub(r",(\d+)(?=\r?\n)", lambda m: f",{int(m[1]) % 2 + 1}", table), encoding="utf-8"
    )
    assert cli.main(command) == 2
    assert f"{tmp_path / 'OUT' / 'understood.html'} shows" in capsys.readouterr().err
    page = (tmp_path / "OUT" / "understood.html").read_text(encoding="utf-8")
    check_safe(page)
    assert "1 of the columns must be said (sex)" in page and "which words 1, 2 stand for" in page
