"""Hostile packs are refused with a short reason, in bounded memory and time."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from lmod_train.core.extension import PACKAGE
from lmod_train.extensions.packs.pack import MOST_TEXT, PackDamaged, read_pack, write_pack
from lmod_train.extensions.packs.packing import pack
from lmod_train.extensions.packs.verifying import MOST_REASON, Refused, read_folder, verified
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from tests.report import packs
from tests.report.hostile_packs import HOSTILE, contents

MOST_MB, MOST_SECONDS = 300, 20
QUICK = ("2.3 million quotes in a reply", "quotes of the whole question in every reply", "another module's class",
         "a header of 10 million empty objects", "60,000 entries", "a name of 50 million letters")  # fmt: skip

MEASURE = """
import logging, os, signal, sys
from pathlib import Path
from lmod_train.extensions.packs.verifying import Refused, read_folder, verified

logging.disable()
folder = read_folder(Path(sys.argv[1]))
for file in map(Path, sys.argv[2:]):
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        found = verified(file, folder)
        print("refused" if isinstance(found, Refused) else "holds", flush=True)
        os._exit(0)
    _, status, used = os.wait4(process, 0)
    print(status, used.ru_maxrss // 1024, used.ru_utime + used.ru_stime, flush=True)
"""
"""Verifies each pack in a process of its own: what it is found to be, its status, megabytes at most, and seconds."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    root = tmp_path_factory.mktemp("packs")
    place = packs.curated(root / "curated")
    pack(packs.run(root / "run", place, tasks=[Glaucoma(), Anatomy()]), root / "honest.lmodpack")
    return root


def measured(honest, *files):
    """Return (found, status, megabytes, seconds) of each pack."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", textwrap.dedent(MEASURE), honest / "curated", *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == 2 * len(files), done.stdout
    return [(found, *map(float, told.split())) for found, told in zip(lines[::2], lines[1::2], strict=True)]


OTHERS = [name for name in HOSTILE if name not in QUICK]


@pytest.mark.parametrize(
    "names", [pytest.param(QUICK, id="quick"), pytest.param(OTHERS, id="others", marks=pytest.mark.slow)]
)
def test_hostile_packs_are_refused_in_bounded_memory_and_time(honest, tmp_path, names):
    """Compared with the honest pack that they are changes of, verified before them."""
    files = [honest / "honest.lmodpack", *(tmp_path / f"{number}.lmodpack" for number in range(len(names)))]
    for file, name in zip(files[1:], names, strict=True):
        file.write_bytes(HOSTILE[name](*contents(files[0].read_bytes())))
    (told, status, least, _), *measures = measured(honest, *files)
    assert (told, status) == ("holds", 0)
    for name, (found, ended, most, seconds) in zip(names, measures, strict=True):
        assert (found, ended) == ("refused", 0), name
        assert most - least < MOST_MB and seconds < MOST_SECONDS, (name, most - least, seconds)


def test_reasons_are_short_and_name_the_replaced_class(honest, tmp_path):
    folder, reasons = read_folder(honest / "curated"), {}
    for name in ("another module's class", "another class of the package", "an id of direction marks and commands",
                 "20,000 tasks"):  # fmt: skip
        file = tmp_path / "hostile.lmodpack"
        file.write_bytes(HOSTILE[name](*contents((honest / "honest.lmodpack").read_bytes())))
        found = verified(file, folder, trust=["evil"])
        assert isinstance(found, Refused) and max(map(len, found.reasons)) <= MOST_REASON + 4
        reasons[name] = "; ".join(found.reasons)
    own = "and was asked by lmod_train.tasks.glaucoma.Glaucoma"
    assert f"glaucoma is scored by another class, evil.Glaucoma, {own}" in reasons["another module's class"]
    assert f"another class, lmod_train.tasks.four_way.FourWay, {own}" in reasons["another class of the package"]


def test_a_reply_at_the_limit_is_written_and_read_and_a_longer_one_is_not_written(honest, tmp_path):
    made = read_pack(honest / "honest.lmodpack")
    for extra, ends in ((0, True), (1, False)):
        long = replace(made.predictions[0], reply=("眼" * (MOST_TEXT - 9 + extra), (0, 9)))
        whole = replace(made, predictions=(long, *made.predictions[1:]))
        if ends:
            write_pack(tmp_path / "long.lmodpack", whole)
            assert read_pack(tmp_path / "long.lmodpack") == whole
        else:
            with pytest.raises(PackDamaged, match="has more than"):
                write_pack(tmp_path / "longer.lmodpack", whole)
