import os
import re
import subprocess
import sys

from lmod_train.core.extension import PACKAGE
from lmod_train.core.own_modules import importable
from lmod_train.core.processes import spawning

TEXT = """
import os
from pathlib import Path

from lmod_train.core.own_modules import importable
from lmod_train.core.processes import spawning

if __name__ == "__main__":
    with importable(Path.cwd(), ["mine"]):
        import mine

        one = spawning().Process(target=mine.work)
        one.start()
        one.join()
        print(one.exitcode)
"""
"""The main module, which is imported in the worker after the user's modules are importable again."""


def test_a_worker_finds_the_modules_of_its_command(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "mine.py").write_text("import near\n\ndef work():\n    print(near.WORD, flush=True)\n")
    (tmp_path / "here" / "near.py").write_text("WORD = 'found'\n")
    (tmp_path / "main.py").write_text(TEXT)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, str(tmp_path / "main.py")]
    done = subprocess.run(command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["found", "0"], done.stderr


def test_importable_leaves_the_environment_as_it_was(tmp_path):
    before = dict(os.environ)
    with importable(tmp_path, []):
        assert spawning().get_start_method() == "spawn"
    assert dict(os.environ) == before


def test_worker_processes_start_in_one_way():
    files = [f for f in sorted(PACKAGE.rglob("*.py")) if f.name != "processes.py"]
    others = [
        f.name for f in files if re.search(r"get_context\(|[\"'](?:spawn|fork|forkserver)[\"']", f.read_text("utf-8"))
    ]
    assert others == []
