"""Entry point of ``python -m lmod_train``."""

import os
import sys


def _leave_the_working_folder() -> None:
    """Remove the working folder from the module search path, where ``python -m`` puts it first.

    A folder received from others may contain e.g. a ``yaml.py``, which would be run by commands started there. Commands
    that build the user's own classes append it again (`lmod_train.cli.own`). A checkout that is not installed stays.
    """
    here = os.getcwd()  # noqa: PTH109 - `pathlib` itself could come from there
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", here):
        del sys.path[0]
        if os.path.dirname(os.path.dirname(os.path.abspath(__file__))) == here:  # noqa: PTH100, PTH120
            sys.path.append(here)


if __name__ == "__main__":
    _leave_the_working_folder()
    from lmod_train.cli import main

    sys.exit(main())
