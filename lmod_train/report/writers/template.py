"""Template of the report's page, from HTML, CSS and JavaScript files of the package.

The page is a single file that loads no others; without JavaScript it shows one long list. Its content security policy
allows only this style and this script, by their hashes, so that a browser runs no script in a reply.
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
    """Return the page as HTML, with all values escaped."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style, script = (Markup(_text(name)) for name in ("page.css", "page.js"))  # noqa: S704  # our own files
    return environment.from_string(_text("page.html")).render(style=style, script=script, hash_of=hash_of, **values)


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """Return the hash of a script or style for a Content-Security-Policy: the SHA-256 of the text between its tags.

    Example:
        >>> hash_of("alert('Hello, world.');")  # the example of the standard (CSP Level 3)
        'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
