"""Help texts of options, with the types and defaults of Python in words."""

from __future__ import annotations

import re
from argparse import Action

from jsonargparse import DefaultHelpFormatter

_CLASSES = re.compile(r"default: \[Namespace\(.*\)\]", re.DOTALL)
_NO_DEFAULT = re.compile(r", default: (?:\[\]|null)?(?=[,)])| \(default: (?:\[\]|null)?\)")
_TYPES = {
    "<class 'Path'>": "path",
    "Path": "path",
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "NonNegativeInt": "whole number, at least 0",
    "PositiveInt": "whole number, at least 1",
}
"""Type as jsonargparse writes it -> words."""


class Help(DefaultHelpFormatter):
    """Formatter that writes types in words and leaves out defaults that are null, empty or lists of classes."""

    def _expand_help(self, action: Action) -> str:
        text = _CLASSES.sub("default: those of the default configuration", super()._expand_help(action))
        return _NO_DEFAULT.sub("", text).replace("``", "`")

    def _format_action_invocation(self, action: Action) -> str:
        return super()._format_action_invocation(action).replace(" \b[", "[")  # jsonargparse deletes the space by \b

    def _get_type_str(self, action: Action) -> str | None:
        """Return the type in words; None for a choice, whose words already stand beside the option."""
        kind = super()._get_type_str(action)
        if kind is None or kind.startswith("Literal["):
            return None
        kind = re.sub(r"^Optional\[(.*)\]$", r"\1", kind.removesuffix(" | null"))
        return " or ".join(_TYPES.get(one, one) for one in kind.split(" | "))
