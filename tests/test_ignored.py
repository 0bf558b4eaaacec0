"""What must not be published is kept out of git and out of the Docker image."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git answers here, and this is no checkout")
PRIVATE = [
    "curated/images/a.jpg",
    "raw/refuge/a.jpg",
    "checkpoints/llava/config.json",
    "RAW/a.jpg",
    "CURATED/records/glaucoma.parquet",
    "RUN/replies/rank-0.jsonl",
    "LMOD_PLUS/manifest.json",
    "runs/cnn/checkpoints/last.ckpt",
    "photographs/a.jpg",
    "quickstart/raw/a.jpg",
]


def in_image(path: str) -> bool:
    """Return whether Docker would copy a file: the last line that matches it or a folder above it decides."""
    kept = True
    parts = Path(path).parts
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.lstrip("!").strip("/")
        if line.startswith("#") or not pattern:
            continue
        inside = pattern.removeprefix("**/")
        names = [*above, *parts] if pattern.startswith("**/") else above
        if any(fnmatch(name, inside) and name.count("/") <= inside.count("/") for name in names):
            kept = line.startswith("!")
    return kept


def placeholders() -> list[str]:
    """Return the folders in capital letters that commands in the README and in the pages write to."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = re.findall(r"--(?:out|run|raw|images) ([A-Z][A-Z_]+)\b", text)
    return sorted(f"{name}/file" for name in set(found))


def test_data_runs_and_weights_are_ignored():
    paths = [*PRIVATE, *placeholders()]
    assert len(paths) > len(PRIVATE) + 10
    command = ["git", "-C", ROOT, "check-ignore", *paths]
    ignored = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [path for path in paths if path not in ignored] == []
    assert [path for path in paths if in_image(path)] == []


def test_the_package_is_not_ignored():
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    listed = subprocess.run(
        ["git", "-C", ROOT, "check-ignore", "--no-index", *tracked], capture_output=True, text=True, check=False
    )
    assert listed.stdout == ""
    needed = [f for f in tracked if f.startswith(("lmod_train/", "scripts/", "configs/"))]
    assert needed and all(in_image(f) for f in (*needed, "pyproject.toml", "setup.py", "constraints.txt", "README.md"))


def test_the_image_runs_as_an_ordinary_user():
    users = re.findall(r"^USER (\S+)", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert users and users[-1] not in ("root", "0")
