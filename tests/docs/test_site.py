"""The documentation site builds without a warning and without network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import lmod_train
from tests.docs.pages import DOCS, ROOT, pages

pytestmark = pytest.mark.slow  # the site is built once, which takes a quarter of a minute
BUILDER = ("mkdocs", "material", "mkdocstrings")
NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
"""A proxy that refuses every connection: a build that asks the network for anything fails."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if lacking := [name for name in BUILDER if find_spec(name) is None]:
        pytest.skip(f"{', '.join(lacking)} is not installed: pip install -e .[docs] -c constraints.txt")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    environment = {**os.environ, **NOWHERE, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_every_page_is_built(site: Path):
    for page in pages()[1:]:
        inside = page.relative_to(DOCS).with_suffix("")
        assert (site / ("" if inside.name == "index" else inside) / "index.html").is_file()


def test_the_search_index_holds_the_pages(site: Path):
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "Draw phantoms to try with" in index and "lmod_train.tasks.glaucoma" in index


def test_pages_load_nothing_from_outside(site: Path):
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)[^>]+(?:src|href)=\"?(https?:[^\"\s>]+)", page.read_text("utf-8"))
        assert [address for address in loaded if "squidfunk" not in address] == [], page.name


def test_tables_and_snippets_of_the_readme_are_filled_in(site: Path):
    for name, words in (
        ("index", "cnn_four_way"),
        ("tune", "llava_med_lora"),
        ("curate", "brazilian-ophthalmological"),
    ):
        html = (site / ("" if name == "index" else name) / "index.html").read_text(encoding="utf-8")
        assert words in html and "--8&lt;--" not in html


def test_no_markup_is_left_in_the_text(site: Path):
    for page in site.rglob("*.html"):
        assert "```" not in page.read_text("utf-8"), page


def test_public_classes_are_documented(site: Path):
    for page, name in (("tasks", "Glaucoma"), ("sources", "Refuge"), ("metrics", "RegionF1")):
        assert name in (site / "api" / page / "index.html").read_text(encoding="utf-8")
    package = (site / "api" / "package" / "index.html").read_text(encoding="utf-8")
    assert [name for name in lmod_train.__all__ if f'id="lmod_train.{name}"' not in package] == []
