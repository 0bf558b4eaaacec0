"""Writes constraints.txt and requirements.txt: the versions of this environment, and the hashes of their files.

    .venv/bin/python scripts/lock.py

`constraints.txt` keeps lines of packages that are not installed here. `requirements.txt` has what `.[deepspeed]`
needs, with the SHA-256 of every file of that version on the index, so that it holds on every platform:

    pip install --no-deps --require-hashes -r requirements.txt && pip install --no-deps -e .

Hashes cannot stand in constraints.txt, as pip then refuses this folder, which has none.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("deepspeed",)
INDEX = "https://pypi.org/simple"
OWN = ("lmod-train", "pip")


def main() -> None:
    """Write both files."""
    constraints = ROOT / "constraints.txt"
    head, *lines = constraints.read_text(encoding="utf-8").splitlines()
    pins: dict[str, tuple[str, str]] = {
        canonicalize_name(name): (name, version) for name, version in (line.split("==") for line in lines)
    }
    every = tuple(distribution("lmod-train").metadata.get_all("Provides-Extra") or ())
    for name in {*pins, *needs("lmod-train", every)} - {canonicalize_name(own) for own in OWN}:
        if installed := version_here(name):
            pins[name] = pins.get(name, (name, ""))[0], installed
    written = [f"{name}=={version}" for name, version in sorted(pins.values(), key=lambda pin: pin[0].lower())]
    constraints.write_text("\n".join([head, *written, ""]), encoding="utf-8")
    needed = sorted(needs("lmod-train", EXTRAS) & pins.keys())
    if lacking := [name for name in needed if not version_here(name)]:
        sys.exit(
            f"not installed: {', '.join(lacking)}\nNext: `pip install -e '.[{','.join(EXTRAS)}]' -c constraints.txt`"
        )
    hashed = [f"{name}=={pins[name][1]} {' '.join(hashes(name, pins[name][1]))}" for name in needed]
    about = f"# Written by scripts/lock.py: what .[{','.join(EXTRAS)}] needs; install with --no-deps --require-hashes."
    (ROOT / "requirements.txt").write_text("\n".join([about, *hashed, ""]), encoding="utf-8")
    print(f"{len(written)} versions in constraints.txt, {len(hashed)} with hashes in requirements.txt")


def needs(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """Return the names of a package and of all that it needs on this platform, of those that are installed."""
    found, waiting = set[tuple[str, tuple[str, ...]]](), [(canonicalize_name(name), extras)]
    while waiting:
        package, own = waiting.pop()
        if (package, own) in found:
            continue
        stated = (distribution(package).requires or []) if version_here(package) else []
        found.add((package, own))
        for one in map(Requirement, stated):
            used = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (*own, ""))
            waiting += [(canonicalize_name(one.name), tuple(sorted(one.extras)))] if used else []
    return {package for package, _ in found}


def version_here(name: str) -> str:
    """Return the version that is installed, without the name of its build; empty if it is not."""
    try:
        return distribution(name).version.partition("+")[0]
    except PackageNotFoundError:
        return ""


def hashes(name: str, version: str) -> list[str]:
    """Return pip's options with the SHA-256 of every file of one version, in order."""
    request = urllib.request.Request(f"{INDEX}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        files = json.load(reply)["files"]
    found = {f["hashes"]["sha256"] for f in files if version_of(f["filename"]) == version and not f.get("yanked")}
    if not found:
        sys.exit(f"{name}=={version}: no file on {INDEX}; install a version that is there, and type this again")
    return [f"--hash=sha256:{digest}" for digest in sorted(found)]


def version_of(file: str) -> str:
    """Return the version that the name of a wheel or source archive states; empty for another file.

    Example:
        >>> version_of("six-1.17.0-py2.py3-none-any.whl"), version_of("six-1.17.0.tar.gz"), version_of("six.exe")
        ('1.17.0', '1.17.0', '')
    """
    if re.search(r"\.(whl|tar\.gz|zip)$", file) is None:
        return ""
    try:
        return str((parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[1])
    except ValueError:
        return ""


if __name__ == "__main__":
    main()
