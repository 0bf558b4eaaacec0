"""A script of scripts/, opened as a module; its siblings are found, as when it is started from the command line."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from unittest.mock import patch

from lmod_train.core.extension import PACKAGE


def opened(name: str, folder: str = "scripts") -> ModuleType:
    """Return the module of a script of a folder."""
    with patch.object(sys, "path", [str(PACKAGE.parent / folder), *sys.path]):
        return import_module(name)
