"""Templates of the page and of its pages without script, from HTML, CSS and JavaScript files of the package.

A page allows, by its content security policy, only its own style and script, by their hashes, and images and data files
beside it. So a browser runs no script in a reply and sends nothing anywhere. A page opened from a folder has an address
of its own kind (``file:``), and browsers differ in whether ``'self'`` includes it; the policy therefore names both.
Data files are scripts, since a page may not read other files from a folder; the page asks only for those of ``data``.
``require-trusted-types-for`` makes browsers refuse markup that is made of texts. Pages without script allow none.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

FOLDER = Path(__file__).with_name("page_files")
BESIDE = "'self' file:"
"""Sources of images and data in the page's own folder."""
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"


def fill(name: str | Path, **values: Any) -> str:
    """Return a template, one of the report's or a file elsewhere, filled with values, all of which are escaped."""
    file = FOLDER / name
    return _environment(file.parent).get_template(file.name).render(**values)


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(folder), auto_reload=False
    )
    environment.globals |= {"style": Markup(style()), "script": Markup(script())}  # noqa: S704  # our own files
    return environment


@cache
def style() -> str:
    """Return the style of all pages."""
    return "".join(file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.css")))


@cache
def script() -> str:
    """Return the script of the page: all files as one function, in which order does not matter."""
    parts = (file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.js")))
    return f'(() => {{\n"use strict";\n{"".join(parts)}}})();\n'


def policy(*, beside: bool) -> str:
    """Return the content security policy of the page; `beside` allows images and data files beside it."""
    images, data = (f"{BESIDE} data:", f" {BESIDE}") if beside else ("data:", "")
    scripts = f"script-src '{hash_of(script())}'{data}; require-trusted-types-for 'script'; trusted-types lmod"
    return f"{NOTHING}; img-src {images}; style-src '{hash_of(style())}'; {scripts}"


def static_policy(images: str = BESIDE) -> str:
    """Return the content security policy of pages without script, with images beside them or in them (``data:``)."""
    return f"{NOTHING}; img-src {images}; style-src '{hash_of(style())}'"


def hash_of(text: str) -> str:
    """Return the hash of a script or style for a Content-Security-Policy: the SHA-256 of the text between its tags.

    Example:
        >>> hash_of("alert('Hello, world.');")  # the example of the standard (CSP Level 3)
        'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
