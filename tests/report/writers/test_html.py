import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.artifacts.predictions import read_predictions, write_predictions
from lmod_train.report.report import report
from lmod_train.report.results import read_outcomes
from lmod_train.report.writers.html import sample
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


def cards(reader):
    return [a for tag, a in reader.tags if tag == "article"]


def test_every_prediction_has_a_card_with_its_status(three, read):
    assert len(cards(read)) == 3 * 72
    outcomes = read_outcomes(three[0][0])
    refused = sum(p.status == "refused" for p in outcomes.predictions)
    shown = [c for c in cards(read) if c["data-run"] == "base (untuned)" and c["data-status"] == "refused"]
    assert len(shown) == refused > 0
    assert "All 216 predictions are shown." in "".join(read.text)


def test_nothing_a_model_wrote_becomes_markup(read):
    said = "".join(read.text)
    assert LURE in said, "the reply is shown, as text"
    assert len(read.scripts) == 2 and not any("alert" in s for s in read.scripts)


def test_the_policy_names_the_one_script_and_the_one_style(three, read):
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    text = (three[1] / "index.html").read_text()
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == [f"'sha256-{digest}'"]
    assert rules["default-src"] == ["'none'"] and "unsafe" not in policy
    assert not [name for _, a in read.tags for name in a if name == "style" or name.startswith("on")]


def test_no_folder_of_this_machine_is_told(tmp_path, monkeypatch):
    home = tmp_path / "home" / "ada"
    one = run(home / "runs" / "one", 0.9, n=4, model=str(home / "weights" / "llava"), curated=curate(home / "curated"))
    asked = [
        replace(p, reply=replace(p.reply, reply="", error=f"OSError: {home}/x.jpg: gone", finish_reason="error"))
        for p in read_predictions(one / "predictions.parquet")
    ]
    write_predictions(one / "predictions.parquet", asked)
    report([one], tmp_path / "out")
    for file in filter(Path.is_file, (tmp_path / "out").rglob("*")):
        assert str(home).encode() not in file.read_bytes(), file
        assert str(tmp_path).encode() not in file.read_bytes(), file
    assert "OSError: x.jpg: gone" in (tmp_path / "out" / "index.html").read_text()


def test_nothing_is_loaded_from_elsewhere(three, read):
    for tag, attributes in read.tags:
        assert tag not in ("link", "iframe", "object", "base")
        assert attributes.get("src", "data:").startswith("data:")
    assert not re.search(r"https?://", (three[1] / "index.html").read_text())


def test_images_are_held_once_small_and_found_by_their_number(three, read):
    images = json.loads(read.scripts[0])
    assert len(images) == 24
    used = {int(a["data-image"]) for tag, a in read.tags if tag == "img" and "data-image" in a}
    assert used == set(range(24))
    for data in images:
        assert Image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))).size == (256, 192)


def test_what_must_stay_is_said_and_what_may_go_is_not(three, tmp_path):
    warning = "must stay on this machine"
    assert warning in (three[1] / "index.html").read_text()
    free = curate(tmp_path / "free", n=4)
    one = run(tmp_path / "one", 0.9, n=4, curated=free)
    assert warning not in report([one], tmp_path / "out").read_text()
    (free / "manifest.json").unlink()
    assert warning in report([one], tmp_path / "out").read_text(), "not known means it stays"


def test_a_missing_image_is_said(tmp_path):
    one = run(tmp_path / "one", 0.9, n=4)
    assert "Image not found: images/phantoms/0.jpg" in report([one], tmp_path / "out").read_text()


def test_an_image_outside_the_curated_folder_is_not_shown(tmp_path):
    from lmod_train.report.thumbnails import thumbnail

    Image.new("RGB", (9, 9)).save(tmp_path / "secret.png")
    (tmp_path / "curated").mkdir()
    assert thumbnail(tmp_path, "secret.png").startswith("data:image/jpeg")
    assert thumbnail(tmp_path / "curated", "../secret.png") == ""


def test_the_cap_is_stated_and_shows_the_same_ids_of_every_run(three, tmp_path):
    runs, _, _ = three
    text = report(runs, tmp_path / "out", cap=45).read_text()
    reader = Reader(text)
    assert "45 of 216 predictions are shown" in text
    ids = [re.findall(r"<dd>((?:four_way|glaucoma|anatomy)/[^\n]+)", part)[0] for part in text.split("<article")[1:]]
    by_run = {}
    for card, name in zip(cards(reader), ids, strict=True):
        by_run.setdefault(card["data-run"], []).append(name)
    assert len(by_run) == 3 and len({tuple(v) for v in by_run.values()}) == 1


def test_a_sample_of_nothing_is_nothing():
    assert sample([], 5) == []
