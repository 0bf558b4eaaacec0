"""Remove the thinking blocks of a reply."""

from __future__ import annotations

from lmod_train.core.vocabulary import compiled

# R1, Qwen3 and GLM; Kimi; Magistral; MedGemma; gpt-oss channels (zoo A.4). The brackets differ, the word hardly does.
_TAG = compiled("thinking.tag")


def strip_thinking(text: str) -> tuple[str, bool]:
    """Return the text without thinking blocks, and whether every block was closed.

    A closing tag without an opening one means that the prompt's template opened the block: all text before it is
    thinking. So is all text after an opening tag that is never closed: the model was cut off.

    Example:
        >>> strip_thinking("<think>glaucoma? no</think>NORMAL")
        ('NORMAL', True)
        >>> strip_thinking("cup is large</think> GLAUCOMA"), strip_thinking("<think>the cup")
        ((' GLAUCOMA', True), ('', False))
    """
    parts, closed = visible_spans(text)
    return "".join(text[start:end] for start, end in parts), closed


def visible_spans(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Return the (start, end) of each part that `strip_thinking` leaves, and whether every block was closed.

    Example:
        >>> visible_spans("<think>hm</think>NORMAL")
        ([(0, 0), (17, 23)], True)
    """
    visible: list[tuple[int, int]] = []
    at, thinking = 0, False
    for tag in _TAG.finditer(text):
        if tag.lastgroup == "open":
            if not thinking:
                visible.append((at, tag.start()))
            thinking = True
        else:
            if not thinking:
                visible.clear()
            thinking = False
        at = tag.end()
    if not thinking:
        visible.append((at, len(text)))
    return visible, not thinking
