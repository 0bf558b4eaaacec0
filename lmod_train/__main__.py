"""``python -m lmod_train``: the front door."""

import sys

from lmod_train.cli import main

if __name__ == "__main__":
    sys.exit(main())
