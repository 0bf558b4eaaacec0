"""Remove losses of healthy tissue, which do not deny a disease: "GLAUCOMA - no rim left"."""

from __future__ import annotations

import re

_HEALTHY = (
    r"(?:(?:healthy|normal|intact|viable|neural|neuroretinal|visible|clear|foveal|red|nasal|temporal|superior|inferior)"
    r"\s){0,3}(?:rim(?:\stissue)?|tissue|nerve\sfib(?:re|er)s?|reflex|neurons|axons|lens|retina|vision)"
)
_LOSS = re.compile(
    rf"\s?[-:,]\s{{0,2}}(?:there\s(?:is|are)\s)?(?:no|not\s(?:a|any)(?:\s\w{{1,10}}\sof)?|hardly\sany|scarcely\sany"
    rf"|barely\sany)\s{_HEALTHY}\s(?:at\sall\s)?(?:(?:is|are|has|have|can\sbe)\s)?(?:left|remain(?:s|ing|ed)?"
    r"|surviv(?:es?|ing|ed)|preserved|to\sspeak\sof|seen|visible|present)(?:\sat\sall)?(?=\s?(?:$|[.,;\n]))",
    re.IGNORECASE,
)


def without_losses(text: str) -> str:
    """Return the text with each loss of healthy tissue replaced by a stop.

    Example:
        >>> without_losses("GLAUCOMA - no rim left"), without_losses("GLAUCOMA - no cupping seen")
        ('GLAUCOMA;', 'GLAUCOMA - no cupping seen')
    """
    return _LOSS.sub(";", text)
