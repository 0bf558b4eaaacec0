"""Run commands of copies of the package, each in a process that may begin with the libraries imported.

Usage: ``python tests/taken_away.py [--libraries] COPY ...``. Each COPY is a folder with the package, where the file
``commands`` has one command a line; ``import`` imports every module. Statuses are written to ``statuses``, and what
is printed to ``printed``. Nothing of this package is imported here before the copy of it is.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from importlib import import_module
from pathlib import Path

LIBRARIES = ("lightning.pytorch", "transformers", "peft", "timm", "torchmetrics", "pandas", "pyarrow.parquet",
             "matplotlib.pyplot", "scipy.stats", "sklearn.linear_model", "jsonargparse")  # fmt: skip


def modules(copy: Path) -> list[str]:
    """Return the modules of a copy."""
    files = (file.relative_to(copy).with_suffix("").parts for file in (copy / "lmod_train").rglob("*.py"))
    return sorted(".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in files)


def status_of(copy: Path, command: str) -> int:
    """Run one command and return its exit status, 99 for an error that no command should end with."""
    try:
        if command == "import":
            return 0 * len([import_module(name) for name in modules(copy) if not name.endswith("__main__")])
        return int(import_module("lmod_train.cli").main(shlex.split(command)))
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        return 99


def run(copy: Path) -> None:
    """Run the commands of one copy in this process."""
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)
    with Path("printed").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    lines = []
    for command in Path("commands").read_text().splitlines():
        print(f"$ {command}", flush=True)
        lines.append(f"{status_of(copy, command)}\t{command}\n")
        sys.stdout.flush()
    assert str(import_module("lmod_train").__file__).startswith(f"{copy}/")
    Path("statuses").write_text("".join(lines))


if __name__ == "__main__":
    places = sys.argv[1:]
    if places[0] == "--libraries":
        places = places[1:]
        for library in LIBRARIES:
            import_module(library)
    for place in places:
        if not (child := os.fork()):
            run(Path(place))
            os._exit(0)
        os.waitpid(child, 0)
