"""Adaptations of the documentation pages, written for GitHub, to MkDocs; loaded by mkdocs.yml as hook and extension."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Module, Object


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    r"""Return a page whose code blocks have the name of their file, ``file=a.py``, as their title.

    Example:
        >>> on_page_markdown("```yaml file=a.yaml\n```")
        '```yaml title="a.yaml"\n```'
    """
    return re.sub(r"^```(\w+) file=(\S+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)


class Examples(Extension):
    """Griffe extension that renders the docstring section ``Example:`` like ``Examples:``."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rename the section in the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Show what the stub of the package names, as if its ``__all__`` were written out."""
        pkg.exports = [name for name, member in pkg.members.items() if member.is_alias]
