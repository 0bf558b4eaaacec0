import base64
import hashlib
import io
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.errors import BadArgument, LeavesFolder
from lmod_train.core.tables import table
from lmod_train.report.contents import Chapter, Contents, Figure, Text
from lmod_train.report.report import write_report
from lmod_train.report.results import read_outcomes
from lmod_train.report.sections.error_types import ErrorTypes
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.sections.outcomes import OutcomesOfReplies
from lmod_train.report.sections.scores import Scores
from lmod_train.report.viewer.store import Inside
from lmod_train.report.writers import html
from lmod_train.report.writers.html import figure_task, task_column
from lmod_train.report.writers.template import fill
from tests.report.make import LURE, curate, run


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.text, self._in_script = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        (self.scripts if self._in_script else self.text).append(data)


@pytest.fixture(scope="module")
def read(three):
    return Reader((three[1] / "index.html").read_text())


@pytest.fixture(scope="module")
def one_file(three, tmp_path_factory):
    """A report of the same runs as one file."""
    shown = [Scores(), Metrics(), OutcomesOfReplies(), ErrorTypes()]
    return Reader(write_report(three[0], tmp_path_factory.mktemp("one"), one_file=True, sections=shown).read_text())


def cards(text):
    return re.findall(r'<article class="card">.*?<span class="badge ([a-z-]+)">.*?</article>', text, re.DOTALL)


def test_every_prediction_has_a_card_with_its_status(three):
    text = "".join(page.read_text() for page in sorted((three[1] / "pages").iterdir()))
    assert len(cards(text)) == 3 * 72
    refused = sum(p.status == "refused" for run in three[0] for p in read_outcomes(run).predictions)
    assert cards(text).count("refused") == refused > 0
    assert "all 216 predictions are on pages of a hundred" in (three[1] / "index.html").read_text()


def test_nothing_a_model_wrote_becomes_markup(three, read, one_file):
    assert len(one_file.scripts) == 4 and not any("<" in block for block in one_file.scripts[:-1])
    pages = Reader("".join(page.read_text() for page in sorted((three[1] / "pages").iterdir())))
    assert LURE in "".join(pages.text), "the reply is shown, as text"
    assert pages.scripts == [] and len(read.scripts) == 1 and "alert" not in read.scripts[0]


def test_the_policy_names_the_one_script_and_the_one_style(three, read):
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    text = (three[1] / "index.html").read_text()
    beside = {"script": ["'self'", "file:"], "style": []}  # data files, which only pass a text
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == [f"'sha256-{digest}'", *beside[tag]]
    assert rules["default-src"] == ["'none'"] and "unsafe" not in policy
    assert rules["require-trusted-types-for"] == ["'script'"] and rules["trusted-types"] == ["lmod"]
    assert not [name for _, a in read.tags for name in a if name == "style" or name.startswith("on")]


def test_no_folder_of_this_machine_is_told(tmp_path, monkeypatch):
    home = tmp_path / "home" / "ada"
    one = run(home / "runs" / "one", 0.9, n=4, model=str(home / "weights" / "llava"), curated=curate(home / "curated"))
    asked = [
        replace(p, reply=replace(p.reply, reply="", error=f"OSError: {home}/x.jpg: gone", finish_reason="error"))
        for p in read_predictions(one / "predictions.parquet")
    ]
    write_predictions(one / "predictions.parquet", asked)
    write_report([one], tmp_path / "out", sections=[Metrics()])  # with every section: tests/report/test_hostile.py
    for file in filter(Path.is_file, (tmp_path / "out").rglob("*")):
        assert str(home).encode() not in file.read_bytes(), file
        assert str(tmp_path).encode() not in file.read_bytes(), file
    assert "OSError: x.jpg: gone" in (tmp_path / "out" / "pages" / "000001.html").read_text()


def test_nothing_is_loaded_from_elsewhere(three, read):
    for tag, attributes in read.tags:
        assert tag not in ("link", "iframe", "object", "base")
        assert attributes.get("src", "figures/").startswith(("figures/", "data:image/jpeg;base64,"))
    assert not re.search(r"https?://", (three[1] / "index.html").read_text())


def test_images_lie_beside_the_page_once(three):
    images = sorted((three[1] / "images").iterdir())
    assert len(images) == 24 and all(Image.open(image).size == (400, 300) for image in images)
    used = {
        attributes["src"].removeprefix("../")
        for page in (three[1] / "pages").iterdir()
        for tag, attributes in Reader(page.read_text()).tags
        if tag == "img"
    }
    assert used == {f"images/{image.name}" for image in images}


def test_one_file_holds_all_data_and_small_images(three, one_file, tmp_path):
    names = [a["id"] for tag, a in one_file.tags if a.get("type") == "application/json"]
    assert names == ["data-records-0", "data-replies-0", "data-index"]
    records = json.loads(one_file.scripts[0])["rows"]
    addresses = {image["sent"] for record in records for image in record["images"]}
    assert len(addresses) == 24
    for data in addresses:
        assert Image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))).size == (256, 192)
    policy = next(a["content"] for tag, a in one_file.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "file:" not in policy and "'self'" not in policy
    assert not [a["src"] for tag, a in one_file.tags if not a.get("src", "data:").startswith("data:")]


def test_one_file_replaces_the_folder_of_an_earlier_report(tmp_path):
    one = run(tmp_path / "one", 0.9, n=4, curated=curate(tmp_path / "curated", n=4))
    write_report([one], tmp_path / "out", sections=[Scores()])
    assert (tmp_path / "out" / "data").is_dir()
    write_report([one], tmp_path / "out", sections=[Scores()], one_file=True)
    assert not any((tmp_path / "out" / name).exists() for name in ("data", "images", "pages"))


def test_too_many_predictions_for_one_file_are_an_error(three, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MOST_INSIDE", 215)
    with pytest.raises(BadArgument, match="at most 215 predictions for a page in one file, not 216"):
        write_report(three[0], tmp_path / "out", sections=[Metrics()], one_file=True)


def test_what_must_stay_is_said_and_what_may_go_is_not(three, tmp_path):
    warning = "must stay on this machine"
    assert warning in (three[1] / "index.html").read_text()
    free = curate(tmp_path / "free", n=4)
    one = run(tmp_path / "one", 0.9, n=4, curated=free)
    assert warning not in write_report([one], tmp_path / "out", sections=[Metrics()]).read_text()
    (free / "manifest.json").unlink()
    assert warning in write_report([one], tmp_path / "out", sections=[Metrics()]).read_text(), (
        "not known means it stays"
    )


def test_a_missing_image_is_said(tmp_path):
    one = run(tmp_path / "one", 0.9, n=4)
    write_report([one], tmp_path / "out", sections=[Metrics()], keep_names=["phantoms"])
    assert "Image not found: images/phantoms/0.jpg" in (tmp_path / "out" / "pages" / "000001.html").read_text()


def test_an_image_outside_the_curated_folder_is_not_shown(tmp_path):
    from lmod_train.report.thumbnails import thumbnail

    Image.new("RGB", (9, 9)).save(tmp_path / "secret.png")
    (tmp_path / "curated").mkdir()
    assert thumbnail(tmp_path, "secret.png").startswith("data:image/jpeg")
    with pytest.raises(LeavesFolder):
        thumbnail(tmp_path / "curated", "../secret.png")


def test_tables_and_figures_of_a_task_are_known():
    rows = table("a", ["run", "task"], [["x", "one"], ["y", "one"]])
    assert task_column(rows) == 1 and task_column(table("a", ["run"], [])) is None
    both = table("a", ["task"], [["one"], ["two"]])
    found = [Figure(name, "", "", own, lambda *_: None) for name, own in [("a-two", both), ("a", rows), ("a", both)]]
    assert [figure_task(figure, ["two", "one"]) for figure in found] == ["two", "one", ""]
    assert Inside().blocks == []


def test_every_chapter_is_linked_and_every_link_leads_to_one(read, one_file):
    for page in (read, one_file):
        linked = [a["href"].removeprefix("#") for tag, a in page.tags if tag == "a" and "data-chapter" in a]
        assert linked == [a["id"] for tag, a in page.tags if a.get("class") == "chapter"] and len(linked) > 3
        assert {f"{name}-name" for name in linked} <= {a.get("id") for _, a in page.tags}


def test_every_figure_and_table_is_saved_from_the_page_as_each_of_its_files(three, read, one_file):
    linked = [unquote(a["href"]) for tag, a in read.tags if tag == "a" and "download" in a]
    written = {str(f.relative_to(three[1])) for name in ("tables", "figures") for f in (three[1] / name).iterdir()}
    assert set(linked) == written and len(linked) == len(written) > 30
    assert {name.rpartition(".")[2] for name in linked} == {"csv", "tex", "svg", "png"}
    within = [a["data-save"] for tag, a in one_file.tags if tag == "button" and "data-save" in a]
    shown = [tag for tag, a in one_file.tags if tag == "figure" or (tag == "div" and a.get("class") == "part")]
    assert len(within) == len(shown) and not any("download" in a for _, a in one_file.tags)


def test_photographs_keep_their_colours_on_a_dark_page(read):
    drawn = [a.get("class", "") for tag, a in read.tags if tag == "figure"]
    assert drawn.count("") == 3 and set(drawn) == {"", "drawn"}, "the examples of three tasks"


def test_words_between_backticks_are_code_and_nothing_is_lost(tmp_path):
    pieces = ["", "a", "`", "``", "<b>", "`c`", LURE]
    for text in map("".join, itertools.product(pieces, repeat=3)):
        shown = fill(
            "chapters.html", contents=Contents("", (), (Chapter("one", "One", (Text(text),)),)), kind=lambda _: "Text"
        )
        paragraph = re.search(r"<p>(.*?)</p>", shown, re.DOTALL)[1]
        plain = "".join(Reader(paragraph).text)
        assert plain.replace("`", "") == text.replace("`", "")
        assert plain.count("`") == text.count("`") % 2 and {tag for tag, _ in Reader(paragraph).tags} <= {"code"}
