"""The grounding audit from the command line: phantoms with counterfactuals, curation, own tables, and a report."""

import json
import re

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.cli.short_names import by_name
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.shortcuts import read_shortcuts
from lmod_train.core.errors import BadArgument
from lmod_train.extensions.looking.command import phantom_with_counterfactuals
from lmod_train.phantom.fundus import draw_eye, render


def typed(command):
    cli.main(command.split())


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    out = tmp_path_factory.mktemp("audit")
    typed(f"phantom --out {out}/raw --n 6 --sources refuge --counterfactuals true")
    typed(f"curate --config grounding --raw {out}/raw --out {out}/look --sheet {out}/sheet --workers 1")
    return out


def test_every_photograph_has_its_counterfactual_that_no_source_reads(look):
    photographs = [p for p in (look / "raw").rglob("*.jpg") if p.parent.name != ".counterfactual"]
    assert len(photographs) == 6
    assert all((p.parent / ".counterfactual" / p.name).is_file() for p in photographs)
    records = read_records(look / "look" / "records")
    assert len({r.key for r in records}) == 6 and {r.split for r in records} == {"test"}


def test_a_sheet_and_the_row_of_the_filled_crops_are_written(look):
    assert Image.open(look / "sheet" / "variants-glaucoma_grounding.png").width > 500
    assert [(r.shortcut, r.n) for r in read_shortcuts(look / "look")] == [("filled_crop.biharmonic", 0)]


def test_validate_and_report_tell_the_verdict(look, capsys, monkeypatch):
    monkeypatch.chdir(look)
    typed("validate --config grounding --model scripted --data.curated look --run run")
    told = re.findall(r"^scripted: glaucoma, (\S+) \(n 3\): (.+?);", capsys.readouterr().out, re.M)
    assert told == [("GLAUCOMA", "cannot be told"), ("NON-GLAUCOMA", "cannot be told")]
    typed("report run --out page")
    assert "Does it look? scripted: cannot be told (GLAUCOMA)" in capsys.readouterr().out
    assert "## Does it look?" in (look / "page" / "tables.md").read_text(encoding="utf-8")
    assert json.loads((look / "look" / "manifest.json").read_text())["protocol"] == "grounding"


def test_counterfactuals_need_their_source(tmp_path):
    with pytest.raises(BadArgument, match="refuge"):
        phantom_with_counterfactuals(out=tmp_path / "raw", n=2, sources="oimhs")


def test_the_questions_of_a_table_are_asked_in_variants(tmp_path):
    """Swaps and blank of every image; without what a box shows where there is one."""
    (tmp_path / "photos").mkdir()
    rows = ["photo,patient,glaucoma,disc_x1,disc_y1,disc_x2,disc_y2"]
    for at in range(6):
        eye = draw_eye(40 + at, "glaucoma" if at % 2 else "normal")
        render(eye, 160).save(tmp_path / "photos" / f"e{at}.jpg")
        (x, y), (wide, high) = eye.disc, eye.disc_radii
        box = [round(160 * v) for v in (x - wide, y - high, x + wide, y + high)] if at < 5 else [""] * 4
        rows.append(",".join(map(str, (f"e{at}.jpg", f"p{at}", ("no", "yes")[at % 2], *box))))
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    words = (
        f"curate --table {tmp_path}/t.csv --images {tmp_path}/photos --modality CFP --out {tmp_path}/own --grounding"
    )
    cli.main([*words.split(), "--ratios", "[0,0,1]", "--workers", "1"])
    records = [r for r in read_records(tmp_path / "own" / "records") if r.task == "glaucoma_grounding"]
    variants = {key: {r.variant for r in records if r.key == key} for key in {r.key for r in records}}
    assert len(variants) == 6
    assert all({"as_is", "as_is_again", "same_answer", "other_answer", "blank"} <= own for own in variants.values())
    removed = {key for key, own in variants.items() if "evidence_removed.biharmonic" in own}
    assert 1 <= len(removed) <= 5 and "e5" not in removed


def test_a_task_of_the_folder_is_named_however_long_its_settings_are(look, monkeypatch):
    """Its settings as JSON are longer than any file's name may be, and are no path."""
    monkeypatch.chdir(look)
    (_, typed) = by_name("validate", ["--data.tasks", "glaucoma_grounding", "--data.curated", "look"])[:2]
    assert len(typed) > 255 and json.loads(typed)[0]["class_path"].endswith("Grounding")
