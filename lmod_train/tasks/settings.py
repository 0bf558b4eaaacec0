"""What changes the questions of a task, as plain values, so that a curation can tell whether it would ask the same."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import content_sha256


def plain(value: Any, name: str, other: Callable[[Any], Any] | None = None) -> Any:
    """Return a value as JSON reads it back; a path is known by the content of its file or folder.

    Args:
        value: Plain values, collections of them, dataclasses, patterns and paths.
        name: What the value is called, for the message.
        other: Turns a value of any other kind into a plain one, or returns None.

    Raises:
        BadArgument: It is of another kind, or a number that is not finite, or a path that leads nowhere.

    Example:
        >>> plain({"words": ("a", "b"), 1: {2.5, 1.5}}, "options")
        {'words': ['a', 'b'], '1': [1.5, 2.5]}
    """
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Path):
        return {"sha256": _content(value, name)}
    if isinstance(value, re.Pattern):
        return {"pattern": value.pattern, "flags": value.flags}
    if isinstance(value, Mapping) and all(isinstance(key, str | int) for key in value):
        return {str(key): plain(one, f"{name}.{key}", other) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, f"{name}[{i}]", other) for i, one in enumerate(value)]
    if isinstance(value, Set):
        return sorted((plain(one, name, other) for one in value), key=json.dumps)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), f"{name}.{f.name}", other) for f in fields(value)}
    made = other(value) if other else None
    if made is None:
        cure = "hold it as text, numbers, lists or a Path, or override the task's `settings()` to say what of it counts"
        raise BadArgument(name, value, "a value that JSON can hold, as it may change what is asked", cure)
    return made


def _content(path: Path, name: str) -> str:
    try:
        return content_sha256(path)
    except OSError as error:
        cure = "name it"
        raise BadArgument(name, str(path), f"a file or folder that can be read ({error.strerror})", cure) from error
