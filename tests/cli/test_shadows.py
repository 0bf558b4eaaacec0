"""No command runs a file of the working folder because a library looks for an optional package of that name.

A hook writes the shadows: a moment before a module that is nowhere is searched, a file of that name is written to the
working folder. So every name is tried that the libraries of this machine look for, in the workers of a command too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import reply_line
from lmod_train.core.extension import PACKAGE
from tests.cli.test_working_folder import EVIL, MARKS, write_shadows
from tests.report.make import run as write_run

HOOK = """
import os, sys
from importlib.machinery import PathFinder

class Shadowing:
    def find_spec(self, name, path=None, target=None):
        here = os.environ["SHADOWS"]
        if path is None and name.isidentifier() and name not in ("usercustomize", "mine", "helper"):
            elsewhere = [p for p in sys.path if p not in ("", here)]
            if not PathFinder.find_spec(name, elsewhere) and name not in sys.builtin_module_names:
                file = os.path.join(here, name + ".py")
                if not os.path.exists(file):
                    with open(file, "w") as opened:
                        opened.write(os.environ["SHADOW_TEXT"])
                    sys.path_importer_cache.pop(here, None)
        return None

sys.meta_path.insert(0, Shadowing())
"""
FEWEST = 60
"""Shadows that all commands together meet; 104 on the machine of the first run."""

SCRIPT = "import sys\nfrom lmod_train.__main__ import run\nif __name__ == '__main__':\n    sys.exit(run())\n"
QUIET = "--trainer.accelerator cpu --trainer.logger false --trainer.enable_progress_bar false"
ASK = f"--config ask.yaml {QUIET}"
MODEL = "--model scripted"
ALL = {
    "phantom": "phantom --out drawn --n 2 --sources refuge",
    "curate": "curate --raw . --out curated_again --workers 2",
    "subset": "subset curated --n 4",
    "blind": "blind curated",
    "audit": "audit small_base curated --out audited --limit 2",
    "rescore": "rescore run",
    "judge": f"judge run {MODEL} --tasks glaucoma {QUIET}",
    "ask-questions": f"draft ask curated {MODEL} --out drafts --limit 2 {QUIET}",
    "review": "draft review drafts --curated curated --blank sheets",
    "captions": f"draft captions captions.csv {MODEL} --out drafted {QUIET}",
    "judge-captions": f"draft judge drafted {MODEL} {QUIET}",
    "review-captions": "draft review-captions drafted --blank sheet",
    "answers": "answers --curated curated --blank answers.csv --split all",
    "report": "report run --out report",
    "export": "export curated --to hugging_face --out exported --for_own_use",
    "export llava": "export curated --to llava --out in_llava --for_own_use",
    "import": "import LLAVA/train.json --images LLAVA --out imported",
    "collapse-lab": "collapse-lab --out lab --seeds 1 --steps 1 --n 2",
    "apply-delta": "weights apply-delta --delta delta --base base --out applied",
    "convert": "weights convert base --out converted",
    "merge": "weights merge --ckpt checkpoint.ckpt --out merged",
    "list": "list sources",
    "list options": "list options trainer",
    "fit": f"fit --config ask.yaml --model cnn --data.tasks glaucoma --run trained {QUIET} --trainer.max_steps 1",
    "validate": f"validate --run validated --data.workers 1 {ASK}",
    "test": f"test --run tested {ASK}",
    "predict": f"predict --run predicted {ASK}",
    "doctor": f"doctor --config ask.yaml --model small_base_lora {QUIET}",
    "pack": "report --pack VALIDATED --curated curated --out run.lmodpack",
    "help": "fit --help",
}
ALONE, QUICK = ("curate", "validate", "report", "list"), ("curate", "list")
"""Commands that are run without the others, and those of them that take less than three seconds."""
WHOLE = (*ALONE, "phantom", "subset", "blind", "audit", "rescore", "judge", "ask-questions", "answers", "pack",
         "export", "export llava", "import", "list options", "fit", "test", "predict", "doctor", "help")  # fmt: skip
"""Commands whose arguments are right, so that they do all their work; others may end with an error of their own."""


@pytest.fixture(scope="module")
def place(curated, tmp_path_factory):
    """A working folder with raw data, a curated folder, a run, and the hook and front door beside it."""
    root = tmp_path_factory.mktemp("shadowed")
    here = root / "here"
    here.mkdir()
    from lmod_train.phantom.folders import refuge

    refuge.write(here / "raw", 6, 0, size=96, workers=0)
    (here / "curated").symlink_to(curated)
    write_run(here / "run", 0.8, curated=here / "curated")
    (here / "run" / "replies").mkdir()
    made = read_predictions(here / "run" / "predictions.parquet")
    asked = {p.record.id: "asked" for p in made}
    write_run_records(here / "run" / "records.parquet", [p.record for p in made], asked)
    lines = "".join(reply_line(replace(p.reply, asked="asked")) for p in made)
    (here / "run" / "replies" / "rank-0.jsonl").write_text(lines)
    tasks = "[configs/task/anatomy.yaml, configs/task/glaucoma.yaml]".replace(
        "configs", str(PACKAGE.parent / "configs")
    )
    model = PACKAGE.parent / "configs" / "model" / "scripted.yaml"
    (here / "ask.yaml").write_text(f"model: {model}\ndata:\n  curated: curated\n  split: all\n  tasks: {tasks}\n")
    (root / "hook").mkdir()
    (root / "hook" / "sitecustomize.py").write_text(HOOK)
    (root / "lmod-train").write_text(SCRIPT)
    return root


def typed(place: Path, words: str, door: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the working folder with the hook."""
    path = os.pathsep.join([str(place / "hook"), str(PACKAGE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "SHADOWS": str(place / "here")}
    environment |= {"SHADOW_TEXT": MARKS.format(mark=str(place / "mark")), "OMP_NUM_THREADS": "1"}
    first = ["-m", "lmod_train"] if door == "module" else [str(place / "lmod-train")]
    command = [sys.executable, *first, *words.split()]
    return subprocess.run(command, cwd=place / "here", env=environment, capture_output=True, text=True, check=False)


def quiet_of(place: Path, name: str, done: subprocess.CompletedProcess[str]) -> None:
    mark = place / "mark"
    ran = sorted(set(mark.read_text().split())) if mark.exists() else []
    mark.unlink(missing_ok=True)
    assert ran == [], f"{name} executed {ran}"
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    if name in WHOLE:
        assert done.returncode == 0, (done.stdout[-1000:], done.stderr[-2000:])


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in ALONE])
def test_a_command_runs_no_optional_package_of_the_working_folder(place, name):
    quiet_of(place, name, typed(place, ALL[name], "module"))
    assert list((place / "here").glob("*.py")), "the hook has met no name"


@pytest.mark.slow
@pytest.mark.parametrize("door", ["module", "script"])
@pytest.mark.parametrize("shadows", ["optional", "all"])
def test_no_command_runs_a_shadow_of_the_working_folder(place, door, shadows):
    """`all` are those of the standard library and of all installed packages too."""
    if shadows == "all":
        write_shadows(place / "here", place / "mark")
    for name, words in ALL.items():
        begun = f"{door}_{shadows}_"
        again = words.replace("--out ", f"--out {begun}").replace("--run ", f"--run {begun}")
        again = again.replace("LLAVA", f"{begun}in_llava").replace("VALIDATED", f"{begun}validated")
        quiet_of(place, name, typed(place, again, door))
    found = sorted(f.stem for f in (place / "here").glob("*.py"))
    print(len(found), *found)
    assert len(found) >= FEWEST


HELPED = '''
from helper import WORDS
from lmod_train.tasks.glaucoma import Glaucoma

class Mine(Glaucoma):
    """Asks in its own words."""

    name = "mine"
    version = WORDS
'''


def test_a_named_module_and_those_it_imports_are_found_and_no_other_in_workers_too(place):
    here = place / "here"
    (here / "mine.py").write_text(HELPED)
    (here / "helper.py").write_text("WORDS = 1\n")
    (here / "evil.py").write_text(EVIL.format(mark=str(place / "mark")))
    (here / "mine.yaml").write_text("protocol: mine\ntasks:\n- class_path: mine.Mine\nworkers: 2\n")
    done = typed(place, "curate --config mine.yaml --raw raw --out of_mine", "module")
    assert done.returncode == 0, done.stderr
    quiet_of(place, "curate", done)
    assert (here / "of_mine" / "records" / "mine.parquet").is_file()


def test_what_a_named_module_imports_otherwise_is_refused_with_a_cure_that_works(place):
    here = place / "here"
    (here / "dynamic.py").write_text(HELPED.replace("from helper import WORDS", "WORDS = __import__('other').WORDS"))
    (here / "other.py").write_text("WORDS = 1\n")
    words = "curate --raw raw --out of_dynamic --workers 1 --tasks"
    tasks = '[{"class_path":"dynamic.Mine"}]'
    refused = typed(place, f"{words} {tasks}", "module")
    assert refused.returncode == 2 and "write the statement `import other` into your own module" in refused.stderr
    (here / "dynamic.py").write_text("import other\n" + (here / "dynamic.py").read_text())
    done = typed(place, f"{words} {tasks}", "script")
    assert done.returncode == 0, done.stderr


def test_an_empty_entry_of_a_path_is_not_the_working_folder_and_a_named_one_is(place, tmp_path):
    (tmp_path / "yaml.py").write_text("print('executed')\n")
    for more, found in ((os.pathsep, False), (f"{os.pathsep}{tmp_path}", True)):
        for door in (["-m", "lmod_train"], [str(place / "lmod-train")]):
            environment = {**os.environ, "PYTHONPATH": f"{PACKAGE.parent}{more}", "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, *door, "list", "sources"]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert ("executed" in done.stdout) == found, (more, door)
