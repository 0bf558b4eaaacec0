"""The page's template: HTML, style and script as files of the package, the last two named by their hashes.

The page is one file that loads nothing from elsewhere and reads as one long list without scripts. Its policy names the
one style and the one script by their hashes, so that a browser runs no other, wherever on the page it may have come
from.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

FOLDER = Path(__file__).with_name("page_files")


def render(**values: Any) -> str:
    """Return the page as HTML; whatever the values hold is escaped."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style, script = (Markup(_text(name)) for name in ("page.css", "page.js"))  # noqa: S704  # our own files
    return environment.from_string(_text("page.html")).render(style=style, script=script, hash_of=hash_of, **values)


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """Return how a Content-Security-Policy names a script or style: by the SHA-256 of what stands between its tags.

    Example:
        >>> hash_of("alert('Hello, world.');")  # the example of the standard (CSP Level 3)
        'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
