"""Texts of runs that come from others: no output holds a folder of this machine, and none of them does anything."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.report.report import write_report
from tests.report.make import curate, run
from tests.tabled import stored

pytestmark = pytest.mark.filterwarnings("ignore:Glyph:UserWarning", "ignore:constrained_layout:UserWarning")

ENDINGS = {".md", ".csv", ".tex", ".html", ".json", ".js", ".svg", ".css", ".txt"}

LURES = stored(__file__, "hostile.LURES")


def written(folder):
    files = [f for f in sorted(folder.rglob("*")) if f.suffix in ENDINGS]
    assert {f.suffix for f in files} >= {".md", ".csv", ".tex", ".html", ".svg"}
    return {f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8") for f in files}


def named(path, model, *replies):
    """Give the model of a run another name, and its replies in turn other fields."""
    rows = read_predictions(path / "predictions.parquet")
    changed = [replace(p, reply=replace(p.reply, model=model, **replies[i % len(replies)])) for i, p in enumerate(rows)]
    write_predictions(path / "predictions.parquet", changed)
    scores = [score for _, _, score in read_scores(path / "scores.csv")]
    write_scores(path / "scores.csv", f"{path}", model, scores)
    return path


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The report of four runs, its texts, and folders of this machine.

    Two runs hold these folders wherever a run holds a text; the models of the other two are named and reply by the
    lures.
    """
    root = tmp_path_factory.mktemp("secret_place")
    home = f"{Path.home()}/models/tuned"
    place = curate(root / "curated")
    runs = [run(root / name, 0.8, seed=i, curated=place) for i, name in enumerate("abcd")]
    for path, model in zip(runs[2:], (" ".join(LURES[:8]), "\n".join(LURES[8:])), strict=True):
        named(path, model, {"reply": "\n".join(LURES)}, {}, {})
    (runs[3] / "config.yaml").unlink()  # a remark then names the model
    for path, model in zip(runs[:2], (f"{root}/models/tuned", home), strict=True):
        named(path, model, {"error": f"OSError: {root}/x.jpg and {home}/y are gone"}, {}, {})
        config = yaml.safe_load((path / "config.yaml").read_text())
        config["model"] = {"init_args": {"base": home, "weights": f"{root}/w.bin"}}
        config["provenance"] = {"weights": {f"{root}/w.bin": "0" * 64}, "lmod_train": "1", "git": "x"}
        (path / "config.yaml").write_text(yaml.safe_dump(config))
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["sources"]["phantoms"]["root"] = f"{root}/raw"
    (place / "manifest.json").write_text(json.dumps(manifest))
    said = []
    write_report(runs, root / "out", log=said.append)
    return root / "out", "\n".join(said), (str(root), str(Path.home()), "secret_place")


def test_no_folder_of_this_machine_is_in_any_output(reported):
    out, printed, secrets = reported
    texts = written(out) | {"printed": printed}
    texts |= {f.name: f.read_bytes().decode("latin-1") for f in out.rglob("*") if f.suffix in (".png", ".jpg")}
    assert "OSError: x.jpg and y are gone" in "".join(texts.values())
    found = [
        (name, text[max(0, at - 80) : at + 80])
        for name, text in texts.items()
        for secret in secrets
        if (at := text.find(secret)) >= 0
    ]
    assert found == []


@pytest.fixture(scope="module")
def lured(reported):
    return written(reported[0])


def cells(text):
    return [cell for row in csv.reader(text.splitlines()) for cell in row]


def test_no_cell_of_a_table_is_a_formula(lured):
    tables = [text for name, text in lured.items() if name.endswith(".csv")]
    assert [cell for text in tables for cell in cells(text) if "HYPERLINK" in cell]
    found = [c for text in tables for c in cells(text) if re.match(r"\s*[=+@\t\r]|\s*-(?![\d.]|$)", c)]
    assert found == []


COMMANDS = re.compile(
    r"\\(?!(?:begin|end|caption|toprule|midrule|bottomrule|endhead|par|footnotesize|textbackslash|textasciitilde|"
    r"textasciicircum|textless|textgreater|textbar|char34|texttt|url|usepackage|setlength|tabcolsep|label|noindent|"
    r"textsuperscript|ensuremath|leq|geq|raggedright|arraybackslash|linewidth|allowbreak)\b|[&%$#_{}\\])"
)


def test_no_command_and_no_character_with_a_meaning_is_in_latex(lured):
    tables = {name: text for name, text in lured.items() if name.endswith(".tex")}
    assert any("write18" in text for text in tables.values())
    for name, text in tables.items():
        assert not COMMANDS.search(text.replace("\\\\", "")), (name, COMMANDS.search(text))
        assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1, name
        packages, *lines = text.splitlines()
        assert packages == r"% \usepackage{array,booktabs,longtable}"
        for line in lines[lines[0].startswith("% XeLaTeX") :]:
            plain = re.sub(r"\\[\\&%$#_{}]|\\[a-zA-Z]+", "", line)
            assert not re.search(r"[$#%~^]|\x1b|\u202e", plain), (name, line)


def test_no_tag_link_or_heading_of_a_text_is_in_markdown(lured):
    text = lured["tables.md"]
    assert "<script" not in text and "<img" not in text and "<svg" not in text
    assert not re.search(r"(?<!\\)\]\(|(?<!\\)!\[", text)
    assert not re.search(r"^# heading", text, re.MULTILINE)
    assert "\x1b" not in text and "\u202e" not in text


def test_no_element_of_a_text_is_in_the_page_or_a_picture(lured):
    """Files of data are scripts of their own, in which a text is a string; no browser reads them as HTML."""
    assert any("evil.example" in text for name, text in lured.items() if name.endswith((".html", ".js")))
    page = "".join(text for name, text in lured.items() if name.endswith(".html"))
    assert "<script>alert" not in page and "<img src=x" not in page and "<svg/onload" not in page
    for picture in (text for name, text in lured.items() if name.endswith(".svg")):
        elements = list(ElementTree.fromstring(picture).iter())
        assert not [e for e in elements if "script" in e.tag or any(name.startswith("on") for name in e.attrib)]
