"""Extension of the documentation site: the project's section ``Example:`` is shown as code, as ``Examples:`` is."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Renames the section in every docstring that is read."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rename it in the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
