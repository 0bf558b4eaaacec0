"""Entry point of ``python -m lmod_train`` and of the command ``lmod-train``."""

import gc
import os
import sys


def _leave_the_working_folder() -> None:
    """Remove the working folder from the module search path, here and in processes that this one starts.

    ``python -m`` puts it first, and so does an empty entry of ``PYTHONPATH``. A folder received from others may contain
    e.g. a ``yaml.py``, which would be run by commands started there. The user's own modules that a command names are
    found otherwise (`lmod_train.core.own_modules`). A checkout that is not installed stays, and so does a folder that
    ``PYTHONPATH`` names.
    """
    here = os.getcwd()  # noqa: PTH109 - `pathlib` itself could come from there
    stated = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = here in [os.path.abspath(entry) for entry in stated if entry]  # noqa: PTH100
    own = next((i for i, entry in enumerate(sys.path) if entry == os.path.dirname(os.__file__)), 0)  # noqa: PTH120
    before, after = sys.path[:own], sys.path[own:]
    first = 0 if sys.flags.safe_path else 1
    kept = [entry for i, entry in enumerate(before) if entry not in ("", here) or (named and i >= first)]
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) == here  # noqa: PTH100, PTH120
    sys.path[:] = [*kept, *after, *([here] if checkout and here not in (*kept, *after) else [])]
    if not checkout:
        os.environ["PYTHONSAFEPATH"] = "1"


def run() -> int:
    """Run the command of this process, and return its exit status."""
    _leave_the_working_folder()
    gc.set_threshold(50_000)  # by default, a tenth of the time of imports and reports goes to collections
    from lmod_train.core.interruption import Interruption

    interruption = Interruption()
    interruption.listen()
    try:
        from lmod_train.cli import main

        return main()
    except BaseException:
        if not interruption.pressed:
            raise
        interruption.end()  # an import that is interrupted can raise anything
        sys.stderr.write("interrupted: nothing was changed; the same command starts again\n")
        return 130
    finally:
        interruption.end()


if __name__ == "__main__":
    sys.exit(run())
