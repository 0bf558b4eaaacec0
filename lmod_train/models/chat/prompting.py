"""Options of a model's prompt: chat template, system text, stop words and thinking."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.templates import names, template_of


@dataclass(frozen=True)
class Prompting:
    """How records are written as the prompt of a model.

    Attributes:
        template: Chat template: the name of one that comes with the package (`lmod_train.models.chat.templates`;
            ``words`` writes the words without any turns) or the path of a file; empty for the checkpoint's own.
        system_prompt: System text before the record's own. It replaces the one that the template begins with.
        stop: Texts at which a reply ends; they do not belong to it. For templates whose turns end with no token.
        thinking: Let the model think before it replies, if its template has the switch ``enable_thinking``. A reply's
            thinking is stored with it and left out when it is parsed; it counts towards `max_new_tokens`.
    """

    template: str = ""
    system_prompt: str = ""
    stop: tuple[str, ...] = ()
    thinking: bool = False

    def __post_init__(self) -> None:
        """Check that the template exists and no stop word is empty.

        Raises:
            BadArgument: It does not, or one is.
        """
        if self.template and self.template not in names() and not Path(self.template).is_file():
            expected = f"one of {', '.join(names())}, or the path of a file"
            raise BadArgument("prompt.template", self.template, expected, "leave it out for the checkpoint's own")
        if not all(self.stop):
            raise BadArgument("prompt.stop", self.stop, "texts that are not empty", 'name them, e.g. `["###"]`')

    def template_text(self) -> str:
        """Return the content of the chosen chat template; empty for the checkpoint's own."""
        if not self.template or self.template in names():
            return self.template and template_of(self.template)
        return Path(self.template).read_text(encoding="utf-8").rstrip("\n")

    def settings(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults, the template as a hash of its content."""
        text = self.template_text()
        stated = {
            "template": hashlib.sha256(text.encode()).hexdigest() if text else "",
            "system_prompt": self.system_prompt,
            "stop": list(self.stop),
            "thinking": self.thinking,
        }
        return {name: value for name, value in stated.items() if value}
