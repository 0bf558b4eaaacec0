"""What the documentation site reads otherwise than GitHub does; loaded by mkdocs.yml, as hook and as extension."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    r"""Return a page whose blocks of code have plain heads: ``bash run`` is bash, ``python file=a.py`` is titled a.py.

    Example:
        >>> on_page_markdown("```yaml file=a.yaml\n```\n```bash run\n```")
        '```yaml title="a.yaml"\n```\n```bash\n```'
    """
    markdown = re.sub(r"^```(\w+) run$", r"```\1", markdown, flags=re.MULTILINE)
    return re.sub(r"^```(\w+) file=(\S+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)


class Examples(Extension):
    """Shows the project's section ``Example:`` as code, as ``Examples:`` is."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rename it in the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
