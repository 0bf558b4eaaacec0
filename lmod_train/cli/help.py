"""Help texts that a person can read: no dump of what a configuration holds, and the command that was typed."""

from __future__ import annotations

import re
from argparse import Action

from jsonargparse import DefaultHelpFormatter

_CLASSES = re.compile(r"default: \[Namespace\(.*\)\]", re.DOTALL)


class Help(DefaultHelpFormatter):
    """Names the configuration that a default comes from where the default is a list of classes."""

    def _expand_help(self, action: Action) -> str:
        return _CLASSES.sub("default: those of the default configuration", super()._expand_help(action))
