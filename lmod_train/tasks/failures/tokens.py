"""Find tokens of a chat template, of padding or of grounding that are visible in a reply."""

from __future__ import annotations

import re

from lmod_train.tasks.failures.case import AskedReply, Span

_OPEN, _CLOSE, _BAR = r"(?:<|&lt;|\u2039)", r"(?:>|&gt;|\u203a)", r"\\?[|\uff5c]"
_NAMES = (
    r"pad|unk|eos|bos|cls|sep|mask|image|img|video|audio|im_patch|image_placeholder|end_?of_?turn|start_?of_?turn|end_?of_?sentence|"
    r"end_?of_?text|end_?of_?utterance|fake_token_around_image|img_context|ref|box|quad|point|loc[0-9]{1,4}|seg[0-9]{1,4}|"
    r"extra_id_[0-9]{1,3}|unused[0-9]{1,4}|0x[0-9a-f]{2}|s"
)
_ANSWER_MARKS = r"(?!\s{0,2}(?:begin_of_box|end_of_box|channel|message|start|return)\s{0,2}\\?[|\uff5c])"
TOKEN = re.compile(
    rf"{_OPEN}\s?{_BAR}{_ANSWER_MARKS}\s{{0,2}}[\w\u2581 \-/]{{1,40}}\s{{0,2}}{_BAR}\s?{_CLOSE}"
    rf"|{_OPEN}/?(?:{_NAMES}){_CLOSE}"
    r"|\[/?INST\]|<<?/?SYS>>?|\[(?:UNUSED_TOKEN_[0-9]{1,5}|PAD|UNK|CLS|SEP|MASK|EOS|BOS|IMG|gMASK|sop|eop)\]",
    re.IGNORECASE,
)
"""A special token; the marks of a boxed answer and of thinking are a format and none."""


def special_tokens(case: AskedReply) -> Span | None:
    """Return the span of the first special token."""
    found = TOKEN.search(case.text)
    return found.span() if found else None
