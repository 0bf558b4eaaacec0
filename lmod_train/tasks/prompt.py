"""How every task of one image and one text puts its question."""

from __future__ import annotations

from lmod_train.types import Message, Part


def prompt(text: str) -> tuple[Message, ...]:
    """Return the user's turn: the image, then the text, word for word.

    Example:
        >>> [(m.role, [(p.type, p.text) for p in m.parts]) for m in prompt("What is this image?")]
        [('user', [('image', ''), ('text', 'What is this image?')])]
    """
    return (Message("user", (Part("image"), Part("text", text))),)
