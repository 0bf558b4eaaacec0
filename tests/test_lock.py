"""The versions and hashes that installations take: one lock in two files, and an image that uses it."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import distribution

from packaging.utils import canonicalize_name

from tests.test_architecture import ROOT

CONSTRAINTS = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")
)
REQUIREMENTS = [r for r in (ROOT / "requirements.txt").read_text().splitlines() if not r.startswith("#")]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def lock():
    spec = importlib.util.spec_from_file_location("lock", ROOT / "scripts" / "lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_has_hashes_and_the_version_of_the_constraints():
    known = {canonicalize_name(name): version for name, version in CONSTRAINTS.items()}
    for line in REQUIREMENTS:
        name, version, digests = re.fullmatch(r"([\w.-]+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)", line).groups()
        assert known[canonicalize_name(name)] == version
        assert len(set(digests.split())) == len(digests.split())
    assert len(REQUIREMENTS) > 100


def test_the_lock_is_closed_so_that_no_deps_leaves_nothing_out():
    named = {canonicalize_name(line.split("==")[0]) for line in REQUIREMENTS}
    made = lock()
    assert {n for n in made.needs("lmod-train", ("deepspeed",)) if made.version_here(n)} - named <= {"lmod-train"}


def test_the_version_of_a_file_is_read_from_its_name():
    version_of = lock().version_of
    assert version_of("torch-2.14.1-cp311-cp311-manylinux_2_28_x86_64.whl") == "2.14.1"
    assert version_of("deepspeed-0.18.3.tar.gz") == "0.18.3"
    assert version_of("old.exe") == version_of("strange.whl") == version_of("docs.zip") == ""


def test_an_image_has_the_headline_command_endpoints_and_a_digest():
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.M)
    assert [name for _, name in stages][-2:] != [] and {"cpu", "cuda"} <= {name for _, name in stages}
    assert re.search(r"^ARG PYTHON=python:3\.11\.\d+-\S+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.M)
    final = [
        part for part in re.split(r"^FROM ", DOCKERFILE, flags=re.M) if " AS cpu\n" in part or " AS cuda\n" in part
    ]
    assert len(final) == 2
    for part in final:
        assert "[deepspeed]" in part and part.index("COPY . .") < part.index("install_into_venv")
    packages = DOCKERFILE.split("COPY . .")[0]
    assert packages.count("--require-hashes") == 2, "packages lie in layers before the project"


def test_the_lock_is_of_this_project():
    stated = {canonicalize_name(re.split(r"[ \[<>=;]", line)[0]) for line in distribution("lmod-train").requires}
    assert {"torch", "deepspeed", "httpcore2"} <= stated & {line.split("==")[0] for line in REQUIREMENTS}
