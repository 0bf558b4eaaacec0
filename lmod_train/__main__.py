"""``python -m lmod_train``: the front door."""

import os
import sys


def _leave_the_working_folder() -> None:
    """Take the working folder off the search path, where ``python -m`` puts it before everything that is installed.

    A folder that was received may hold a ``yaml.py``, and whoever looks at it may stand in it. Commands that build what
    the user's own words name put it back, at the end (`lmod_train.cli.own`). A checkout that was not installed stays.
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
